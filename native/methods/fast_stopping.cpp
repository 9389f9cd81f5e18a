#include "methods/fast_stopping.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/blocks.hpp"
#include "core/interval.hpp"
#include "core/norm.hpp"
#include "core/rounding.hpp"
#include "core/rules.hpp"
#include "tiles/panel.hpp"

namespace dormie {

namespace {
constexpr int block_rows = 128;
}  // namespace

FastStopping::FastStopping(const Machine &m, bool nonnegative)
    : machine_(m),
      packed_(m, true),
      lowering_(size_t(packed_.panels + 1) * m.outputs),
      raising_(size_t(packed_.panels + 1) * m.outputs) {
    constexpr double up = 1 + 1e-9;  // more than the rounding of a tail, square root and diagonal included
    const ptrdiff_t c = m.outputs;
    std::vector<double> roots(size_t(m.points_count));  // sqrt(K(s,s))
    for (ptrdiff_t i = 0; i < m.points_count; i++) {
        const double *s = m.points + i * m.features;
        const double norm2 = squared_norm(s, m.features);
        roots[i] = std::sqrt(norm_lost(m.kernel, s, m.features, norm2) ? 1 : diagonal(m.kernel, norm2));
    }
    for (ptrdiff_t p = packed_.panels - 1; p >= 0; p--) {
        const ptrdiff_t from = p * panel_width<float>;
        const ptrdiff_t to = std::min<ptrdiff_t>(from + panel_width<float>, m.points_count);
        for (ptrdiff_t o = 0; o < c; o++) {
            double lowering = 0, raising = 0;
            for (ptrdiff_t i = from; i < to; i++) {
                const double weight = m.weights[i * c + o];
                const double size = std::abs(weight) * roots[i] * up;
                if (weight < 0 || !nonnegative) lowering += size;
                if (weight > 0 || !nonnegative) raising += size;
            }
            lowering_[p * c + o] = lowering_[(p + 1) * c + o] + lowering;
            raising_[p * c + o] = raising_[(p + 1) * c + o] + raising;
        }
    }
}

// Rows on their way through the panels, closed up as they are settled.
class FastStopping::Block {
  public:
    Block(const FastStopping &stopping, int capacity)
        : f_(stopping),
          space_(f_.machine_, capacity),
          judge_(f_.machine_.rule, f_.machine_.outputs),
          low_(f_.machine_.outputs),
          high_(f_.machine_.outputs),
          numbers_(capacity) {
        open_.reserve(capacity);
    }

    void fill(const RowRange &range) {
        space_.fill(range);
        for (int r = 0; r < range.count; r++) numbers_[r] = range.number(r);
        done_ = 0;
    }

    int count() const { return space_.block.count(); }
    ptrdiff_t number(int r) const { return numbers_[r]; }
    ptrdiff_t panels_done() const { return done_; }

    void advance() { add_panel<float, true>(f_.machine_, f_.packed_, done_++, space_, space_.sums.data()); }

    // Judges every row after the panels so far: judged(row number, answer, interval). Rows left open stay.
    template <class Judged> void settle(const Judged &judged) {
        open_.clear();
        for (int r = 0; r < count(); r++) {
            const LowHigh ends = interval(r);
            const int answer = judge_.settle(ends, f_.machine_.margin, space_.block.row(r).norm);
            judged(number(r), answer, ends);
            if (answer == unsettled) open_.push_back(r);
        }
        if (int(open_.size()) < count()) keep_open();
    }

    // Of row r, after the panels so far.
    LowHigh interval(int r) {
        const ptrdiff_t c = f_.machine_.outputs;
        const RowTraits &row = space_.block.row(r);
        const double self = row.lost ? 1 : diagonal(f_.machine_.kernel, row.norm * row.norm);
        const double root = std::sqrt(self) * (1 + 1e-9);
        const double *sums = space_.sums.data() + r * sums_width(f_.machine_);
        for (ptrdiff_t o = 0; o < c; o++) {
            const double middle = sums[o] + f_.machine_.bias[o];
            const double rounding = sums[c + o] + Rounding<float>::bias_error(f_.machine_.bias[o]);
            low_[o] = middle - rounding - root * f_.lowering_[done_ * c + o];
            high_[o] = middle + rounding + root * f_.raising_[done_ * c + o];
            forget_ends_unless_finite(low_[o], high_[o]);
        }
        return {low_.data(), high_.data()};
    }

  private:
    void keep_open() {
        const ptrdiff_t width = sums_width(f_.machine_);
        for (int r = 0; r < int(open_.size()); r++) {
            numbers_[r] = numbers_[open_[r]];
            std::copy_n(space_.sums.data() + open_[r] * width, width, space_.sums.data() + r * width);
        }
        space_.block.keep(open_);
    }

    const FastStopping &f_;
    Workspace<float> space_;
    Judge judge_;
    std::vector<double> low_, high_;
    std::vector<ptrdiff_t> numbers_;
    std::vector<int> open_;
    ptrdiff_t done_ = 0;
};

FastStopping::~FastStopping() = default;

template <class Work> void FastStopping::each(const Rows &rows, Team &team, const Work &work) const {
    const EqualBlocks blocks(rows, rows_with_room(block_rows, sums_width(machine_)), team.threads());
    auto make = [&](int count) { return std::make_unique<Block>(*this, count); };
    each_block(blocks, spare_, team, make, [&](Block &block, const RowRange &, int) { work(block); });
}

void FastStopping::decide(const Rows &rows, Team &team, int64_t *answers, int64_t *terms, double *values) const {
    const ptrdiff_t c = machine_.outputs;
    std::fill_n(answers, rows.n, int64_t(unsettled));
    std::fill_n(terms, rows.n, int64_t(0));
    each(rows, team, [&](Block &block) {
        while (block.count() > 0 && block.panels_done() < packed_.panels && !team.should_stop()) {
            block.advance();
            const int64_t so_far = std::min<int64_t>(block.panels_done() * panel_width<float>, machine_.points_count);
            block.settle([&](ptrdiff_t i, int answer, const LowHigh &ends) {
                answers[i] = answer;
                terms[i] = so_far;
                if (values) std::transform(ends.low, ends.low + c, ends.high, values + i * c, middle_of);
            });
        }
    });
}

void FastStopping::interval(const Rows &rows, ptrdiff_t budget, Team &team, double *low, double *high) const {
    const ptrdiff_t c = machine_.outputs;
    const ptrdiff_t panels = std::min((budget + panel_width<float> - 1) / panel_width<float>, packed_.panels);
    each(rows, team, [&](Block &block) {
        while (block.panels_done() < panels && !team.should_stop()) block.advance();
        for (int r = 0; r < block.count(); r++) {
            const LowHigh ends = block.interval(r);
            std::copy_n(ends.low, c, low + block.number(r) * c);
            std::copy_n(ends.high, c, high + block.number(r) * c);
        }
    });
}

}  // namespace dormie
