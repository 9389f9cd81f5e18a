#include "methods/reduced_set.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "core/blocks.hpp"
#include "core/interval.hpp"
#include "core/rounding.hpp"
#include "core/rules.hpp"
#include "tiles/one_output.hpp"
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
int rows_at_once(const Machine &m, ptrdiff_t panels) {
    return rows_with_room(std::clamp<ptrdiff_t>(256 / panels, 32, 128), std::max(m.features, m.outputs));
}

}  // namespace

// Rows on their way through the levels, closed up as they are settled.
class ReducedSet::Block {
  public:
    Block(const ReducedSet &set, int capacity)
        : s_(set),
          rows_(s_.machine_, capacity),
          panel_step_(ptrdiff_t(capacity + ops<float>().group_rows) * panel_stride<float>),
          values_(Aligned<float>::unwritten(size_t(s_.packed_.panels * panel_step_))),
          sums_(sums_width(s_.machine_)),
          judge_(s_.machine_.rule, s_.machine_.outputs) {
        open_.reserve(capacity);
        if (s_.levels_[0].search) space_.emplace(*s_.levels_[0].search);
        if (s_.levels_[0].largest) largest_.emplace(*s_.levels_[0].largest);
        if (own_error_sizes(s_.machine_)) errors_ = Aligned<float>::unwritten(size_t(s_.packed_.panels * panel_step_));
    }

    // All rows of a block, or some of them.
    void start(const LaidOut &rows) {
        rows_.arrange(rows);
        tiles_done_ = 0;
    }
    void start(const LaidOut &rows, const int *which, int count) {
        rows_.arrange(rows, which, count);
        tiles_done_ = 0;
    }

    int count() const { return rows_.count(); }
    int place(int r) const { return rows_.place(r); }

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

    // Judges every row at a level. Returns whether any row is left open; those stay, unless it is the last level.
    bool settle(const Level &level, double caution, bool by_champion, const LargestOutput::QuickGap *quick,
                const Verdicts &verdicts) {
        open_.clear();
        for (int r = 0; r < count(); r++) {
            // What breaks ties may overflow in outputs that are not worked out: certainty takes all of them.
            const bool searching = level.search && (by_champion || !s_.machine_.rule.break_ties);
            int answer = unsettled;
            if (searching) answer = search(level, caution, r);
            if (level.largest) answer = largest(level, caution, quick, r);
            if (answer == unsettled && !(searching && by_champion) && !level.largest) {
                const MiddleRadius found = interval(level, caution, r);
                answer = judge_.settle(found, s_.machine_.margin, rows_.row(r).reach);
                verdicts.keep(place(r), found.middle, s_.machine_.outputs);
            }
            verdicts.answers[place(r)] = answer;
            verdicts.evaluations[place(r)] = int32_t(level.size);
            if (answer == unsettled) open_.push_back(r);
        }
        if (open_.empty() || &level == &s_.levels_.back()) return false;
        if (int(open_.size()) < count()) keep_open();
        return true;
    }

    // The intervals of all rows at the first level, to where the rows are in the block.
    void intervals(double caution, double *middle, double *radius) {
        const Level &level = s_.levels_.front();
        const ptrdiff_t c = s_.machine_.outputs;
        advance(level);
        for (int r = 0; r < count(); r++) {
            const MiddleRadius found = interval(level, caution, r);
            std::copy_n(found.middle, c, middle + place(r) * c);
            std::copy_n(found.radius, c, radius + place(r) * c);
        }
    }

    // The answers of all rows at the first level, half-widths and rounding left out.
    void guess(int32_t *answers) {
        const Level &level = s_.levels_.front();
        advance(level);
        for (int r = 0; r < count(); r++) {
            const RowValues values{*this, r};
            if (level.largest) {
                answers[r] = level.largest->find(values, *largest_, judge_);
                continue;
            }
            const int k = level.search ? level.search->find(values, *space_) : unsettled;
            answers[r] = k != unsettled ? k : judge_.answer(interval(level, 0.0, r).middle);
        }
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
        const double root = root_of_self(m.kernel, rows_.row(r).norm);
        for (ptrdiff_t o = 0; o < c; o++) {
            sums_[o] += m.bias[o];
            sums_[c + o] += Rounding<float>::bias_error(m.bias[o]);
            const double rho = caution * level.rho[o];
            if (rho > 0) sums_[c + o] += rho * root;
            forget_unless_finite(sums_[o], sums_[c + o]);
        }
        return {sums_.data(), sums_.data() + c};
    }

  private:
    // From a panel to the kernel values of a row, and to the sizes of their errors, null where those are the values.
    struct RowValues {
        const Block &block;
        int r;
        const float *operator()(size_t panel) const { return block.row_of(block.values_, ptrdiff_t(panel), r); }
        const float *errors(size_t panel) const { return block.row_of(block.errors_, ptrdiff_t(panel), r); }
    };

    // The class that wins all its pairs of a vote, or `unsettled`.
    int search(const Level &level, double caution, int r) {
        const RowTraits &row = rows_.row(r);
        const VoteSearch &search = *level.search;
        const int k = search.find(RowValues{*this, r}, *space_);
        if (k == unsettled) return unsettled;
        const double factor = caution * root_of_self(s_.machine_.kernel, row.norm);
        const RowValues values{*this, r};
        return search.wins(k, row, s_.packed_.sizes, factor, level.rho, values, *space_) ? k : unsettled;
    }

    // The largest output, or `unsettled`.
    int largest(const Level &level, double caution, const LargestOutput::QuickGap *quick, int r) {
        const RowTraits &row = rows_.row(r);
        const double factor = caution * root_of_self(s_.machine_.kernel, row.norm);
        return level.largest->settle(row, s_.packed_.sizes, factor, level.rho, RowValues{*this, r}, quick, *largest_,
                                     judge_);
    }

    void keep_open() {
        for (int r = 0; r < int(open_.size()); r++) {
            if (open_[r] == r) continue;
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
    std::vector<double> sums_;
    std::optional<VoteSearch::Space> space_;
    std::optional<LargestOutput::Space> largest_;
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
        levels_.push_back({size, {}, vectors.rho + j * machine.outputs, nullptr, nullptr});
        if (VoteSearch::serves(level)) levels_.back().search = std::make_unique<VoteSearch>(level);
        if (LargestOutput::serves(level)) levels_.back().largest = std::make_unique<LargestOutput>(level);
        for (ptrdiff_t p = 0; p < panels; p++) levels_.back().panels.emplace_back(level, packed_.order, p);
        weights += size * machine.outputs;
    }
}

// All levels as a stage.
class ReducedSet::Levels final : public Stage {
  public:
    Levels(const ReducedSet &set, double caution, bool by_champion, std::shared_ptr<const void> owner)
        : s_(set), caution_(caution), by_champion_(by_champion), owner_(std::move(owner)) {
        const Level &first = s_.levels_.front();
        if (OneOutput<float>::serves(s_.machine_))
            one_output_.emplace(s_.machine_, s_.packed_, first.panels, first.size, caution * first.rho[0]);
        if (!LargestOutput::serves(s_.machine_) || !LargestOutput::QuickGap::serves(s_.machine_)) return;
        for (const Level &level : s_.levels_)
            quick_gaps_.emplace_back(*level.largest, s_.packed_.sizes, caution, level.rho);
    }

    const Machine &machine() const override { return s_.machine_; }
    Forms forms() const override { return {.narrow = true, .rough = true}; }
    int rows_at_once() const override { return dormie::rows_at_once(s_.machine_, s_.packed_.panels); }
    double work(ptrdiff_t rows) const override { return s_.work(rows); }
    std::unique_ptr<Pass> pass(int rows) const override { return std::make_unique<Walk>(*this, rows); }

  private:
    class Walk final : public Pass {
      public:
        Walk(const Levels &levels, int rows)
            : l_(levels), rows_(rows), judge_(l_.s_.machine_.rule, l_.s_.machine_.outputs) {
            if (l_.one_output_) sums_.emplace(l_.one_output_->make_sums(rows));
            left_.reserve(size_t(rows));
        }

        void decide(const LaidOut &rows, Team &team, const Verdicts &verdicts) override {
            if (!l_.one_output_ || !l_.one_output_->is_quicker_for(rows)) {
                block().start(rows);
                return walk(team, verdicts);
            }
            // The first level of most rows is settled quickly; what is close is judged with care, and what is open goes
            // on to the other levels.
            std::fill_n(verdicts.evaluations, rows.count(), int32_t(l_.s_.levels_.front().size));
            l_.one_output_->settle(rows, *sums_, judge_, verdicts.answers, left_);
            if (l_.s_.levels_.size() > 1) verdicts.list_open(rows.count(), left_);
            if (left_.empty()) return;
            block().start(rows, left_.data(), int(left_.size()));
            walk(team, verdicts);
        }

      private:
        Block &block() {
            if (!block_) block_ = std::make_unique<Block>(l_.s_, rows_);
            return *block_;
        }

        void walk(Team &team, const Verdicts &verdicts) {
            for (size_t j = 0; j < l_.s_.levels_.size(); j++) {
                const Level &level = l_.s_.levels_[j];
                if (block_->count() >= ask_from && team.should_stop()) return;
                block_->advance(level);
                const LargestOutput::QuickGap *quick = l_.quick_gaps_.empty() ? nullptr : &l_.quick_gaps_[j];
                if (!block_->settle(level, l_.caution_, l_.by_champion_, quick, verdicts)) return;
            }
        }

        const Levels &l_;
        const int rows_;
        std::unique_ptr<Block> block_;  // made when needed
        std::optional<OneOutput<float>::Sums> sums_;
        Judge judge_;
        std::vector<int> left_;
    };

    const ReducedSet &s_;
    const double caution_;
    const bool by_champion_;
    const std::shared_ptr<const void> owner_;
    std::optional<OneOutput<float>> one_output_;
    std::vector<LargestOutput::QuickGap> quick_gaps_;  // of each level, if an argmax is asked for
};

ReducedSet::Guesses::Guesses(const ReducedSet &set, int rows) : block_(std::make_unique<Block>(set, rows)) {}

ReducedSet::Guesses::~Guesses() = default;

void ReducedSet::Guesses::of(const LaidOut &rows, const int *which, int count, int32_t *answers) {
    block_->start(rows, which, count);
    block_->guess(answers);
}

void ReducedSet::Guesses::outputs(const LaidOut &rows, const int *which, int count, double caution, double *middle,
                                  double *radius) {
    block_->start(rows, which, count);
    block_->intervals(caution, middle, radius);
}

std::shared_ptr<const Stage> ReducedSet::stage(double caution, bool by_champion,
                                               std::shared_ptr<const void> owner) const {
    return std::make_shared<Levels>(*this, caution, by_champion, std::move(owner));
}

void ReducedSet::interval(const Rows &rows, ptrdiff_t level, Team &team, double *middle, double *radius) const {
    const ptrdiff_t c = machine_.outputs;
    auto make = [&](int count) { return std::make_unique<Block>(*this, count); };
    each_block(machine_, {true, false}, rows, rows_at_once(machine_, packed_.panels), team, make,
               [&](const LaidOut &laid_out, Block &block) {
                   block.start(laid_out);
                   block.advance(levels_[level]);
                   for (int r = 0; r < block.count(); r++) {
                       const MiddleRadius found = block.interval(levels_[level], 1.0, r);
                       const ptrdiff_t at = laid_out.number(r) * c;
                       std::copy_n(found.middle, c, middle + at);
                       std::copy_n(found.radius, c, radius + at);
                   }
               });
}

}  // namespace dormie
