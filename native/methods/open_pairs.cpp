#include "methods/open_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/rules.hpp"
#include "tiles/block_sums.hpp"

namespace dormie {

namespace {

constexpr int block_rows = 128;      // of one pair
constexpr ptrdiff_t room = 1 << 21;  // numbers in the rows that wait, or in their outputs
constexpr int tries = 3;             // classes for a row: of MNIST's open digits 2 % are still open after three
constexpr double pairs_a_row = 2;    // that are open: MNIST has 1.0 to 2.2
constexpr double summed = -1;        // in place of the radius of an output that was summed in full
constexpr int none = Contender::nobody;

}  // namespace

// A pair of classes and the points that count for it.
class OpenPairs::PairPoints {
  public:
    PairPoints(const Machine &m, ptrdiff_t output, const Members &members) : machine_(m) {
        const int64_t *points = members.of(output);
        machine_.points_count = members.count(output);
        machine_.outputs = 1;
        machine_.points = machine_.weights = nullptr;
        machine_.bias = m.bias + output;
        std::vector<double> weights(size_t(machine_.points_count));
        for (ptrdiff_t i = 0; i < machine_.points_count; i++) weights[i] = m.weights[points[i] * m.outputs + output];
        packed_ = pack_members(m, machine_, points, weights);
    }

    Summand<float> sum() const { return {machine_, *packed_}; }
    ptrdiff_t count() const { return machine_.points_count; }

  private:
    Machine machine_;  // with that output alone
    std::unique_ptr<const Packed<float>> packed_;
};

OpenPairs::OpenPairs(const Machine &machine, const Vectors &guess, const Members &members)
    : machine_(machine), guess_(machine, guess) {
    for (ptrdiff_t k = 0; k < machine.rule.classes; k++)
        contenders_.push_back(std::make_unique<const Contender>(machine, k, 0));
    for (ptrdiff_t o = 0; o < machine.outputs; o++)
        pairs_.push_back(std::make_unique<const PairPoints>(machine, o, members));
    mean_points_ = double(members.starts[machine.outputs]) / double(machine.outputs);
}

OpenPairs::~OpenPairs() = default;

class OpenPairs::Duels final : public Stage {
  public:
    Duels(const OpenPairs &pairs, double caution, std::shared_ptr<const void> owner)
        : p_(pairs), caution_(caution), owner_(std::move(owner)) {}

    const Machine &machine() const override { return p_.machine_; }
    Forms forms() const override { return {true, false}; }
    // So many that several meet in a pair.
    int rows_at_once() const override {
        const ptrdiff_t classes = p_.machine_.rule.classes, width = std::max(p_.machine_.features, p_.machine_.outputs);
        return int(std::clamp<ptrdiff_t>(room / width, 1, block_rows * classes));
    }
    double work(ptrdiff_t rows) const override {
        const double d = double(p_.machine_.features + 16);
        return p_.guess_.work(rows) + double(rows) * pairs_a_row * p_.mean_points_ * d;
    }
    std::unique_ptr<Pass> pass(int rows) const override;

  private:
    const OpenPairs &p_;
    const double caution_;
    const std::shared_ptr<const void> owner_;
};

// Estimates all pairs, and sums those of the class that should win which are open; again where another class beats it.
class OpenPairs::DuelPass final : public Pass {
  public:
    DuelPass(const OpenPairs &pairs, double caution, int rows)
        : p_(pairs),
          caution_(caution),
          guesses_(p_.guess_, std::min(rows, block_rows)),
          sums_(p_.pairs_[0]->sum().machine, std::min(rows, block_rows)),
          judge_(p_.machine_.rule, p_.machine_.outputs),
          middle_(size_t(rows * p_.machine_.outputs)),
          radius_(size_t(rows * p_.machine_.outputs)),
          champion_(size_t(rows)),
          open_(p_.pairs_.size()),
          own_(size_t(p_.machine_.rule.classes - 1)) {}

    void decide(const LaidOut &rows, Team &team, const Verdicts &verdicts) override {
        const ptrdiff_t c = p_.machine_.outputs;
        which_.resize(size_t(rows.count()));
        std::iota(which_.begin(), which_.end(), 0);
        for (int from = 0; from < rows.count(); from += block_rows) {
            if (team.should_stop()) return;
            guesses_.outputs(rows, which_.data() + from, std::min(rows.count() - from, block_rows), caution_,
                             middle_.data(), radius_.data());
        }
        for (int r = 0; r < rows.count(); r++) champion_[r] = judge_.answer(middle_.data() + r * c);
        std::fill_n(verdicts.answers, rows.count(), unsettled);
        std::fill_n(verdicts.evaluations, rows.count(), int32_t(p_.guess_.vectors()));
        for (int i = 0; i < tries; i++) {
            list_open(rows.count());
            for (size_t o = 0; o < open_.size(); o++)
                if (!sum(o, rows, team, verdicts)) return;
            for (int r = 0; r < rows.count(); r++)
                if (champion_[r] != none) judge(r, verdicts.answers[r]);
        }
    }

  private:
    // For each pair the rows whose champion has it open.
    void list_open(int count) {
        for (std::vector<int> &rows : open_) rows.clear();
        for (int r = 0; r < count; r++) {
            if (champion_[r] == none) continue;
            const Contender &one = *p_.contenders_[size_t(champion_[r])];
            const ptrdiff_t at = r * p_.machine_.outputs;
            for (ptrdiff_t i = 0; i < one.machine().outputs; i++) {
                const ptrdiff_t o = one.output(i);
                if (!(std::abs(middle_[at + o]) > radius_[at + o])) open_[size_t(o)].push_back(r);
            }
        }
    }

    // The output of a pair for the rows that have it open; false where the call is being given up.
    bool sum(size_t o, const LaidOut &rows, Team &team, const Verdicts &verdicts) {
        const PairPoints &pair = *p_.pairs_[o];
        const int count = int(open_[o].size());
        for (int from = 0; from < count; from += block_rows) {
            const int some = std::min(count - from, block_rows);
            if (!sums_.evaluate(pair.sum(), rows, open_[o].data() + from, some, team)) return false;
            for (int r = 0; r < some; r++) {
                const int place = sums_.place(r);
                const ptrdiff_t at = place * p_.machine_.outputs + ptrdiff_t(o);
                middle_[at] = sums_.interval(r).middle[0];
                radius_[at] = summed;
                verdicts.evaluations[place] += int32_t(pair.count());
            }
        }
        return true;
    }

    // The class of a row, if it wins all its pairs; or else the one that beats it, for the next try.
    void judge(int r, int32_t &answer) {
        const Contender &one = *p_.contenders_[size_t(champion_[r])];
        const double *outputs = middle_.data() + r * p_.machine_.outputs;
        bool wins = true;
        for (size_t i = 0; i < own_.size(); i++) {
            own_[i] = one.sign(ptrdiff_t(i)) * outputs[one.output(ptrdiff_t(i))];
            wins &= own_[i] > 0;
        }
        if (wins) answer = champion_[r];
        champion_[r] = wins ? none : one.beaten_by(own_.data());
    }

    const OpenPairs &p_;
    const double caution_;
    ReducedSet::Guesses guesses_;
    BlockSums<float, false> sums_;
    Judge judge_;
    std::vector<double> middle_, radius_;  // of each row, outputs
    std::vector<int32_t> champion_;        // of each row, or none
    std::vector<std::vector<int>> open_;   // of each pair
    std::vector<int> which_;
    std::vector<double> own_;  // outputs of one class's pairs
};

std::unique_ptr<Pass> OpenPairs::Duels::pass(int rows) const { return std::make_unique<DuelPass>(p_, caution_, rows); }

std::shared_ptr<const Stage> OpenPairs::stage(double caution, std::shared_ptr<const void> owner) const {
    return std::make_shared<Duels>(*this, caution, std::move(owner));
}

}  // namespace dormie
