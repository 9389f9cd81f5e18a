// The full sum over dense points and over sparse ones, for Python.
#include "methods/dense.hpp"

#include "core/cascade.hpp"
#include "methods/sparse_sum.hpp"
#include "python/bind.hpp"

namespace dormie {

namespace {

// FullSum: Dense or SparseSum; KeptMachine: what keeps the arrays of its machine.
template <class FullSum, class KeptMachine> class BoundFullSum {
  public:
    explicit BoundFullSum(std::shared_ptr<KeptMachine> kept) : kept_(std::move(kept)), sum_(kept_->machine) {}

    void prepare() const {
        nb::gil_scoped_release released;
        sum_.prepare();
    }

    // The most roundings of one term: within its panel, then one for each panel.
    ptrdiff_t roundings() const { return 48 + kept_->machine.points_count / 64; }

    // How rows are decided: certified; or by float alone; or by their outputs in double.
    static BoundStage certified_stage(const std::shared_ptr<BoundFullSum> &self) {
        return {self->sum_.certified_stages(self)};
    }
    static BoundStage float32_stage(const std::shared_ptr<BoundFullSum> &self, bool outputs) {
        return {self->sum_.float_stages(self, outputs)};
    }
    static BoundStage outputs_stage(const std::shared_ptr<BoundFullSum> &self) {
        return {self->sum_.output_stages(self)};
    }

    // The outputs, and the numbers of the rows that nothing is known of: their numbers leave the range of doubles.
    std::tuple<NewOutputs, std::optional<NewNumbers>> outputs(const Rows &rows, int threads) const {
        Results results;
        std::vector<ptrdiff_t> lost;
        auto array = new_array(results.values, rows.n, kept_->machine.outputs);
        run_on(kept_->machine, rows, threads, [&](Team &team) { lost = in_double().run(rows, team, results); });
        return {array, numbers_of(lost)};
    }

    template <class T> Intervals interval(const Rows &rows, int threads) const {
        double *middle, *radius;
        auto middles = new_array(middle, rows.n, kept_->machine.outputs);
        auto radii = new_array(radius, rows.n, kept_->machine.outputs);
        run_on(kept_->machine, rows, threads, sum_.work(rows.n),
               [&](Team &team) { sum_.template interval<T>(rows, team, middle, radius); });
        return {middles, radii};
    }

  private:
    const Cascade &in_double() const {
        std::call_once(once_, [&] {
            std::vector<Cascade::Step> steps;
            for (const auto &stage : sum_.output_stages(nullptr)) steps.push_back({stage, 0});
            in_double_ = std::make_unique<Cascade>(std::move(steps));
        });
        return *in_double_;
    }

    const std::shared_ptr<KeptMachine> kept_;
    const FullSum sum_;
    mutable std::once_flag once_;
    mutable std::unique_ptr<Cascade> in_double_;
};

template <class FullSum, class KeptMachine> void bind_full_sum(nb::module_ &m, const char *name, const char *words) {
    using Bound = BoundFullSum<FullSum, KeptMachine>;
    nb::class_<Bound> sum(m, name, words);
    sum.def(nb::init<std::shared_ptr<KeptMachine>>(), "machine"_a);
    sum.def("prepare", &Bound::prepare, "Lays the points out now; the first call that needs them would.");
    sum.def_prop_ro("roundings", &Bound::roundings, "The most roundings of one term of the sum.");
    sum.def("certified_stage", &Bound::certified_stage,
            "The stage that decides all rows but those within rounding of the decision boundary.");
    sum.def("float32_stage", &Bound::float32_stage, "outputs"_a,
            "The stage that decides all rows by sums in float32. outputs: whether these are the answers, of rows whose "
            "numbers stay in range.");
    sum.def("outputs_stage", &Bound::outputs_stage,
            "The stage whose answers are the outputs in float64, of rows whose numbers stay in range.");
    bind_rows(sum, "outputs", &Bound::outputs,
              "Outputs in float64, and the numbers of the rows whose values overflow (None if there are none).");
    bind_rows(sum, "interval", &Bound::template interval<float>,
              "Outputs in float32, and radii that reach the real-number values.");
    bind_rows(sum, "interval64", &Bound::template interval<double>,
              "Outputs in float64, and radii that reach the real-number values.");
}

}  // namespace

void bind_dense(nb::module_ &m) {
    bind_full_sum<Dense, Kept>(m, "Dense", "The full sum of a machine, every term of every row.");
    bind_full_sum<SparseSum, KeptSparse>(m, "SparseSum", "The same of a machine with sparse points.");
}

}  // namespace dormie
