// The only file that knows Python: arrays in, arrays out, errors named, the GIL let go while tiles are at work.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <string>

#include "dense.hpp"
#include "dispatch.hpp"
#include "fast_stopping.hpp"
#include "geometry.hpp"
#include "linear_filter.hpp"
#include "nearest.hpp"
#include "ops.hpp"
#include "reduced_set.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace dormie {

namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using IndexMatrix = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T, class... Shape> auto new_array(T *&data, Shape... shape) {
    const size_t n = (size_t(shape) * ...);
    data = new T[n ? n : 1];
    nb::capsule owner(data, [](void *p) noexcept { delete[] static_cast<T *>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<sizeof...(Shape)>>(data, {size_t(shape)...}, owner);
}

std::unique_ptr<Rows> strided(const AnyMatrix &x) {
    const ptrdiff_t n = x.shape(0), d = x.shape(1), rs = x.stride(0), cs = x.stride(1);
    if (x.dtype() == nb::dtype<float>())
        return std::make_unique<StridedRows<float>>(static_cast<const float *>(x.data()), n, d, rs, cs);
    if (x.dtype() == nb::dtype<double>())
        return std::make_unique<StridedRows<double>>(static_cast<const double *>(x.data()), n, d, rs, cs);
    throw nb::type_error("rows must be float32 or float64");
}

template <class T, class I>
std::unique_ptr<Rows> csr_of(const AnyVector &data, const AnyVector &indices, const AnyVector &indptr, ptrdiff_t d) {
    return std::make_unique<CsrRows<T, I>>(static_cast<const T *>(data.data()), static_cast<const I *>(indices.data()),
                                           static_cast<const I *>(indptr.data()), ptrdiff_t(indptr.shape(0)) - 1, d,
                                           ptrdiff_t(data.shape(0)));
}

std::unique_ptr<Rows> csr(const AnyVector &data, const AnyVector &indices, const AnyVector &indptr, ptrdiff_t d) {
    if (indptr.shape(0) < 1 || indices.shape(0) != data.shape(0) || indices.dtype() != indptr.dtype())
        throw nb::value_error("CSR rows: indices must be as many as data, and of the type of indptr");
    const bool wide = indices.dtype() == nb::dtype<int64_t>();
    if (!wide && indices.dtype() != nb::dtype<int32_t>()) throw nb::type_error("CSR indices must be int32 or int64");
    if (data.dtype() == nb::dtype<float>())
        return wide ? csr_of<float, int64_t>(data, indices, indptr, d) : csr_of<float, int32_t>(data, indices, indptr, d);
    if (data.dtype() == nb::dtype<double>())
        return wide ? csr_of<double, int64_t>(data, indices, indptr, d)
                    : csr_of<double, int32_t>(data, indices, indptr, d);
    throw nb::type_error("rows must be float32 or float64");
}

bool ctrl_c() {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

// Names the first value that is not finite, whichever thread came upon one.
[[noreturn]] void raise_not_finite(const Rows &rows) {
    std::vector<double> row(rows.d);
    for (ptrdiff_t i = 0; i < rows.n; i++) try {
            rows.read(i, row.data());
        } catch (const NotFinite &bad) {
            const std::string what = std::isnan(bad.value) ? "NaN" : "infinite";
            throw nb::value_error(("row " + std::to_string(bad.row) + ", column " + std::to_string(bad.column) + " is " +
                                   what + "; dormie needs finite rows: impute or drop such rows first")
                                      .c_str());
        }
    throw nb::value_error("rows changed while they were read");
}

// A multiply-add takes about 20 ps: below this many for each thread, starting another costs more than it saves.
constexpr double work_per_thread = 2e6;

// A machine whose arrays are kept alive.
class Kept {
  public:
    Kept(const nb::dict &kernel, const nb::dict &rule, Matrix points, Matrix weights, Vector bias, Vector center,
         Vector scale)
        : points_(points), weights_(weights), bias_(bias), center_(center), scale_(scale) {
        if (weights.shape(0) != points.shape(0) || bias.shape(0) != weights.shape(1))
            throw nb::value_error("points, weights and bias do not fit together");
        if (center.is_valid() != scale.is_valid()) throw nb::value_error("the input map needs both center and scale");
        machine = {
            {KernelKind(nb::cast<int>(kernel["kind"])), nb::cast<double>(kernel["gamma"]),
             nb::cast<double>(kernel["coef0"]), nb::cast<int>(kernel["degree"]), nb::cast<bool>(kernel["normalized"])},
            {RuleKind(nb::cast<int>(rule["kind"])), nb::cast<int>(rule["classes"]), nb::cast<bool>(rule["zero"]),
             nb::cast<bool>(rule["break_ties"]), nb::cast<bool>(rule["last_of_equal"]),
             nb::cast<double>(rule["tolerance"])},
            ptrdiff_t(points.shape(0)),
            ptrdiff_t(points.shape(1)),
            ptrdiff_t(weights.shape(1)),
            points.data(),
            weights.data(),
            bias.data(),
            map_data(center_),
            map_data(scale_)};
    }

    Machine machine;

  private:
    // part: center or scale, not valid where Python passed None.
    const double *map_data(const Vector &part) const {
        if (!part.is_valid()) return nullptr;
        if (part.shape(0) != points_.shape(1)) throw nb::value_error("the input map does not fit the points");
        return part.data();
    }

    const Matrix points_, weights_;
    const Vector bias_, center_, scale_;  // the arrays themselves: Python's may have been converted
};

// Runs work(team) without the GIL, with as many threads as the multiply-adds are worth.
template <class Work>
void run_on(const Machine &machine, const Rows &rows, int threads, double multiply_adds, const Work &work) {
    if (rows.d != machine.features) throw nb::value_error("wrong number of columns");
    const double useful = multiply_adds / work_per_thread;
    Team team(useful < 2 ? 1 : std::max(1, int(std::min<double>(threads, useful))), ctrl_c);
    try {
        nb::gil_scoped_release released;
        work(team);
    } catch (const Interrupted &) {
        throw nb::python_error();
    } catch (const NotFinite &) {
        raise_not_finite(rows);
    }
}

// What a stage decides: a number for each row, and the outputs where they are the answer.
class Answers {
  public:
    Answers(const Machine &machine, ptrdiff_t n)
        : n_(n), numbers_(new_array(numbers, n)), is_value_(machine.rule.kind == RuleKind::value) {
        if (is_value_) values_ = nb::cast(new_array(values, n, machine.outputs));
    }

    nb::object array() const { return is_value_ ? values_ : nb::cast(numbers_); }

    auto settled() const {
        bool *known;
        auto array = new_array(known, n_);
        for (ptrdiff_t i = 0; i < n_; i++) known[i] = numbers[i] != unsettled;
        return array;
    }

    int64_t *numbers = nullptr;
    double *values = nullptr;

  private:
    const ptrdiff_t n_;
    const nb::ndarray<nb::numpy, int64_t, nb::ndim<1>> numbers_;
    const bool is_value_;
    nb::object values_;
};

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

    auto decide(const Rows &rows, int threads) const {
        Answers answers(kept_->machine, rows.n);
        std::vector<ptrdiff_t> refined;
        run(rows, threads, [&](Team &team) { refined = dense_.decide(rows, team, answers.numbers, answers.values); });
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

class BoundFastStopping {
  public:
    BoundFastStopping(std::shared_ptr<Kept> kept, bool nonnegative)
        : kept_(std::move(kept)), stopping_(kept_->machine, nonnegative) {}

    auto decide(const Rows &rows, int threads) const {
        int64_t *term;
        Answers answers(kept_->machine, rows.n);
        auto terms = new_array(term, rows.n);
        run_on(kept_->machine, rows, threads, stopping_.work(rows.n),
               [&](Team &team) { stopping_.decide(rows, team, answers.numbers, term, answers.values); });
        return nb::make_tuple(answers.array(), answers.settled(), terms);
    }

    auto interval(const Rows &rows, ptrdiff_t budget, int threads) const {
        double *low, *high;
        auto lows = new_array(low, rows.n, kept_->machine.outputs);
        auto highs = new_array(high, rows.n, kept_->machine.outputs);
        run_on(kept_->machine, rows, threads, stopping_.work(rows.n),
               [&](Team &team) { stopping_.interval(rows, budget, team, low, high); });
        return nb::make_tuple(lows, highs);
    }

  private:
    const std::shared_ptr<Kept> kept_;
    const FastStopping stopping_;
};

class BoundGeometry {
  public:
    BoundGeometry(std::shared_ptr<Kept> kept, Matrix points, Matrix factor, Matrix coordinates, Vector norms, Matrix rho,
                  Matrix coordinate_norms, Matrix weight_norms, Matrix misfit, Vector factor_error, Vector factor_norm)
        : kept_(std::move(kept)),
          matrices_{points, factor, coordinates, rho, coordinate_norms, weight_norms, misfit},
          vectors_{norms, factor_error, factor_norm},
          landmarks_(checked_landmarks()),
          geometry_(kept_->machine,
                    {landmarks_, points.data(), factor.data(), coordinates.data(), norms.data(), rho.data(),
                     coordinate_norms.data(), weight_norms.data(), misfit.data(), factor_error.data(),
                     factor_norm.data()}) {}

    auto decide(const Rows &rows, ptrdiff_t budget, int threads) const {
        int64_t *step;
        Answers answers(kept_->machine, rows.n);
        auto steps = new_array(step, rows.n);
        budget = check(budget);
        run_on(kept_->machine, rows, threads, geometry_.work(rows.n, budget),
               [&](Team &team) { geometry_.decide(rows, budget, team, answers.numbers, step, answers.values); });
        return nb::make_tuple(answers.array(), answers.settled(), steps);
    }

    auto interval(const Rows &rows, ptrdiff_t budget, int threads) const {
        double *middle, *radius;
        auto middles = new_array(middle, rows.n, kept_->machine.outputs);
        auto radii = new_array(radius, rows.n, kept_->machine.outputs);
        budget = check(budget);
        run_on(kept_->machine, rows, threads, geometry_.work(rows.n, budget),
               [&](Team &team) { geometry_.interval(rows, budget, team, middle, radius); });
        return nb::make_tuple(middles, radii);
    }

    const Geometry &geometry() const { return geometry_; }

  private:
    // How many there are; before anything reads the arrays, they are known to fit.
    ptrdiff_t checked_landmarks() const {
        const Matrix &points = matrices_[0], &factor = matrices_[1];
        const size_t k = points.shape(0), c = size_t(kept_->machine.outputs);
        bool fits = ptrdiff_t(points.shape(1)) == kept_->machine.features && factor.shape(0) == k && factor.shape(1) == k;
        for (size_t i = 2; i < matrices_.size(); i++)
            fits = fits && matrices_[i].shape(0) == k && matrices_[i].shape(1) == c;
        for (const Vector &v : vectors_) fits = fits && v.shape(0) == k;
        if (!fits || k == 0) throw nb::value_error("the landmarks' arrays do not fit together");
        return ptrdiff_t(k);
    }

    ptrdiff_t check(ptrdiff_t budget) const {
        if (budget < 1) throw nb::value_error("the budget must be at least 1");
        return std::min(budget, geometry_.landmarks());
    }

    const std::shared_ptr<Kept> kept_;
    const std::vector<Matrix> matrices_;
    const std::vector<Vector> vectors_;
    const ptrdiff_t landmarks_;
    const Geometry geometry_;
};

class BoundWalk {
  public:
    BoundWalk(std::shared_ptr<BoundGeometry> bound, const Vector &row) : bound_(std::move(bound)) {
        const Machine &machine = bound_->geometry().machine();
        const StridedRows<double> rows(row.data(), 1, ptrdiff_t(row.shape(0)), 0, 1);
        run_on(machine, rows, 1, 0, [&](Team &) { walk_ = std::make_unique<Geometry::Walk>(bound_->geometry(), rows); });
    }

    auto next() {
        const ptrdiff_t c = bound_->geometry().machine().outputs;
        std::vector<double> middle(tile_width<double> * c), radius(tile_width<double> * c);
        const int steps = walk_->next(middle.data(), radius.data());
        double *m, *r;
        auto middles = new_array(m, steps, c);
        auto radii = new_array(r, steps, c);
        std::copy_n(middle.data(), steps * c, m);
        std::copy_n(radius.data(), steps * c, r);
        return nb::make_tuple(middles, radii);
    }

  private:
    const std::shared_ptr<BoundGeometry> bound_;
    std::unique_ptr<Geometry::Walk> walk_;
};

class BoundReducedSet {
  public:
    BoundReducedSet(std::shared_ptr<Kept> kept, Matrix points, Counts sizes, Matrix weights, Matrix rho)
        : kept_(std::move(kept)),
          points_(points),
          weights_(weights),
          rho_(rho),
          sizes_(sizes.data(), sizes.data() + sizes.shape(0)),
          set_(kept_->machine, checked()) {}

    auto decide(const Rows &rows, int threads) const {
        int64_t *count;
        Answers answers(kept_->machine, rows.n);
        auto counts = new_array(count, rows.n);
        run_on(kept_->machine, rows, threads, set_.work(rows.n),
               [&](Team &team) { set_.decide(rows, team, answers.numbers, count, answers.values); });
        return nb::make_tuple(answers.array(), answers.settled(), counts);
    }

    auto interval(const Rows &rows, ptrdiff_t level, int threads) const {
        double *middle, *radius;
        auto middles = new_array(middle, rows.n, kept_->machine.outputs);
        auto radii = new_array(radius, rows.n, kept_->machine.outputs);
        if (level < 0 || level >= ptrdiff_t(sizes_.size())) throw nb::value_error("there is no such level");
        run_on(kept_->machine, rows, threads, set_.work(rows.n),
               [&](Team &team) { set_.interval(rows, level, team, middle, radius); });
        return nb::make_tuple(middles, radii);
    }

  private:
    // Before anything reads the arrays, they are known to fit.
    Vectors checked() const {
        const Machine &m = kept_->machine;
        const int64_t n = int64_t(points_.shape(0));
        int64_t before = 0, rows = 0;
        bool fits = !sizes_.empty() && ptrdiff_t(points_.shape(1)) == m.features;
        for (const int64_t size : sizes_) {
            fits = fits && size > before && size <= n && rows <= int64_t(weights_.shape(0));
            before = size;
            rows += fits ? size : 0;
        }
        fits = fits && before == n && rows == int64_t(weights_.shape(0)) && rho_.shape(0) == sizes_.size() &&
               ptrdiff_t(weights_.shape(1)) == m.outputs && ptrdiff_t(rho_.shape(1)) == m.outputs;
        if (!fits) throw nb::value_error("the arrays of the reduced set do not fit together");
        return {n, ptrdiff_t(sizes_.size()), points_.data(), sizes_.data(), weights_.data(), rho_.data()};
    }

    const std::shared_ptr<Kept> kept_;
    const Matrix points_, weights_, rho_;
    const std::vector<int64_t> sizes_;  // a copy: what was checked is what is used
    const ReducedSet set_;
};

class BoundLinearFilter {
  public:
    BoundLinearFilter(std::shared_ptr<Kept> kept, Matrix vectors, Vector bias)
        : kept_(std::move(kept)), vectors_(vectors), bias_(bias), filter_(kept_->machine, checked(), bias.data()) {}

    auto decide(const Rows &rows, Vector low, Vector high, int threads) const {
        const Machine &m = kept_->machine;
        if (ptrdiff_t(low.shape(0)) != m.outputs || ptrdiff_t(high.shape(0)) != m.outputs)
            throw nb::value_error("there must be a low and a high threshold for each output");
        Answers answers(m, rows.n);
        run_on(m, rows, threads, filter_.work(rows.n),
               [&](Team &team) { filter_.decide(rows, {low.data(), high.data()}, team, answers.numbers); });
        return nb::make_tuple(answers.array(), answers.settled());
    }

    auto outputs(const Rows &rows, int threads) const {
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
            ptrdiff_t(bias_.shape(0)) != m.outputs)
            throw nb::value_error("the arrays of the linear filter do not fit the machine");
        return vectors_.data();
    }

    const std::shared_ptr<Kept> kept_;
    const Matrix vectors_;
    const Vector bias_;
    const LinearFilter filter_;
};

class BoundNearest {
  public:
    // centers and orders: none (0 rows) for an order of each row's own.
    BoundNearest(std::shared_ptr<Kept> kept, Matrix basis, const Counts &steps, const Matrix &centers,
                 const IndexMatrix &orders)
        : kept_(std::move(kept)), steps_(steps.data(), steps.data() + steps.shape(0)) {
        const Machine &m = kept_->machine;
        const ptrdiff_t components = ptrdiff_t(basis.shape(0)), cells = ptrdiff_t(centers.shape(0));
        require(fits(basis, centers, orders));
        if (cells == 0) {
            by_query_ = std::make_shared<NearestByQuery>(m, basis.data(), components, steps_);
            nearest_ = by_query_;
        } else {
            nearest_ = std::make_shared<NearestByCell>(m, basis.data(), components, steps_, centers.data(), orders.data(),
                                                       cells);
        }
    }

    auto decide(const Rows &rows, Cube low, Cube high, int threads) const {
        int64_t *term;
        Answers answers(kept_->machine, rows.n);
        auto terms = new_array(term, rows.n);
        for (const Cube &part : {low, high})
            require(ptrdiff_t(part.shape(0)) == nearest_->steps() && ptrdiff_t(part.shape(1)) == nearest_->cells() &&
                    ptrdiff_t(part.shape(2)) == kept_->machine.outputs);
        run_on(kept_->machine, rows, threads, nearest_->work(rows.n), [&](Team &team) {
            nearest_->decide(rows, {low.data(), high.data()}, team, answers.numbers, term);
        });
        return nb::make_tuple(answers.array(), answers.settled(), terms);
    }

    auto sums(const Rows &rows, int threads) const {
        double *sum;
        int64_t *cell;
        auto sums = new_array(sum, rows.n, nearest_->steps(), kept_->machine.outputs);
        auto cells = new_array(cell, rows.n);
        run_on(kept_->machine, rows, threads, nearest_->work(rows.n),
               [&](Team &team) { nearest_->sums(rows, team, sum, cell); });
        return nb::make_tuple(sums, cells);
    }

    auto order(const Rows &rows, int threads) const {
        require(by_query_ != nullptr);
        int64_t *point;
        auto points = new_array(point, rows.n, steps_.back());
        run_on(kept_->machine, rows, threads, by_query_->work(rows.n),
               [&](Team &team) { by_query_->order(rows, team, point); });
        return points;
    }

  private:
    static void require(bool fits) {
        if (!fits) throw nb::value_error("the arrays of the nearest stage do not fit together");
    }

    // Before anything reads the arrays.
    bool fits(const Matrix &basis, const Matrix &centers, const IndexMatrix &orders) const {
        const Machine &m = kept_->machine;
        const size_t n = size_t(m.points_count), p = basis.shape(0);
        bool fits = !steps_.empty() && p >= 1 && p <= size_t(panel_width<float>) && n < (1u << 31) &&
                    ptrdiff_t(basis.shape(1)) == m.features && m.outputs >= 1 && m.rule.kind != RuleKind::value &&
                    centers.shape(0) == orders.shape(0) && centers.shape(1) == p;
        int64_t before = 0;
        for (const int64_t step : steps_) {
            fits = fits && step > before && step <= m.points_count;
            before = step;
        }
        fits = fits && int64_t(orders.shape(1)) == before;
        for (size_t i = 0; fits && i < orders.size(); i++)
            fits = orders.data()[i] >= 0 && orders.data()[i] < m.points_count;
        return fits;
    }

    const std::shared_ptr<Kept> kept_;
    const std::vector<int64_t> steps_;
    std::shared_ptr<const Nearest> nearest_;
    std::shared_ptr<const NearestByQuery> by_query_;
};

// Every method takes dense rows or the parts of a CSR matrix, and then its own arguments.
template <class Bound, class Result, class... Args>
void bind_rows(nb::class_<Bound> &cls, const char *name, Result (Bound::*method)(const Rows &, Args...) const) {
    cls.def(name, [method](const Bound &self, const AnyMatrix &rows, Args... args) {
        return (self.*method)(*strided(rows), args...);
    });
    cls.def(name, [method](const Bound &self, const AnyVector &data, const AnyVector &indices, const AnyVector &indptr,
                           ptrdiff_t columns,
                           Args... args) { return (self.*method)(*csr(data, indices, indptr, columns), args...); });
}

template <class T> auto exp2_array(nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu> x) {
    T *y;
    auto array = new_array(y, x.shape(0));
    ops<T>().exp2(x.data(), y, ptrdiff_t(x.shape(0)));
    return array;
}

// Multiply-adds a second of one thread with nothing to load, in float.
double peak_rate() {
    const auto start = std::chrono::steady_clock::now();
    const double flops = ops<float>().peak(2'000'000);
    return flops / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

nb::dict native_info() {
    nb::dict info;
    info["compiler"] = DORMIE_COMPILER;
    info["build_type"] = DORMIE_BUILD_TYPE;
    info["instruction_set"] = ops<float>().name;
    info["instruction_sets"] = supported_instruction_sets();
    return info;
}

}  // namespace

}  // namespace dormie

NB_MODULE(_native, m) {
    using namespace dormie;
    m.doc() = "Native core of dormie; see reference.py for what each routine computes.";
    nb::class_<Kept>(m, "Machine")
        .def(nb::init<const nb::dict &, const nb::dict &, Matrix, Matrix, Vector, Vector, Vector>(), "kernel"_a,
             "rule"_a, "points"_a, "weights"_a, "bias"_a, "center"_a.none(), "scale"_a.none());
    auto dense = nb::class_<BoundDense>(m, "Dense").def(nb::init<std::shared_ptr<Kept>>()).def("prepare", &BoundDense::prepare);
    bind_rows(dense, "outputs", &BoundDense::outputs);
    bind_rows(dense, "interval", &BoundDense::interval<float>);
    bind_rows(dense, "interval64", &BoundDense::interval<double>);
    bind_rows(dense, "decide", &BoundDense::decide);
    auto fast_stopping = nb::class_<BoundFastStopping>(m, "FastStopping").def(nb::init<std::shared_ptr<Kept>, bool>());
    bind_rows(fast_stopping, "decide", &BoundFastStopping::decide);
    bind_rows(fast_stopping, "interval", &BoundFastStopping::interval);
    auto geometry = nb::class_<BoundGeometry>(m, "Geometry")
                        .def(nb::init<std::shared_ptr<Kept>, Matrix, Matrix, Matrix, Vector, Matrix, Matrix, Matrix,
                                      Matrix, Vector, Vector>());
    bind_rows(geometry, "decide", &BoundGeometry::decide);
    bind_rows(geometry, "interval", &BoundGeometry::interval);
    nb::class_<BoundWalk>(m, "Walk")
        .def(nb::init<std::shared_ptr<BoundGeometry>, const Vector &>())
        .def("next", &BoundWalk::next);
    auto reduced_set = nb::class_<BoundReducedSet>(m, "ReducedSet")
                           .def(nb::init<std::shared_ptr<Kept>, Matrix, Counts, Matrix, Matrix>());
    bind_rows(reduced_set, "decide", &BoundReducedSet::decide);
    bind_rows(reduced_set, "interval", &BoundReducedSet::interval);
    auto linear_filter =
        nb::class_<BoundLinearFilter>(m, "LinearFilter").def(nb::init<std::shared_ptr<Kept>, Matrix, Vector>());
    bind_rows(linear_filter, "decide", &BoundLinearFilter::decide);
    bind_rows(linear_filter, "outputs", &BoundLinearFilter::outputs);
    auto nearest = nb::class_<BoundNearest>(m, "Nearest")
                       .def(nb::init<std::shared_ptr<Kept>, Matrix, const Counts &, const Matrix &, const IndexMatrix &>());
    bind_rows(nearest, "decide", &BoundNearest::decide);
    bind_rows(nearest, "sums", &BoundNearest::sums);
    bind_rows(nearest, "order", &BoundNearest::order);
    m.def("exp2", &exp2_array<float>, "x"_a.noconvert());
    m.def("exp2", &exp2_array<double>, "x"_a.noconvert());
    m.def("peak_rate", &peak_rate);
    m.def("native_info", &native_info);
}
