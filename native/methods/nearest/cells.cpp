#include <algorithm>
#include <numeric>

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

    // which: row numbers, or null for from, from + 1, ...
    void fill(const Rows &rows, const ptrdiff_t *which, ptrdiff_t from, int count) {
        rows_.fill(rows, which, from, count);
    }

    // The cell of every row, or -1 where numbers are too large.
    void assign(ptrdiff_t *cells) {
        n_.sketch_.components(rows_, values_.get());
        for (int r = 0; r < rows_.count(); r++) cells[r] = cell_of(r);
    }

    // Adds the terms of the rows, all of one cell, as far as visit lets each go.
    void walk(const ptrdiff_t *numbers, ptrdiff_t cell, const Visit &visit, int worker) {
        const Packed<float> &packed = *n_.packed_[cell];
        const int32_t *order = n_.orders_.data() + cell * n_.steps_.back();
        const ptrdiff_t c = n_.machine_.outputs;
        for (int r = 0; r < rows_.count(); r++) {
            progress_[r] = {numbers[r], cell, 0, 0};
            std::copy_n(n_.machine_.bias, c, sums_.data() + r * c);
        }
        // As many tiles as there were before: few rows go on, and they have more to make up for.
        for (ptrdiff_t tile = 0, tiles; tile < packed.tiles && rows_.count() > 0; tile += tiles) {
            tiles = std::min<ptrdiff_t>({std::max<ptrdiff_t>(tile, 1), panel_tiles, packed.tiles - tile});
            rows_.products(packed, tile, int(tiles), values_.get());
            const int count = int(std::min<int64_t>(tiles * W, n_.steps_.back() - tile * W));
            open_.clear();
            for (int r = 0; r < rows_.count(); r++)
                if (!settles(r, packed.lane_offset.get() + tile * W, int(tiles) * W, order + tile * W, count, visit, worker))
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

    bool settles(int r, const float *offsets, int lanes, const int32_t *order, int count, const Visit &visit, int worker) {
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

NearestByCell::NearestByCell(const Machine &machine, const double *basis, ptrdiff_t components, std::vector<int64_t> steps,
                             const double *centers, const int64_t *orders, ptrdiff_t cells)
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

void NearestByCell::walk(const Rows &rows, Team &team, const Visit &visit) const {
    if (rows.n == 1) return walk_one(rows, visit);
    const std::vector<ptrdiff_t> cells = assign(rows, team);
    // Row numbers, cell by cell, and where each block of them begins.
    std::vector<ptrdiff_t> numbers(size_t(rows.n)), begins;
    std::iota(numbers.begin(), numbers.end(), 0);
    std::stable_sort(numbers.begin(), numbers.end(), [&](ptrdiff_t a, ptrdiff_t b) { return cells[a] < cells[b]; });
    ptrdiff_t known = 0;
    while (known < rows.n && cells[numbers[known]] < 0) known++;
    for (ptrdiff_t i = known; i < rows.n; i++)
        if (i == known || i - begins.back() == most_rows || cells[numbers[i]] != cells[numbers[i - 1]]) begins.push_back(i);
    std::vector<std::unique_ptr<Block>> blocks(team.threads());
    auto prepare = [&](int worker) { blocks[worker] = std::make_unique<Block>(*this, int(most_rows)); };
    team.run(ptrdiff_t(begins.size()), prepare, [&](ptrdiff_t task, int worker) {
        if (team.should_stop()) return;
        const ptrdiff_t from = begins[task], to = task + 1 < ptrdiff_t(begins.size()) ? begins[task + 1] : rows.n;
        blocks[worker]->fill(rows, numbers.data(), from, int(to - from));
        blocks[worker]->walk(numbers.data() + from, cells[numbers[from]], visit, worker);
    });
}

std::vector<ptrdiff_t> NearestByCell::assign(const Rows &rows, Team &team) const {
    std::vector<ptrdiff_t> cells(size_t(rows.n));
    std::vector<std::unique_ptr<Block>> blocks(team.threads());
    auto prepare = [&](int worker) { blocks[worker] = std::make_unique<Block>(*this, int(most_rows)); };
    team.run((rows.n + most_rows - 1) / most_rows, prepare, [&](ptrdiff_t task, int worker) {
        if (team.should_stop()) return;
        blocks[worker]->fill(rows, nullptr, task * most_rows, int(std::min(most_rows, rows.n - task * most_rows)));
        blocks[worker]->assign(cells.data() + task * most_rows);
    });
    return cells;
}

void NearestByCell::walk_one(const Rows &rows, const Visit &visit) const {
    std::unique_ptr<Block> block = idle_.take();
    if (!block) block = std::make_unique<Block>(*this, 1);
    const ptrdiff_t number = 0;
    ptrdiff_t cell;
    block->fill(rows, nullptr, 0, 1);
    block->assign(&cell);
    if (cell >= 0) block->walk(&number, cell, visit, 0);
    idle_.give(std::move(block));
}

}  // namespace dormie
