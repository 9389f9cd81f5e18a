#include "methods/reduced_set.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/blocks.hpp"
#include "core/interval.hpp"
#include "core/rounding.hpp"
#include "core/rules.hpp"
#include "tiles/panel.hpp"

namespace dormie {

namespace {

constexpr int W = tile_width<float>;
constexpr int ask_from = 8;  // rows: with fewer, a level takes hardly longer than asking whether to stop

Machine over_vectors(Machine m, const Vectors &vectors, ptrdiff_t count, const double *weights) {
    m.points_count = count;
    m.points = vectors.points;
    m.weights = weights;
    return m;
}

Machine points_only(Machine m) {
    m.outputs = 0;
    return m;
}

// As many as keep the kernel values in the second-level cache.
int rows_at_once(ptrdiff_t panels) { return int(std::clamp<ptrdiff_t>(256 / panels, 32, 128)); }

}  // namespace

// Rows on their way through the levels, closed up as they are settled.
class ReducedSet::Block {
  public:
    Block(const ReducedSet &set, int capacity)
        : s_(set),
          rows_(s_.machine_, capacity),
          panel_step_(ptrdiff_t(capacity + ops<float>().group_rows) * panel_stride<float>),
          values_(size_t(s_.packed_.panels * panel_step_)),
          roots_(capacity),
          numbers_(capacity),
          sums_(sums_width(s_.machine_)),
          judge_(s_.machine_.rule, s_.machine_.outputs) {
        open_.reserve(capacity);
        if (own_error_sizes(s_.machine_)) errors_ = Aligned<float>(size_t(s_.packed_.panels * panel_step_));
    }

    void fill(const RowRange &range) {
        rows_.fill(range);
        for (int r = 0; r < range.count; r++) {
            numbers_[r] = range.number(r);
            roots_[r] = root_of_self(s_.machine_.kernel, rows_.row(r).norm);
        }
        tiles_done_ = 0;
    }

    int count() const { return rows_.count(); }
    ptrdiff_t number(int r) const { return numbers_[r]; }

    // Kernel values of all rows with the vectors of a level that were in none before.
    void advance(const Level &level) {
        const ptrdiff_t end = (level.size + W - 1) / W;
        while (tiles_done_ < end) {
            const ptrdiff_t panel = tiles_done_ / panel_tiles;
            const int tiles = int(std::min(end, (panel + 1) * panel_tiles) - tiles_done_);
            evaluate(panel, int(tiles_done_ % panel_tiles), tiles);
            tiles_done_ += tiles;
        }
    }

    // Judges every row at a level: judged(row number, answer, middle). Returns whether any is left open; those stay,
    // unless it is the last level.
    template <class Judged> bool settle(const Level &level, double caution, const Judged &judged) {
        open_.clear();
        for (int r = 0; r < count(); r++) {
            const MiddleRadius found = interval(level, caution, r);
            const int answer = judge_.settle(found, s_.machine_.margin, rows_.row(r).norm);
            judged(number(r), answer, found.middle);
            if (answer == unsettled) open_.push_back(r);
        }
        if (open_.empty() || &level == &s_.levels_.back()) return false;
        if (int(open_.size()) < count()) keep_open();
        return true;
    }

    // G' and radius of row r at a level, when its kernel values are there.
    MiddleRadius interval(const Level &level, double caution, int r) {
        const Machine &m = s_.machine_;
        const ptrdiff_t c = m.outputs;
        std::fill(sums_.begin(), sums_.end(), 0.0);
        for (ptrdiff_t p = 0; p < ptrdiff_t(level.panels.size()); p++) {
            const ptrdiff_t left = (level.size - p * panel_width<float> + W - 1) / W;
            const Rounding<float> rounding(m, s_.packed_.panel_sizes[p], rows_.row(r));
            weigh_row<float, true>(m, rounding, level.panels[p].all(), int(std::min<ptrdiff_t>(left, panel_tiles)) * W,
                                   row_of(values_, p, r), row_of(errors_, p, r), sums_.data());
        }
        for (ptrdiff_t o = 0; o < c; o++) {
            sums_[o] += m.bias[o];
            sums_[c + o] += Rounding<float>::bias_error(m.bias[o]);
            const double rho = caution * level.rho[o];
            if (rho > 0) sums_[c + o] += rho * roots_[r];
            forget_unless_finite(sums_[o], sums_[c + o]);
        }
        return {sums_.data(), sums_.data() + c};
    }

  private:
    void keep_open() {
        for (int r = 0; r < int(open_.size()); r++) {
            if (open_[r] == r) continue;
            numbers_[r] = numbers_[open_[r]];
            roots_[r] = roots_[open_[r]];
            move_row(values_, open_[r], r);
            move_row(errors_, open_[r], r);
        }
        rows_.keep(open_);
    }

    // Where a row's numbers for a panel begin, or null where there are none.
    float *row_of(const Aligned<float> &panels, ptrdiff_t panel, int r, int lane = 0) const {
        return panels.get() ? panels.get() + panel * panel_step_ + r * ptrdiff_t(panel_stride<float>) + lane : nullptr;
    }

    void move_row(const Aligned<float> &panels, int from, int to) const {
        if (!panels.get()) return;
        for (ptrdiff_t p = 0, left = tiles_done_; left > 0; p++, left -= panel_tiles)
            std::copy_n(row_of(panels, p, from), std::min<ptrdiff_t>(left, panel_tiles) * W, row_of(panels, p, to));
    }

    void evaluate(ptrdiff_t panel, int tile, int tiles) {
        const Machine &m = s_.machine_;
        const float *lane_offset = s_.packed_.lane_offset.get() + panel * panel_width<float> + tile * W;
        rows_.products(s_.packed_, panel * panel_tiles + tile, tiles, row_of(values_, panel, 0, tile * W));
        for (int r = 0; r < rows_.count(); r++) {
            float *errors = row_of(errors_, panel, r, tile * W);
            const float slack = errors ? Rounding<float>(m, s_.packed_.panel_sizes[panel], rows_.row(r)).slack() : 0;
            evaluate_row(m, rows_.row(r), slack, lane_offset, tiles * W, row_of(values_, panel, r, tile * W), errors);
        }
    }

    const ReducedSet &s_;
    RowBlock<float> rows_;
    const ptrdiff_t panel_step_;      // between panels: rows of a panel lie together, as RowBlock::products wants them
    Aligned<float> values_, errors_;  // errors_: only where they have sizes of their own
    std::vector<double> roots_;       // sqrt(K(x,x)), rounded up
    std::vector<ptrdiff_t> numbers_;
    std::vector<double> sums_;
    Judge judge_;
    std::vector<int> open_;
    ptrdiff_t tiles_done_ = 0;
};

ReducedSet::ReducedSet(const Machine &machine, const Vectors &vectors)
    : machine_(over_vectors(machine, vectors, vectors.count, nullptr)), packed_(points_only(machine_), true) {
    const double *weights = vectors.weights;
    for (ptrdiff_t j = 0; j < vectors.levels; j++) {
        const ptrdiff_t size = vectors.sizes[j], panels = (size + panel_width<float> - 1) / panel_width<float>;
        const Machine level = over_vectors(machine, vectors, size, weights);
        levels_.push_back({size, {}, vectors.rho + j * machine.outputs});
        for (ptrdiff_t p = 0; p < panels; p++) levels_.back().panels.emplace_back(level, packed_.order, p);
        weights += size * machine.outputs;
    }
}

ReducedSet::~ReducedSet() = default;

template <class Work> void ReducedSet::each(const Rows &rows, Team &team, const Work &work) const {
    const EqualBlocks blocks(rows, rows_at_once(packed_.panels), team.threads());
    auto make = [&](int count) { return std::make_unique<Block>(*this, count); };
    each_block(blocks, spare_, team, make, [&](Block &block, const RowRange &, int) { work(block); });
}

void ReducedSet::decide(const Rows &rows, double caution, Team &team, int64_t *answers, int64_t *evaluations,
                        double *values) const {
    const ptrdiff_t c = machine_.outputs;
    each(rows, team, [&](Block &block) {
        for (const Level &level : levels_) {
            if (block.count() >= ask_from && team.should_stop()) return;
            block.advance(level);
            const bool open = block.settle(level, caution, [&](ptrdiff_t i, int answer, const double *middle) {
                answers[i] = answer;
                evaluations[i] = level.size;
                if (values) std::copy_n(middle, c, values + i * c);
            });
            if (!open) return;
        }
    });
}

void ReducedSet::interval(const Rows &rows, ptrdiff_t level, Team &team, double *middle, double *radius) const {
    const ptrdiff_t c = machine_.outputs;
    each(rows, team, [&](Block &block) {
        block.advance(levels_[level]);
        for (int r = 0; r < block.count(); r++) {
            const MiddleRadius found = block.interval(levels_[level], 1.0, r);
            std::copy_n(found.middle, c, middle + block.number(r) * c);
            std::copy_n(found.radius, c, radius + block.number(r) * c);
        }
    });
}

}  // namespace dormie
