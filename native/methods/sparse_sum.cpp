#include "methods/sparse_sum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/blocks.hpp"
#include "core/interval.hpp"
#include "core/rounding.hpp"
#include "core/rules.hpp"
#include "methods/full_sum.hpp"
#include "tiles/panel.hpp"

namespace dormie {

namespace {

constexpr int block_rows = 128;
constexpr Forms listed = {false, false, true};
constexpr double kernel_value_work = 8;  // multiply-adds that take as long as a kernel value and its weight

// The sums of one row, panel after panel; with `radii`, what rounding may have done to each.
template <class T, bool radii> class RowSums {
  public:
    RowSums(const Machine &machine, const InvertedIndex<T> &index)
        : m_(machine),
          index_(index),
          values_(Aligned<T>::unwritten(size_t(index.panels * panel_width<T>))),
          errors_(panel_width<T>),
          sums_(size_t(sums_width(machine))) {}

    MiddleRadius of(const SparseVector &x, const RowTraits &row) {
        std::fill(sums_.begin(), sums_.end(), 0.0);
        index_.products(x, found_, values_.get());
        for (ptrdiff_t p = 0; p < index_.panels; p++) add_panel(p, row);
        for (ptrdiff_t o = 0; o < m_.outputs; o++) {
            sums_[size_t(o)] += m_.bias[o];
            sums_[size_t(m_.outputs + o)] += Rounding<T>::bias_error(m_.bias[o]);
        }
        return {sums_.data(), sums_.data() + m_.outputs};
    }

  private:
    void add_panel(ptrdiff_t p, const RowTraits &row) {
        const int lanes = index_.lanes_of(p);
        const Rounding<T> rounding(m_, index_.panel_sizes[size_t(p)], row, index_.longest);
        T *values = values_.get() + p * panel_width<T>;
        T *errors = radii && own_error_sizes(m_) ? errors_.get() : nullptr;
        evaluate_row<T>(m_, row, errors ? rounding.slack() : T(0), index_.lane_offset.get() + p * panel_width<T>, lanes,
                        values, errors);
        weigh_row<T, radii>(m_, rounding, index_.panel_weights[size_t(p)].all(), lanes, values, errors, sums_.data());
    }

    const Machine &m_;
    const InvertedIndex<T> &index_;
    Aligned<T> values_, errors_;
    typename InvertedIndex<T>::Found found_;
    std::vector<double> sums_;
};

class SparseStage : public Stage {
  public:
    SparseStage(std::shared_ptr<const void> owner, const SparseSum &sum) : owner_(std::move(owner)), sum_(sum) {}

    const Machine &machine() const override { return sum_.machine(); }
    Forms forms() const override { return listed; }
    int rows_at_once() const override { return block_rows; }
    double work(ptrdiff_t rows) const override { return sum_.work(rows); }

  protected:
    const std::shared_ptr<const void> owner_;
    const SparseSum &sum_;
};

// Passes of a stage over one row after the other: `judge` turns the sums of a row into a verdict.
template <class T, bool radii, class Verdict> class RowByRow final : public Pass {
  public:
    RowByRow(const SparseSum &sum, Verdict verdict)
        : m_(sum.machine()), sums_(m_, sum.index<T>()), verdict_(std::move(verdict)) {}

    void decide(const LaidOut &rows, Team &team, const Verdicts &verdicts) override {
        std::fill_n(verdicts.evaluations, rows.count(), int32_t(m_.points_count));
        for (int r = 0; r < rows.count(); r++) {
            if (r % ask_every == 0 && team.should_stop()) return;
            verdict_(r, rows.traits(r), sums_.of(rows.nonzeros(r), rows.traits(r)), verdicts);
        }
    }

  private:
    static constexpr int ask_every = 8;

    const Machine &m_;
    RowSums<T, radii> sums_;
    Verdict verdict_;
};

template <class T, bool radii, class Verdict> std::unique_ptr<Pass> row_by_row(const SparseSum &sum, Verdict verdict) {
    return std::make_unique<RowByRow<T, radii, Verdict>>(sum, std::move(verdict));
}

// By intervals that reach the real-number outputs, at the margin of the source's own rounding.
template <class T> class CertifiedSparseSum final : public SparseStage {
  public:
    using SparseStage::SparseStage;
    std::unique_ptr<Pass> pass(int) const override {
        const Machine &m = sum_.machine();
        return row_by_row<T, true>(
            sum_, [&m, judge = Judge(m.rule, m.outputs)](int r, const RowTraits &row, const MiddleRadius &found,
                                                         const Verdicts &verdicts) mutable {
                verdicts.answers[r] = judge.settle(found, m.margin, row.reach);
                verdicts.keep(r, found.middle, m.outputs);
            });
    }
};

// By the sum in float alone. Outputs that are asked for stay open where they leave the range of floats.
class FloatSparseSum final : public SparseStage {
  public:
    FloatSparseSum(std::shared_ptr<const void> owner, const SparseSum &sum, bool outputs)
        : SparseStage(std::move(owner), sum), machine_(outputs ? sum.values_machine() : sum.machine()) {}

    const Machine &machine() const override { return machine_; }
    std::unique_ptr<Pass> pass(int) const override {
        const Machine &m = machine_;
        return row_by_row<float, false>(
            sum_, [&m, judge = Judge(m.rule, m.outputs)](int r, const RowTraits &, const MiddleRadius &found,
                                                         const Verdicts &verdicts) mutable {
                verdicts.answers[r] = judge.answer(found.middle);
                verdicts.keep(r, found.middle, m.outputs);
            });
    }

  private:
    const Machine &machine_;
};

// The outputs in double, unless products lose too much, or numbers leave the range of doubles: those rows stay open.
class OutputsSparseSum final : public SparseStage {
  public:
    using SparseStage::SparseStage;
    const Machine &machine() const override { return sum_.values_machine(); }
    std::unique_ptr<Pass> pass(int) const override {
        const SparseSum &sum = sum_;
        return row_by_row<double, false>(
            sum, [&sum](int r, const RowTraits &row, const MiddleRadius &found, const Verdicts &verdicts) {
                verdicts.keep(r, found.middle, sum.machine().outputs);
                verdicts.answers[r] = sum.cancels(row) ? unsettled : 0;
            });
    }
};

}  // namespace

SparseSum::SparseSum(const Machine &machine) : machine_(machine), values_(with_values(machine)) {}

template <class T> const InvertedIndex<T> &SparseSum::index() const {
    auto made = [&](auto &made) -> const auto & {
        std::call_once(made.once, [&] { made.index = std::make_unique<InvertedIndex<T>>(machine_); });
        return *made.index;
    };
    if constexpr (std::is_same_v<T, float>)
        return made(float_);
    else
        return made(double_);
}

void SparseSum::prepare() const {
    index<float>();
    index<double>();
}

double SparseSum::work(ptrdiff_t n) const {
    const double values = double(machine_.points_count) * (kernel_value_work + double(machine_.outputs));
    return double(n) * (values + 20 * index<float>().met + 1000);
}

std::vector<std::shared_ptr<const Stage>> SparseSum::certified_stages(std::shared_ptr<const void> owner) const {
    std::vector<std::shared_ptr<const Stage>> stages;
    if (!points_cancel<float>(machine_, index<float>(), index<float>().longest))
        stages.push_back(std::make_shared<CertifiedSparseSum<float>>(owner, *this));
    stages.push_back(std::make_shared<CertifiedSparseSum<double>>(owner, *this));
    return stages;
}

std::vector<std::shared_ptr<const Stage>> SparseSum::float_stages(std::shared_ptr<const void> owner,
                                                                  bool outputs) const {
    return {std::make_shared<FloatSparseSum>(owner, *this, outputs)};
}

std::vector<std::shared_ptr<const Stage>> SparseSum::output_stages(std::shared_ptr<const void> owner) const {
    return {std::make_shared<OutputsSparseSum>(owner, *this)};
}

bool SparseSum::cancels(const RowTraits &row) const {
    const InvertedIndex<double> &points = index<double>();
    return products_cancel(machine_, Rounding<double>(machine_, points.sizes, row, points.longest));
}

template <class T> void SparseSum::interval(const Rows &rows, Team &team, double *middle, double *radius) const {
    const ptrdiff_t c = machine_.outputs;
    auto make = [&](int) { return std::make_unique<RowSums<T, true>>(machine_, index<T>()); };
    each_block(machine_, listed, rows, block_rows, team, make, [&](const LaidOut &block, RowSums<T, true> &sums) {
        for (int r = 0; r < block.count(); r++) {
            const MiddleRadius found = sums.of(block.nonzeros(r), block.traits(r));
            const bool poor = std::is_same_v<T, double> && cancels(block.traits(r));
            for (ptrdiff_t o = 0; o < c; o++) {
                const ptrdiff_t at = block.number(r) * c + o;
                middle[at] = found.middle[o];
                radius[at] = poor ? std::numeric_limits<double>::infinity() : found.radius[o];
                forget_unless_finite(middle[at], radius[at]);
            }
        }
    });
}
template void SparseSum::interval<float>(const Rows &, Team &, double *, double *) const;
template void SparseSum::interval<double>(const Rows &, Team &, double *, double *) const;

}  // namespace dormie
