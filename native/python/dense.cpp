// The dense stage, for Python.
#include "../dense.hpp"

#include "bind.hpp"

namespace dormie {

namespace {

class BoundDense {
  public:
    explicit BoundDense(std::shared_ptr<Kept> kept) : kept_(std::move(kept)), dense_(kept_->machine) {}

    void prepare() const {
        nb::gil_scoped_release released;
        dense_.prepare();
    }

    auto outputs(const Rows &rows, int threads) const {
        double *out;
        auto array = new_array(out, rows.n, kept_->machine.outputs);
        run(rows, threads, [&](Team &team) { dense_.outputs(rows, team, out); });
        return array;
    }

    template <class T> auto interval(const Rows &rows, int threads) const {
        double *middle, *radius;
        auto middles = new_array(middle, rows.n, kept_->machine.outputs);
        auto radii = new_array(radius, rows.n, kept_->machine.outputs);
        run(rows, threads, [&](Team &team) { dense_.interval<T>(rows, team, middle, radius); });
        return nb::make_tuple(middles, radii);
    }

    auto decide(const Rows &rows, bool certified, int threads) const {
        Answers answers(kept_->machine, rows.n);
        std::vector<ptrdiff_t> refined;
        run(rows, threads,
            [&](Team &team) { refined = dense_.decide(rows, certified, team, answers.numbers, answers.values); });
        return nb::make_tuple(answers.array(), evaluations(rows.n, refined));
    }

  private:
    template <class Work> void run(const Rows &rows, int threads, const Work &work) const {
        run_on(kept_->machine, rows, threads, dense_.work(rows.n), work);
    }

    // Kernel evaluations of each row: twice the points where double was needed too; one number if none did.
    nb::object evaluations(ptrdiff_t n, const std::vector<ptrdiff_t> &refined) const {
        const ptrdiff_t points = kept_->machine.points_count;
        if (refined.empty()) return nb::cast(points);
        int64_t *count;
        auto counts = new_array(count, n);
        std::fill_n(count, n, int64_t(points));
        for (const ptrdiff_t i : refined) count[i] = 2 * points;
        return nb::cast(counts);
    }

    const std::shared_ptr<Kept> kept_;
    const Dense dense_;
};

}  // namespace

void bind_dense(nb::module_ &m) {
    auto dense = nb::class_<BoundDense>(m, "Dense").def(nb::init<std::shared_ptr<Kept>>()).def("prepare", &BoundDense::prepare);
    bind_rows(dense, "outputs", &BoundDense::outputs);
    bind_rows(dense, "interval", &BoundDense::interval<float>);
    bind_rows(dense, "interval64", &BoundDense::interval<double>);
    bind_rows(dense, "decide", &BoundDense::decide);
}

}  // namespace dormie
