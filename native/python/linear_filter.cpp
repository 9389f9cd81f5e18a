// The linear_filter stage, for Python.
#include "methods/linear_filter.hpp"

#include "python/bind.hpp"

namespace dormie {

namespace {

class BoundLinearFilter {
  public:
    BoundLinearFilter(std::shared_ptr<Kept> kept, Matrix vectors, Vector bias)
        : kept_(std::move(kept)), vectors_(vectors), bias_(bias), filter_(kept_->machine, checked(), bias.data()) {}

    // low, high: of each output.
    static BoundStage stage(const std::shared_ptr<BoundLinearFilter> &self, Vector low, Vector high) {
        const Machine &m = self->kept_->machine;
        if (ptrdiff_t(low.shape(0)) != m.outputs || ptrdiff_t(high.shape(0)) != m.outputs)
            throw nb::value_error("there must be a low and a high threshold for each output");
        return {{self->filter_.stage({low.data(), high.data()}, keeping(self, low, high))}};
    }

    NewOutputs outputs(const Rows &rows, int threads) const {
        double *out;
        auto array = new_array(out, rows.n, kept_->machine.outputs);
        run_on(kept_->machine, rows, threads, filter_.work(rows.n),
               [&](Team &team) { filter_.outputs(rows, team, out); });
        return array;
    }

  private:
    const double *checked() const {
        const Machine &m = kept_->machine;
        if (ptrdiff_t(vectors_.shape(0)) != m.outputs || ptrdiff_t(vectors_.shape(1)) != m.features ||
            ptrdiff_t(bias_.shape(0)) != m.outputs || m.rule.kind == RuleKind::value)
            throw nb::value_error("the arrays of the linear filter do not fit the machine");
        return vectors_.data();
    }

    const std::shared_ptr<Kept> kept_;
    const Matrix vectors_;
    const Vector bias_;
    const LinearFilter filter_;
};

}  // namespace

void bind_linear_filter(nb::module_ &m) {
    nb::class_<BoundLinearFilter> linear_filter(m, "LinearFilter",
                                                "One vector per output, and thresholds (DeCoste & Mazzoni 2003).");
    linear_filter.def(nb::init<std::shared_ptr<Kept>, Matrix, Vector>(), "machine"_a, "vectors"_a, "bias"_a);
    linear_filter.def("stage", &BoundLinearFilter::stage, "low"_a, "high"_a, "The stage that decides rows.");
    bind_rows(linear_filter, "outputs", &BoundLinearFilter::outputs, "Outputs of the linear machine.");
}

}  // namespace dormie
