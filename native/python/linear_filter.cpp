// The linear_filter stage, for Python.
#include "methods/linear_filter.hpp"

#include "python/bind.hpp"

namespace dormie {

namespace {

class BoundLinearFilter {
  public:
    BoundLinearFilter(std::shared_ptr<Kept> kept, Matrix vectors, Vector bias)
        : kept_(std::move(kept)), vectors_(vectors), bias_(bias), filter_(kept_->machine, checked(), bias.data()) {}

    std::tuple<AnswerArray, NewFlags> decide(const Rows &rows, Vector low, Vector high, int threads) const {
        const Machine &m = kept_->machine;
        if (ptrdiff_t(low.shape(0)) != m.outputs || ptrdiff_t(high.shape(0)) != m.outputs)
            throw nb::value_error("there must be a low and a high threshold for each output");
        Answers answers(m, rows.n);
        run_on(m, rows, threads, filter_.work(rows.n),
               [&](Team &team) { filter_.decide(rows, {low.data(), high.data()}, team, answers.numbers); });
        return {answers.array(), answers.settled()};
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
    bind_rows(linear_filter, "decide", &BoundLinearFilter::decide, "Answers, and whether each row is settled.", "low"_a,
              "high"_a);
    bind_rows(linear_filter, "outputs", &BoundLinearFilter::outputs, "Outputs of the linear machine.");
}

}  // namespace dormie
