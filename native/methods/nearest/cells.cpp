#include <algorithm>
#include <numeric>

#include "core/blocks.hpp"
#include "core/norm.hpp"
#include "methods/nearest/nearest.hpp"
#include "tiles/panel.hpp"

namespace dormie {

namespace {

constexpr int W = tile_width<float>;
constexpr int most_rows = 128;       // of one cell
constexpr ptrdiff_t room = 1 << 20;  // numbers in the rows that wait: 4 MiB

// The points that an order names, one below the other.
std::vector<double> gathered(const Machine &m, const int32_t *order, ptrdiff_t count) {
    std::vector<double> out(size_t(count * m.features));
    for (ptrdiff_t k = 0; k < count; k++)
        std::copy_n(m.points + order[k] * m.features, m.features, out.data() + k * m.features);
    return out;
}

}  // namespace

// Rows by their cells, and those of one cell on their way, closed up as they are settled.
class NearestByCell::Many final : public Block {
  public:
    Many(const NearestByCell &nearest, int capacity)
        : n_(nearest),
          rows_(n_.machine_, std::min(capacity, most_rows)),
          values_(Sketch::room(std::min(capacity, most_rows))),
          nearness_(n_.half_squares_.size()),
          order_(size_t(capacity)),
          cells_(size_t(capacity)),
          progress_(size_t(std::min(capacity, most_rows))),
          sums_(progress_.size() * size_t(n_.machine_.outputs)) {
        open_.reserve(progress_.size());
    }

    void walk(const LaidOut &rows, const Visit &visit) override {
        std::iota(order_.begin(), order_.begin() + rows.count(), 0);
        for (int from = 0; from < rows.count(); from += most_rows)
            assign(rows, from, std::min(rows.count() - from, most_rows));
        std::stable_sort(order_.begin(), order_.begin() + rows.count(),
                         [&](int a, int b) { return cells_[a] < cells_[b]; });
        for (int from = 0, count; from < rows.count(); from += count) {
            const ptrdiff_t cell = cells_[order_[from]];
            count = 1;
            while (count < most_rows && from + count < rows.count() && cells_[order_[from + count]] == cell) count++;
            if (cell >= 0) walk_cell(rows, from, count, cell, visit);
        }
    }

  private:
    // The cells of some rows, or -1 where numbers are too large.
    void assign(const LaidOut &rows, int from, int count) {
        rows_.arrange(rows, order_.data() + from, count);
        n_.sketch_.components(rows_, values_.get());
        for (int r = 0; r < count; r++) cells_[from + r] = cell_of(r);
    }

    void walk_cell(const LaidOut &rows, int from, int many, ptrdiff_t cell, const Visit &visit) {
        const Packed<float> &packed = *n_.packed_[cell];
        const int32_t *order = n_.orders_.data() + cell * n_.steps_.back();
        const ptrdiff_t c = n_.machine_.outputs;
        rows_.arrange(rows, order_.data() + from, many);
        for (int r = 0; r < many; r++) {
            progress_[r] = {rows_.place(r), cell, 0, 0};
            std::copy_n(n_.machine_.bias, c, sums_.data() + r * c);
        }
        // As many tiles as there were before: few rows go on, and they have more to make up for.
        for (ptrdiff_t tile = 0, tiles; tile < packed.tiles && rows_.count() > 0; tile += tiles) {
            tiles = std::min<ptrdiff_t>({std::max<ptrdiff_t>(tile, 1), panel_tiles, packed.tiles - tile});
            rows_.products(packed, tile, int(tiles), values_.get());
            const int count = int(std::min<int64_t>(tiles * W, n_.steps_.back() - tile * W));
            open_.clear();
            for (int r = 0; r < rows_.count(); r++)
                if (!settles(r, packed.lane_offset.get() + tile * W, int(tiles) * W, order + tile * W, count, visit))
                    open_.push_back(r);
            keep_open();
        }
    }

    ptrdiff_t cell_of(int r) {
        const RowTraits &row = rows_.row(r);
        const float *z = values_.get() + r * panel_stride<float>;
        const int count = int(nearness_.size());
        ops<float>().dots(z, n_.centers_.get(), n_.stride_, n_.all_.data(), count, n_.stride_, nearness_.data());
        ptrdiff_t best = -1;
        for (int k = 0; k < count; k++) {
            nearness_[k] -= n_.half_squares_[k];
            if (!std::isfinite(nearness_[k])) return -1;
            if (best < 0 || nearness_[k] > nearness_[best]) best = k;
        }
        return row.far || row.lost ? -1 : best;
    }

    bool settles(int r, const float *offsets, int lanes, const int32_t *order, int count, const Visit &visit) {
        float *values = values_.get() + ptrdiff_t(r) * panel_stride<float>;
        evaluate_row<float>(n_.machine_, rows_.row(r), 0, offsets, lanes, values, nullptr);
        return n_.add_terms(values, order, count, progress_[r], sums_.data() + r * n_.machine_.outputs, visit);
    }

    void keep_open() {
        if (int(open_.size()) == rows_.count()) return;
        const ptrdiff_t c = n_.machine_.outputs;
        for (int r = 0; r < int(open_.size()); r++) {
            progress_[r] = progress_[open_[r]];
            std::copy_n(sums_.data() + open_[r] * c, c, sums_.data() + r * c);
        }
        rows_.keep(open_);
    }

    const NearestByCell &n_;
    RowBlock<float> rows_;
    Aligned<float> values_;
    std::vector<float> nearness_;  // of each cell: z.center - |center|^2 / 2
    std::vector<int> order_;       // rows of the block, by their cells
    std::vector<ptrdiff_t> cells_;
    std::vector<Progress> progress_;
    std::vector<double> sums_;
    std::vector<int> open_;
};

NearestByCell::NearestByCell(const Machine &machine, const double *basis, ptrdiff_t components,
                             std::vector<int64_t> steps, const double *centers, const int64_t *orders, ptrdiff_t cells)
    : Nearest(machine, std::move(steps), cells),
      sketch_(machine, basis, components),
      stride_(padded<float>(components)),
      centers_(size_t(cells * stride_)),
      all_(size_t(cells)),
      orders_(orders, orders + cells * steps_.back()) {
    std::iota(all_.begin(), all_.end(), 0);
    for (ptrdiff_t k = 0; k < cells; k++) {
        const double *center = centers + k * components;
        half_squares_.push_back(float(squared_norm(center, components) / 2));
        for (ptrdiff_t j = 0; j < components; j++) centers_[k * stride_ + j] = float(center[j]);
        const std::vector<double> points = gathered(machine, orders_.data() + k * steps_.back(), steps_.back());
        const Machine cell = over_points(machine, steps_.back(), machine.features, points.data());
        packed_.push_back(std::make_unique<Packed<float>>(cell, true));
    }
}

int NearestByCell::rows_at_once() const {
    return int(std::clamp<ptrdiff_t>(room / machine_.features, 1, most_rows * cells_));
}

std::unique_ptr<Nearest::Block> NearestByCell::block(int rows) const { return std::make_unique<Many>(*this, rows); }

}  // namespace dormie
