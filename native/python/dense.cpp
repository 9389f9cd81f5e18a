// The dense stage, for Python.
#include "methods/dense.hpp"

#include "python/bind.hpp"

namespace dormie {

namespace {

class BoundDense {
  public:
    // Kernel evaluations of each row; one number if all have the same.
    using Evaluations = std::variant<int64_t, NewNumbers>;

    explicit BoundDense(std::shared_ptr<Kept> kept) : kept_(std::move(kept)), dense_(kept_->machine) {}

    void prepare() const {
        nb::gil_scoped_release released;
        dense_.prepare();
    }

    // The most roundings of one term: within its panel, then one for each panel.
    ptrdiff_t roundings() const { return 48 + kept_->machine.points_count / 64; }

    // The outputs, and the numbers of the rows that nothing is known of.
    std::tuple<NewOutputs, std::optional<NewNumbers>> outputs(const Rows &rows, int threads) const {
        double *out;
        auto array = new_array(out, rows.n, kept_->machine.outputs);
        std::vector<ptrdiff_t> lost;
        run(rows, threads, [&](Team &team) { lost = dense_.outputs(rows, team, out); });
        return {array, numbers(lost)};
    }

    template <class T> Intervals interval(const Rows &rows, int threads) const {
        double *middle, *radius;
        auto middles = new_array(middle, rows.n, kept_->machine.outputs);
        auto radii = new_array(radius, rows.n, kept_->machine.outputs);
        run(rows, threads, [&](Team &team) { dense_.interval<T>(rows, team, middle, radius); });
        return {middles, radii};
    }

    // Answers, kernel evaluations, and the numbers of the rows that are still open.
    std::tuple<AnswerArray, Evaluations, std::optional<NewNumbers>> decide(const Rows &rows, bool certified,
                                                                           int threads) const {
        Answers answers(kept_->machine, rows.n);
        Dense::Decided decided;
        run(rows, threads,
            [&](Team &team) { decided = dense_.decide(rows, certified, team, answers.numbers, answers.values); });
        return {answers.array(), evaluations(decided.passes), numbers(decided.open)};
    }

  private:
    template <class Work> void run(const Rows &rows, int threads, const Work &work) const {
        run_on(kept_->machine, rows, threads, dense_.work(rows.n), work);
    }

    Evaluations evaluations(const std::vector<uint8_t> &passes) const {
        const int64_t points = kept_->machine.points_count;
        if (passes.empty()) return points;
        int64_t *count;
        auto counts = new_array(count, passes.size());
        std::transform(passes.begin(), passes.end(), count, [&](uint8_t n) { return n * points; });
        return counts;
    }

    // None where there are none, the usual case: an array takes its time.
    static std::optional<NewNumbers> numbers(const std::vector<ptrdiff_t> &rows) {
        if (rows.empty()) return std::nullopt;
        int64_t *number;
        auto array = new_array(number, rows.size());
        std::copy(rows.begin(), rows.end(), number);
        return array;
    }

    const std::shared_ptr<Kept> kept_;
    const Dense dense_;
};

}  // namespace

void bind_dense(nb::module_ &m) {
    nb::class_<BoundDense> dense(m, "Dense", "The full sum of a machine, every term of every row.");
    dense.def(nb::init<std::shared_ptr<Kept>>(), "machine"_a);
    dense.def("prepare", &BoundDense::prepare, "Lays the points out now; the first call that needs them would.");
    dense.def_prop_ro("roundings", &BoundDense::roundings, "The most roundings of one term of the sum.");
    dense.def_prop_ro(
        "has_float32", [](const BoundDense &) { return true; }, "Whether `decide` can do without float64.");
    bind_rows(dense, "outputs", &BoundDense::outputs,
              "Outputs in float64, and the numbers of the rows whose values overflow (None if there are none).");
    bind_rows(dense, "interval", &BoundDense::interval<float>,
              "Outputs in float32, and radii that reach the real-number values.");
    bind_rows(dense, "interval64", &BoundDense::interval<double>,
              "Outputs in float64, and radii that reach the real-number values.");
    bind_rows(
        dense, "decide", &BoundDense::decide,
        "Answers, kernel evaluations (one number if all rows took the same), and the numbers of the rows that are "
        "still open (None if there are none).",
        "certified"_a);
}

}  // namespace dormie
