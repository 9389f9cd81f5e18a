#include "methods/champion.hpp"

#include <algorithm>
#include <cmath>

#include "core/blocks.hpp"
#include "core/rounding.hpp"
#include "core/rules.hpp"

namespace dormie {

namespace {

constexpr ptrdiff_t block_rows = 128;
constexpr int ask_from = 8;  // rows: with fewer, a panel takes hardly longer than asking whether to stop

// The output of the pair a < b of k classes.
ptrdiff_t pair_of(ptrdiff_t a, ptrdiff_t b, ptrdiff_t k) { return a * (2 * k - a - 1) / 2 + b - a - 1; }

}  // namespace

// One class against each of the others: a machine with an output for each rival, positive where the class wins.
class Champion::Contender {
  public:
    Contender(const Machine &m, ptrdiff_t own, const int64_t *members, ptrdiff_t count)
        : pairs_(pairs_of(m, own)), machine_(pairs_machine(m, count)) {
        std::vector<double> points(size_t(count * m.features)), weights(size_t(count * machine_.outputs));
        for (ptrdiff_t i = 0; i < count; i++) {
            std::copy_n(m.points + members[i] * m.features, m.features, points.data() + i * m.features);
            for (ptrdiff_t o = 0; o < machine_.outputs; o++)
                weights[i * machine_.outputs + o] =
                    pairs_[o].sign * m.weights[members[i] * m.outputs + pairs_[o].output];
        }
        Machine whole = machine_;
        whole.points = points.data();
        whole.weights = weights.data();
        packed_ = std::make_unique<Packed<float>>(whole);
    }

    ptrdiff_t points() const { return machine_.points_count; }
    const Machine &machine() const { return machine_; }

    void add_panel(ptrdiff_t panel, Workspace<float> &space) const {
        dormie::add_panel<float, true>(machine_, *packed_, panel, space, space.sums.data());
    }
    ptrdiff_t panels() const { return packed_->panels; }

    // The largest of its points, and the sum of their largest weights.
    const PointSizes &sizes() const { return packed_->sizes; }
    double weight() const {
        double total = 0;
        for (const PanelWeights<float> &panel : packed_->panel_weights) total += panel.total;
        return total;
    }

    // Whether a row surely wins all pairs, whatever the source's rounding does. sums: as add_panel leaves them.
    bool wins(const double *sums, double norm) const {
        const ptrdiff_t c = machine_.outputs;
        for (ptrdiff_t o = 0; o < c; o++) {
            const double bias = bias_[o], middle = sums[o] + bias;
            double low = middle - (sums[c + o] + Rounding<float>::bias_error(bias)), high = middle;
            const Margin &all = machine_.margin;
            Margin{&constant_[o], &slope_[o], all.gain, all.start, all.degree}.widen(norm, 1, &low, &high);
            if (!(low > 0 && std::isfinite(middle))) return false;
        }
        return true;
    }

  private:
    struct Pair {
        ptrdiff_t output;
        double sign;  // by which the output is multiplied
    };

    static std::vector<Pair> pairs_of(const Machine &m, ptrdiff_t own) {
        const ptrdiff_t k = m.rule.classes;
        std::vector<Pair> pairs;
        for (ptrdiff_t other = 0; other < k; other++)
            if (other != own)
                pairs.push_back(own < other ? Pair{pair_of(own, other, k), 1.0} : Pair{pair_of(other, own, k), -1.0});
        return pairs;
    }

    // Without points and weights, which are had in packed form alone.
    Machine pairs_machine(Machine m, ptrdiff_t count) {
        for (const Pair &pair : pairs_) {
            bias_.push_back(pair.sign * m.bias[pair.output]);
            constant_.push_back(m.margin.constant[pair.output]);
            slope_.push_back(m.margin.slope[pair.output]);
        }
        m.points_count = count;
        m.outputs = ptrdiff_t(pairs_.size());
        m.points = m.weights = nullptr;
        m.bias = bias_.data();
        return m;
    }

    const std::vector<Pair> pairs_;
    std::vector<double> bias_, constant_, slope_;
    const Machine machine_;
    std::unique_ptr<Packed<float>> packed_;
};

// The rows sorted by guess, in blocks of rows of one class.
class Champion::Blocks {
  public:
    Blocks(const Rows &rows, const int64_t *guesses, ptrdiff_t classes, ptrdiff_t most) : rows_(rows) {
        std::vector<ptrdiff_t> next(size_t(classes + 1));
        for (ptrdiff_t i = 0; i < rows.n; i++)
            if (guesses[i] != unsettled) next[guesses[i] + 1]++;
        for (ptrdiff_t k = 0; k < classes; k++) {
            next[k + 1] += next[k];
            for (ptrdiff_t from = next[k]; from < next[k + 1]; from += most)
                blocks_.push_back({k, from, int(std::min(most, next[k + 1] - from))});
        }
        order_.resize(size_t(next[classes]));
        for (ptrdiff_t i = 0; i < rows.n; i++)
            if (guesses[i] != unsettled) order_[next[guesses[i]]++] = i;
        for (const Block &block : blocks_) largest_ = std::max(largest_, block.count);
    }

    ptrdiff_t count() const { return ptrdiff_t(blocks_.size()); }
    int largest() const { return largest_; }
    RowRange operator[](ptrdiff_t block) const {
        return {rows_, order_.data(), blocks_[block].from, blocks_[block].count};
    }

  private:
    struct Block {
        ptrdiff_t guess, from;
        int count;
    };

    const Rows &rows_;
    std::vector<ptrdiff_t> order_;
    std::vector<Block> blocks_;
    int largest_ = 0;
};

Champion::Champion(const Machine &machine, const Vectors &guess, const Members &members)
    : machine_(machine), guess_(machine, guess) {
    for (ptrdiff_t k = 0; k < machine.rule.classes; k++) {
        const int64_t from = members.starts[k], to = members.starts[k + 1];
        contenders_.push_back(std::make_unique<Contender>(machine, k, members.members + from, to - from));
        sizes_.widen(contenders_.back()->sizes());
        weight_ += contenders_.back()->weight();
    }
}

Champion::~Champion() = default;

bool Champion::may_overflow(const RowTraits &row) const {
    return machine_.rule.break_ties && !std::isfinite(Rounding<float>(machine_, sizes_, row).sum_error(0, weight_, 0));
}

double Champion::work(ptrdiff_t n) const {
    double points = 0;
    for (const auto &contender : contenders_) points += double(contender->points());
    points /= double(contenders_.size());
    return guess_.work(n) + double(n) * points * double(machine_.features + 16);
}

void Champion::decide(const Rows &rows, Team &team, int64_t *answers, int64_t *evaluations) const {
    guess_.decide(rows, 0.0, team, answers, evaluations, nullptr);
    const Blocks blocks(rows, answers, ptrdiff_t(contenders_.size()), block_rows);
    for (ptrdiff_t i = 0; i < rows.n; i++)
        if (answers[i] != unsettled) evaluations[i] += contenders_[size_t(answers[i])]->points();
    prove(blocks, team, answers);
}

void Champion::prove(const Blocks &blocks, Team &team, int64_t *answers) const {
    if (blocks.count() == 0) return;
    const ptrdiff_t width = sums_width(contenders_[0]->machine());
    // Kernel, features and input map are the same for all classes, and so is the number of pairs.
    auto make = [&](int rows) { return std::make_unique<Workspace<float>>(contenders_[0]->machine(), rows); };
    each_block(blocks, spare_, team, make, [&](Workspace<float> &space, const RowRange &range, int) {
        const Contender &contender = *contenders_[size_t(answers[range.number(0)])];
        for (ptrdiff_t p = 0; p < contender.panels(); p++) {
            if (range.count >= ask_from && team.should_stop()) return;
            contender.add_panel(p, space);
        }
        for (int r = 0; r < range.count; r++) {
            const RowTraits &row = space.block.row(r);
            const bool proved = contender.wins(space.sums.data() + r * width, row.norm) && !may_overflow(row);
            if (!proved) answers[range.number(r)] = unsettled;
        }
    });
}

}  // namespace dormie
