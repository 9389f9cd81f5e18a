#include <algorithm>
#include <numeric>

#include "core/blocks.hpp"
#include "core/norm.hpp"
#include "methods/nearest/nearest.hpp"
#include "tiles/panel.hpp"

namespace dormie {

namespace {

constexpr int W = tile_width<float>;
constexpr ptrdiff_t most_rows = 128;

// The points that an order names, one below the other.
std::vector<double> gathered(const Machine &m, const int32_t *order, ptrdiff_t count) {
    std::vector<double> out(size_t(count * m.features));
    for (ptrdiff_t k = 0; k < count; k++)
        std::copy_n(m.points + order[k] * m.features, m.features, out.data() + k * m.features);
    return out;
}

// Rows in blocks that each lie in one cell. Rows without a cell are in none.
class CellBlocks {
  public:
    CellBlocks(const Rows &rows, const std::vector<ptrdiff_t> &cells) : rows_(rows), numbers_(cells.size()) {
        std::iota(numbers_.begin(), numbers_.end(), 0);
        std::stable_sort(numbers_.begin(), numbers_.end(),
                         [&](ptrdiff_t a, ptrdiff_t b) { return cells[a] < cells[b]; });
        for (ptrdiff_t i = 0; i < rows.n; i++) {
            const ptrdiff_t cell = cells[numbers_[i]];
            if (cell < 0) continue;
            if (begins_.empty() || i - begins_.back() == most_rows || cell != cells[numbers_[i - 1]])
                begins_.push_back(i);
        }
        begins_.push_back(rows.n);
    }

    ptrdiff_t count() const { return ptrdiff_t(begins_.size()) - 1; }
    int largest() const { return int(most_rows); }
    RowRange operator[](ptrdiff_t block) const {
        return {rows_, numbers_.data(), begins_[block], int(begins_[block + 1] - begins_[block])};
    }

  private:
    const Rows &rows_;
    std::vector<ptrdiff_t> numbers_;  // of rows, cell by cell
    std::vector<ptrdiff_t> begins_;   // where each block of them begins, and the end of the last
};

}  // namespace

// Rows of one cell on their way, closed up as they are settled.
class NearestByCell::Block {
  public:
    Block(const NearestByCell &nearest, int capacity)
        : n_(nearest),
          rows_(n_.machine_, capacity),
          values_(Sketch::room(capacity)),
          nearness_(n_.half_squares_.size()),
          progress_(capacity),
          sums_(size_t(capacity * n_.machine_.outputs)) {
        open_.reserve(capacity);
    }

    void fill(const RowRange &range) { rows_.fill(range); }

    // The cell of every row, or -1 where numbers are too large.
    void assign(ptrdiff_t *cells) {
        n_.sketch_.components(rows_, values_.get());
        for (int r = 0; r < rows_.count(); r++) cells[r] = cell_of(r);
    }

    // Adds the terms of the rows, all of one cell, as far as visit lets each go.
    void walk(const RowRange &range, ptrdiff_t cell, const Visit &visit, int worker) {
        const Packed<float> &packed = *n_.packed_[cell];
        const int32_t *order = n_.orders_.data() + cell * n_.steps_.back();
        const ptrdiff_t c = n_.machine_.outputs;
        for (int r = 0; r < rows_.count(); r++) {
            progress_[r] = {range.number(r), cell, 0, 0};
            std::copy_n(n_.machine_.bias, c, sums_.data() + r * c);
        }
        // As many tiles as there were before: few rows go on, and they have more to make up for.
        for (ptrdiff_t tile = 0, tiles; tile < packed.tiles && rows_.count() > 0; tile += tiles) {
            tiles = std::min<ptrdiff_t>({std::max<ptrdiff_t>(tile, 1), panel_tiles, packed.tiles - tile});
            rows_.products(packed, tile, int(tiles), values_.get());
            const int count = int(std::min<int64_t>(tiles * W, n_.steps_.back() - tile * W));
            open_.clear();
            for (int r = 0; r < rows_.count(); r++)
                if (!settles(r, packed.lane_offset.get() + tile * W, int(tiles) * W, order + tile * W, count, visit,
                             worker))
                    open_.push_back(r);
            keep_open();
        }
    }

  private:
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

    bool settles(int r, const float *offsets, int lanes, const int32_t *order, int count, const Visit &visit,
                 int worker) {
        float *values = values_.get() + ptrdiff_t(r) * panel_stride<float>;
        evaluate_row<float>(n_.machine_, rows_.row(r), 0, offsets, lanes, values, nullptr);
        return n_.add_terms(values, order, count, progress_[r], sums_.data() + r * n_.machine_.outputs, visit, worker);
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

NearestByCell::~NearestByCell() = default;

std::unique_ptr<NearestByCell::Block> NearestByCell::make_block(int capacity) const {
    return std::make_unique<Block>(*this, capacity);
}

void NearestByCell::walk(const Rows &rows, Team &team, const Visit &visit) const {
    if (rows.n == 1) return walk_one(rows, team, visit);
    const std::vector<ptrdiff_t> cells = assign(rows, team);
    auto make = [&](int count) { return make_block(count); };
    each_block(CellBlocks(rows, cells), spare_, team, make, [&](Block &block, const RowRange &range, int worker) {
        block.walk(range, cells[range.number(0)], visit, worker);
    });
}

std::vector<ptrdiff_t> NearestByCell::assign(const Rows &rows, Team &team) const {
    std::vector<ptrdiff_t> cells(size_t(rows.n));
    auto make = [&](int count) { return make_block(count); };
    each_block(EqualBlocks(rows, most_rows, team.threads()), spare_, team, make,
               [&](Block &block, const RowRange &range, int) { block.assign(cells.data() + range.from); });
    return cells;
}

void NearestByCell::walk_one(const Rows &rows, Team &team, const Visit &visit) const {
    auto make = [&](int count) { return make_block(count); };
    each_block(EqualBlocks(rows, 1, 1), spare_, team, make, [&](Block &block, const RowRange &range, int worker) {
        ptrdiff_t cell;
        block.assign(&cell);
        if (cell >= 0) block.walk(range, cell, visit, worker);
    });
}

}  // namespace dormie
