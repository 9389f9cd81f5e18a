// The full sum, for Python.
#include "methods/dense.hpp"

#include "core/cascade.hpp"
#include "python/bind.hpp"

namespace dormie {

namespace {

class BoundDense {
  public:
    explicit BoundDense(std::shared_ptr<Kept> kept) : kept_(std::move(kept)), dense_(kept_->machine) {}

    void prepare() const {
        nb::gil_scoped_release released;
        dense_.prepare();
    }

    // The most roundings of one term: within its panel, then one for each panel.
    ptrdiff_t roundings() const { return 48 + kept_->machine.points_count / 64; }

    // How rows are decided: certified; or by float alone; or by their outputs in double.
    static BoundStage certified_stage(const std::shared_ptr<BoundDense> &self) {
        return {self->dense_.certified_stages(self)};
    }
    static BoundStage float32_stage(const std::shared_ptr<BoundDense> &self) {
        return {self->dense_.float_stages(self)};
    }
    static BoundStage outputs_stage(const std::shared_ptr<BoundDense> &self) {
        return {self->dense_.output_stages(self)};
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
        run_on(kept_->machine, rows, threads, dense_.work(rows.n),
               [&](Team &team) { dense_.interval<T>(rows, team, middle, radius); });
        return {middles, radii};
    }

  private:
    const Cascade &in_double() const {
        std::call_once(once_, [&] {
            std::vector<Cascade::Step> steps;
            for (const auto &stage : dense_.output_stages(nullptr)) steps.push_back({stage, 0});
            in_double_ = std::make_unique<Cascade>(std::move(steps));
        });
        return *in_double_;
    }

    const std::shared_ptr<Kept> kept_;
    const Dense dense_;
    mutable std::once_flag once_;
    mutable std::unique_ptr<Cascade> in_double_;
};

}  // namespace

void bind_dense(nb::module_ &m) {
    nb::class_<BoundDense> dense(m, "Dense", "The full sum of a machine, every term of every row.");
    dense.def(nb::init<std::shared_ptr<Kept>>(), "machine"_a);
    dense.def("prepare", &BoundDense::prepare, "Lays the points out now; the first call that needs them would.");
    dense.def_prop_ro("roundings", &BoundDense::roundings, "The most roundings of one term of the sum.");
    dense.def("certified_stage", &BoundDense::certified_stage,
              "The stage that decides all rows but those within rounding of the decision boundary.");
    dense.def("float32_stage", &BoundDense::float32_stage, "The stage that decides all rows by sums in float32.");
    dense.def("outputs_stage", &BoundDense::outputs_stage,
              "The stage whose answers are the outputs in float64, of rows whose numbers stay in range.");
    bind_rows(dense, "outputs", &BoundDense::outputs,
              "Outputs in float64, and the numbers of the rows whose values overflow (None if there are none).");
    bind_rows(dense, "interval", &BoundDense::interval<float>,
              "Outputs in float32, and radii that reach the real-number values.");
    bind_rows(dense, "interval64", &BoundDense::interval<double>,
              "Outputs in float64, and radii that reach the real-number values.");
}

}  // namespace dormie
