#include "methods/fast_stopping.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
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
constexpr int W = tile_width<float>;  // terms between two tests

int rows_at_once(const Machine &m) { return rows_with_room(block_rows, std::max(sums_width(m), m.features)); }

// Whether a coordinate of a mapped row is negative, in real numbers: told from the row itself, without rounding.
bool has_negatives(const Machine &m, const double *x) {
    for (ptrdiff_t j = 0; j < m.features; j++) {
        const double center = m.center ? m.center[j] : 0;
        if (m.center && m.scale[j] < 0 ? x[j] > center : x[j] < center) return true;
    }
    return false;
}

// Whether a number has its sign bit set: a negative one keeps it however it is rounded, if need be as -0.
bool has_signs(const float *x, ptrdiff_t d) {
    uint32_t any = 0;
    for (ptrdiff_t j = 0; j < d; j++) any |= std::bit_cast<uint32_t>(x[j]);
    return any >> 31;
}

}  // namespace

FastStopping::FastStopping(const Machine &m, OneSided one_sided)
    : machine_(m),
      one_sided_(one_sided),
      packed_(m, true),
      negative_(size_t(packed_.tiles + 1) * m.outputs),
      positive_(size_t(packed_.tiles + 1) * m.outputs) {
    constexpr double up = 1 + 1e-9;  // more than the rounding of a tail
    const ptrdiff_t c = m.outputs;
    for (ptrdiff_t i = m.points_count - 1; i >= 0; i--) {
        const double *s = m.points + i * m.features;
        const double norm2 = squared_norm(s, m.features);
        const double root = norm_lost(m.kernel, s, m.features, norm2) ? 1 : root_of_self(m.kernel, std::sqrt(norm2));
        const ptrdiff_t at = i / W * c;
        for (ptrdiff_t o = 0; o < c; o++) {
            if (i % W == W - 1 || i == m.points_count - 1) {  // the first of a tile
                negative_[at + o] = negative_[at + c + o];
                positive_[at + o] = positive_[at + c + o];
            }
            const double weight = m.weights[i * c + o];
            (weight < 0 ? negative_ : positive_)[at + o] += std::abs(weight) * root * up;
        }
    }
}

// Rows on their way through the panels, closed up as they are settled.
class FastStopping::Block {
  public:
    Block(const FastStopping &stopping, int capacity)
        : f_(stopping),
          block_(f_.machine_, capacity),
          space_(capacity),
          sums_(size_t(capacity * sums_width(f_.machine_))),
          judge_(f_.machine_.rule, f_.machine_.outputs),
          low_(f_.machine_.outputs),
          high_(f_.machine_.outputs),
          room_(f_.machine_.features),
          votes_(f_.machine_.rule.kind == RuleKind::vote ? f_.machine_.rule.classes : 0),
          rows_(capacity) {
        open_.reserve(capacity);
        roundings_.reserve(capacity);
    }

    void start(const LaidOut &rows) {
        block_.arrange(rows);
        std::fill(sums_.begin(), sums_.end(), 0.0);
        for (int r = 0; r < rows.count(); r++)
            rows_[r] = {r, root_of_self(f_.machine_.kernel, rows.traits(r).norm), one_sided(rows, r), false, 0};
        done_ = 0;
    }

    int count() const { return block_.count(); }
    // Which row of the block row r is.
    int place(int r) const { return rows_[r].place; }
    ptrdiff_t tiles_done() const { return done_; }
    int64_t terms_done() const { return std::min<int64_t>(done_ * W, f_.machine_.points_count); }

    // Adds the terms of the next tiles of a panel, all at once.
    void advance(int tiles) {
        bound_rounding();
        products(tiles);
        done_ += tiles;
        for (int r = 0; r < count(); r++) add(r, 0, tiles);
    }

    // Adds the terms of the next panel, and judges every row that they may have settled: judged(place, answer,
    // interval). A row's terms are added at once up to the tile that may settle it, and then tile by tile. Which tile
    // that is depends on nothing but the row, and so do the bits of its sums.
    template <class Judged> void pass_panel(const Judged &judged) {
        const int tiles = f_.packed_.tiles_of(done_ / panel_tiles);
        int first = tiles;
        for (int r = 0; r < count(); r++) first = std::min(first, rows_[r].first = first_test(r, tiles));
        bound_rounding();
        products(first);
        done_ += first;
        for (int t = first; true; t++) {
            for (int r = 0; r < count(); r++) {
                if (rows_[r].settled || t < rows_[r].first) continue;
                t == rows_[r].first ? add(r, 0, t) : add(r, t - 1, 1);
                judge(r, judged);
            }
            close_up(t < tiles ? 0.75 : 1);
            if (t == tiles || count() == 0) return;
            products(1);
            done_++;
        }
    }

    // Calls open(place) for every row not settled yet.
    template <class Open> void each_open(const Open &open) const {
        for (int r = 0; r < count(); r++)
            if (!rows_[r].settled) open(place(r));
    }

    // Of row r, after the tiles so far.
    LowHigh interval(int r) {
        const ptrdiff_t c = f_.machine_.outputs;
        const double *sums = sums_of(r);
        for (ptrdiff_t o = 0; o < c; o++) {
            const double rounding = sums[c + o] + Rounding<float>::bias_error(f_.machine_.bias[o]);
            const Tails tails = tails_of(r, o, done_);
            low_[o] = middle(r, o) - rounding - tails.lowering;
            high_[o] = middle(r, o) + rounding + tails.raising;
            forget_ends_unless_finite(low_[o], high_[o]);
        }
        return {low_.data(), high_.data()};
    }

  private:
    struct Row {
        int place;
        double root;  // at least sqrt(K(x,x))
        bool one_sided, settled;
        int first;  // the tiles of this panel that its first test waits for
    };

    // What the terms to come can take off an output and add to it.
    struct Tails {
        double lowering, raising;
    };

    bool one_sided(const LaidOut &rows, int r) {
        if (f_.one_sided_ != OneSided::rows_without_negatives) return f_.one_sided_ == OneSided::every_row;
        if (!has_signs(rows.row<float>(r), f_.machine_.features)) return true;
        return !has_negatives(f_.machine_, rows.source().wide(rows.number(r), 1, room_.data()));
    }

    // The next tile's place in its panel.
    int tile_in_panel() const { return int(done_ % panel_tiles); }

    // The tiles of a panel after which row r may be settled, or all of them.
    int first_test(int r, int tiles) {
        int first = may_settle(r, tiles - 1) ? 1 : tiles;
        while (first < tiles && !may_settle(r, first)) first++;
        return first;
    }

    // Of all rows, for the points of the next panel.
    void bound_rounding() {
        roundings_.clear();
        for (int r = 0; r < count(); r++)
            roundings_.emplace_back(f_.machine_, f_.packed_.panel_sizes[done_ / panel_tiles], block_.row(r));
    }

    // Of all rows with the next tiles.
    void products(int tiles) { block_.products(f_.packed_, done_, tiles, space_.values.get() + tile_in_panel() * W); }

    // Adds the terms of one row with tiles of the panel, from a place in it.
    void add(int r, int from, int tiles) {
        const Machine &m = f_.machine_;
        const ptrdiff_t panel = (done_ - 1) / panel_tiles;
        const PanelWeights<float> &weights = f_.packed_.panel_weights[panel];
        const float *lane_offset = f_.packed_.lane_offset.get() + (panel * panel_tiles + from) * W;
        float *values = values_of(r) + from * W, *errors = own_error_sizes(m) ? space_.errors.get() : nullptr;
        evaluate_row<float>(m, block_.row(r), roundings_[r].slack(), lane_offset, tiles * W, values, errors);
        weigh_row<float, true>(m, roundings_[r], weights.tiles(from, tiles), tiles * W, values, errors, sums_of(r));
    }

    template <class Judged> void judge(int r, const Judged &judged) {
        if (!may_settle(r, 0)) return;
        const LowHigh ends = interval(r);
        const int answer = judge_.settle(ends, f_.machine_.margin, block_.row(r).reach);
        judged(place(r), answer, ends);
        if (answer == unsettled) return;
        rows_[r].settled = true;
        block_.drop(r);
    }

    // Whether the interval of row r may settle it within so many tiles, as far as can be told before they are added: an
    // end moves by no more than what leaves its tail. Rounding and the margin are left out, which only widen.
    bool may_settle(int r, int ahead) {
        const Rule &rule = f_.machine_.rule;
        for (ptrdiff_t o = 0; o < f_.machine_.outputs; o++) {
            const Tails now = tails_of(r, o, done_), then = tails_of(r, o, done_ + ahead);
            if (rule.kind == RuleKind::value && then.lowering + then.raising > 2 * rule.tolerance) return false;
            low_[o] = middle(r, o) + (now.raising - then.raising) - then.lowering;
            high_[o] = middle(r, o) - (now.lowering - then.lowering) + then.raising;
        }
        switch (rule.kind) {
            case RuleKind::sign: return low_[0] >= 0 || high_[0] <= 0;
            case RuleKind::vote: return has_half_the_votes();
            case RuleKind::argmax: return exceeds_second();
            case RuleKind::value: return true;
        }
        return true;
    }

    // Whether some class may have half of its votes: a winner has no fewer, since no class may have more than it.
    bool has_half_the_votes() {
        const int classes = f_.machine_.rule.classes;
        std::fill(votes_.begin(), votes_.end(), 0);
        for (int a = 0, o = 0; a < classes; a++)
            for (int b = a + 1; b < classes; b++, o++) votes_[a] += low_[o] > 0, votes_[b] += high_[o] <= 0;
        return 2 * *std::max_element(votes_.begin(), votes_.end()) >= classes - 1;
    }

    // Whether some low end is above all high ends but one, which may be its own.
    bool exceeds_second() const {
        double lowest = -std::numeric_limits<double>::infinity(), first = lowest, second = lowest;
        for (size_t o = 0; o < low_.size(); o++) {
            lowest = std::max(lowest, low_[o]);
            second = std::max(second, std::min(first, high_[o]));
            first = std::max(first, high_[o]);
        }
        return lowest > second;
    }

    double *sums_of(int r) { return sums_.data() + r * sums_width(f_.machine_); }
    float *values_of(int r) { return space_.values.get() + r * ptrdiff_t(panel_stride<float>); }
    double middle(int r, ptrdiff_t o) { return sums_of(r)[o] + f_.machine_.bias[o]; }

    // Of output o after so many tiles.
    Tails tails_of(int r, ptrdiff_t o, ptrdiff_t tiles) const {
        const ptrdiff_t at = tiles * f_.machine_.outputs + o;
        const double negative = rows_[r].root * f_.negative_[at], positive = rows_[r].root * f_.positive_[at];
        return rows_[r].one_sided ? Tails{negative, positive} : Tails{negative + positive, negative + positive};
    }

    // The open rows, ascending, close up once they are no more than a share of all: within a panel, laying them out
    // anew takes about as long as a tile.
    void close_up(double share) {
        open_.clear();
        for (int r = 0; r < count(); r++)
            if (!rows_[r].settled) open_.push_back(r);
        if (int(open_.size()) == count() || double(open_.size()) > share * count()) return;
        for (int r = 0; r < int(open_.size()); r++)
            if (open_[r] != r) move(open_[r], r);
        block_.keep(open_);
    }

    void move(int from, int to) {
        rows_[to] = rows_[from];
        roundings_[to] = roundings_[from];
        std::copy_n(sums_of(from), sums_width(f_.machine_), sums_of(to));
        std::copy_n(values_of(from), tile_in_panel() * W, values_of(to));
    }

    const FastStopping &f_;
    RowBlock<float> block_;
    const PanelValues<float> space_;
    std::vector<double> sums_;
    Judge judge_;
    std::vector<double> low_, high_, room_;
    std::vector<int> votes_;
    std::vector<Row> rows_;
    std::vector<Rounding<float>> roundings_;
    std::vector<int> open_;
    ptrdiff_t done_ = 0;
};

class FastStopping::Terms final : public Stage {
  public:
    Terms(const FastStopping &stopping, std::shared_ptr<const void> owner) : f_(stopping), owner_(std::move(owner)) {}

    const Machine &machine() const override { return f_.machine_; }
    Forms forms() const override { return {true, false}; }
    int rows_at_once() const override { return dormie::rows_at_once(f_.machine_); }
    double work(ptrdiff_t rows) const override { return f_.work(rows); }
    std::unique_ptr<Pass> pass(int rows) const override { return std::make_unique<Walk>(f_, rows); }

  private:
    class Walk final : public Pass {
      public:
        Walk(const FastStopping &stopping, int rows) : f_(stopping), block_(stopping, rows) {}

        void decide(const LaidOut &rows, Team &team, const Verdicts &verdicts) override {
            const ptrdiff_t c = f_.machine_.outputs;
            std::fill_n(verdicts.answers, rows.count(), unsettled);
            if (verdicts.values) std::fill_n(verdicts.values, rows.count() * c, 0.0);
            block_.start(rows);
            while (block_.count() > 0 && block_.tiles_done() < f_.packed_.tiles && !team.should_stop()) {
                block_.pass_panel([&](int r, int answer, const LowHigh &ends) {
                    verdicts.answers[r] = answer;
                    verdicts.evaluations[r] = int32_t(block_.terms_done());
                    if (verdicts.values)
                        std::transform(ends.low, ends.low + c, ends.high, verdicts.values + r * c, middle_of);
                });
            }
            block_.each_open([&](int r) { verdicts.evaluations[r] = int32_t(block_.terms_done()); });
        }

      private:
        const FastStopping &f_;
        Block block_;
    };

    const FastStopping &f_;
    const std::shared_ptr<const void> owner_;
};

std::shared_ptr<const Stage> FastStopping::stage(std::shared_ptr<const void> owner) const {
    return std::make_shared<Terms>(*this, std::move(owner));
}

void FastStopping::interval(const Rows &rows, ptrdiff_t budget, Team &team, double *low, double *high) const {
    const ptrdiff_t c = machine_.outputs;
    const ptrdiff_t tiles = std::min((budget + W - 1) / W, packed_.tiles);
    auto make = [&](int count) { return std::make_unique<Block>(*this, count); };
    each_block(machine_, {true, false}, rows, rows_at_once(machine_), team, make,
               [&](const LaidOut &laid_out, Block &block) {
                   block.start(laid_out);
                   while (block.tiles_done() < tiles && !team.should_stop())
                       block.advance(int(std::min<ptrdiff_t>(panel_tiles, tiles - block.tiles_done())));
                   for (int r = 0; r < block.count(); r++) {
                       const LowHigh ends = block.interval(r);
                       const ptrdiff_t at = laid_out.number(r) * c;
                       std::copy_n(ends.low, c, low + at);
                       std::copy_n(ends.high, c, high + at);
                   }
               });
}

}  // namespace dormie
