#include "methods/champion.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/contender.hpp"
#include "core/rounding.hpp"
#include "core/rules.hpp"
#include "tiles/block_sums.hpp"

namespace dormie {

namespace {

constexpr int block_rows = 128;  // of one class
constexpr int none = Contender::nobody;
// Where the points of a class stay in the cache of a core (1 MiB), a guess that is wrong is followed by a second one:
// it takes few rows, for which points would be fetched from memory otherwise.
constexpr ptrdiff_t cached = 1 << 18;  // numbers
constexpr ptrdiff_t room = 1 << 21;    // numbers in the rows that wait: 8 MiB

}  // namespace

// A class and the points that count for it.
class Champion::ClassPoints {
  public:
    ClassPoints(const Machine &m, ptrdiff_t own, const Members &members)
        : contender_(m, own, members.count(own)),
          packed_(pack_members(m, contender_.machine(), members.of(own), contender_.weights(m, members.of(own)))) {}

    const Contender &contender() const { return contender_; }
    Summand<float> sum() const { return {contender_.machine(), *packed_}; }
    ptrdiff_t count() const { return contender_.machine().points_count; }

    // The largest of the points, and the sum of their largest weights.
    const PointSizes &sizes() const { return packed_->sizes; }
    double weight() const {
        double total = 0;
        for (const PanelWeights<float> &panel : packed_->panel_weights) total += panel.total;
        return total;
    }

  private:
    const Contender contender_;
    const std::unique_ptr<const Packed<float>> packed_;
};

Champion::Champion(const Machine &machine, const Vectors &guess, const Members &members)
    : machine_(machine), guess_(machine, guess) {
    for (ptrdiff_t k = 0; k < machine.rule.classes; k++) {
        classes_.push_back(std::make_unique<ClassPoints>(machine, k, members));
        if (members.count(k) * machine.features > cached) tries_ = 1;
        sizes_.widen(classes_.back()->sizes());
        weight_ += classes_.back()->weight();
    }
}

Champion::~Champion() = default;

bool Champion::may_overflow(const RowTraits &row) const {
    return machine_.rule.break_ties && !std::isfinite(Rounding<float>(machine_, sizes_, row).sum_error(0, weight_, 0));
}

class Champion::Proof final : public Stage {
  public:
    Proof(const Champion &champion, std::shared_ptr<const void> owner) : c_(champion), owner_(std::move(owner)) {
        for (const auto &one : c_.classes_) mean_points_ += double(one->count());
        mean_points_ /= double(c_.classes_.size());
    }

    const Machine &machine() const override { return c_.machine_; }
    Forms forms() const override { return {.narrow = true, .rough = true}; }
    // A block of each class, as far as there is room.
    int rows_at_once() const override {
        const ptrdiff_t classes = c_.machine_.rule.classes;
        return int(std::clamp<ptrdiff_t>(room / c_.machine_.features, 1, block_rows * classes));
    }
    bool shares_points() const override { return c_.tries_ == 1; }
    double work(ptrdiff_t rows) const override {
        const double d = double(c_.machine_.features + 16);
        return c_.guess_.work(rows) + double(rows) * mean_points_ * d;
    }
    std::unique_ptr<Pass> pass(int rows) const override;

  private:
    const Champion &c_;
    const std::shared_ptr<const void> owner_;
    double mean_points_ = 0;  // of a class
};

// Guesses, and proves or leaves open.
class Champion::ProofPass final : public Pass {
  public:
    ProofPass(const Champion &champion, int rows)
        : c_(champion),
          guesses_(c_.guess_, std::min(rows, block_rows)),
          pairs_(c_.classes_[0]->contender().machine(), std::min(rows, block_rows * 3 / 2)),
          guess_(size_t(rows)),
          order_(size_t(rows)),
          starts_(c_.classes_.size() + 1) {}

    void decide(const LaidOut &rows, Team &team, const Verdicts &verdicts) override {
        std::iota(order_.begin(), order_.begin() + rows.count(), 0);
        for (int from = 0; from < rows.count(); from += block_rows) {
            if (team.should_stop()) return;
            guesses_.of(rows, order_.data() + from, std::min(rows.count() - from, block_rows), guess_.data() + from);
        }
        std::fill_n(verdicts.evaluations, rows.count(), int32_t(c_.guess_.vectors()));
        for (int i = 0; i < c_.tries_; i++) {
            sort(rows.count());
            if (!prove_all(rows, team, verdicts)) return;
        }
    }

  private:
    // The rows that have a guess, by their guess: those of class k are order_[starts_[k]] to order_[starts_[k + 1]].
    void sort(int count) {
        std::fill(starts_.begin(), starts_.end(), 0);
        for (int r = 0; r < count; r++)
            if (guess_[r] != none) starts_[size_t(guess_[r]) + 1]++;
        std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
        for (int r = 0; r < count; r++)
            if (guess_[r] != none) order_[size_t(starts_[size_t(guess_[r])]++)] = r;
        std::copy_backward(starts_.begin(), starts_.end() - 1, starts_.end());  // each has moved to the next
        starts_[0] = 0;
    }

    // Class by class; false where the call is being given up.
    bool prove_all(const LaidOut &rows, Team &team, const Verdicts &verdicts) {
        for (size_t k = 0; k < c_.classes_.size(); k++) {
            // In parts of one size: a few rows take nearly as long as a block.
            const int from = starts_[k], count = starts_[k + 1] - from;
            const int parts = count == 0 ? 0 : std::max(1, (count + block_rows / 2) / block_rows);
            for (int p = 0; p < parts; p++) {
                const int first = from + count * p / parts, last = from + count * (p + 1) / parts;
                if (!prove(int(k), rows, first, last - first, team, verdicts)) return false;
            }
        }
        return true;
    }

    // Rows order_[from], ... whose guess is class k. What is not proved may have another guess from now on.
    bool prove(int k, const LaidOut &rows, int from, int count, Team &team, const Verdicts &verdicts) {
        const ClassPoints &one = *c_.classes_[size_t(k)];
        if (!pairs_.evaluate(one.sum(), rows, order_.data() + from, count, team)) return false;
        for (int r = 0; r < count; r++) {
            const int place = pairs_.place(r);
            const RowTraits &row = pairs_.row(r);
            const MiddleRadius found = pairs_.interval(r);
            const bool proved = one.contender().wins(found, row.reach) && !c_.may_overflow(row);
            verdicts.answers[place] = proved ? k : unsettled;
            verdicts.evaluations[place] += int32_t(one.count());
            guess_[place] = proved ? none : one.contender().beaten_by(found.middle);
        }
        return true;
    }

    const Champion &c_;
    ReducedSet::Guesses guesses_;
    BlockSums<float, true> pairs_;
    std::vector<int32_t> guess_;  // of each row, or none
    std::vector<int> order_, starts_;
};

std::unique_ptr<Pass> Champion::Proof::pass(int rows) const { return std::make_unique<ProofPass>(c_, rows); }

std::shared_ptr<const Stage> Champion::stage(std::shared_ptr<const void> owner) const {
    return std::make_shared<Proof>(*this, std::move(owner));
}

}  // namespace dormie
