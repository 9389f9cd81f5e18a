// The only file that knows Python: arrays in, arrays out, errors named, the GIL let go while tiles are at work.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <string>

#include "dense.hpp"
#include "dispatch.hpp"
#include "ops.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace dormie {

namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
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

class BoundDense {
  public:
    BoundDense(const nb::dict &kernel, const nb::dict &rule, Matrix points, Matrix weights, Vector bias, nb::object center,
               nb::object scale)
        : points_(points), weights_(weights), bias_(bias), center_(std::move(center)), scale_(std::move(scale)) {
        if (weights.shape(0) != points.shape(0) || bias.shape(0) != weights.shape(1))
            throw nb::value_error("points, weights and bias do not fit together");
        dense_ = std::make_unique<Dense>(Machine{
            {KernelKind(nb::cast<int>(kernel["kind"])), nb::cast<double>(kernel["gamma"]),
             nb::cast<double>(kernel["coef0"]), nb::cast<int>(kernel["degree"]), nb::cast<bool>(kernel["normalized"])},
            {RuleKind(nb::cast<int>(rule["kind"])), nb::cast<int>(rule["classes"]), nb::cast<bool>(rule["zero"]),
             nb::cast<bool>(rule["break_ties"]), nb::cast<bool>(rule["last_of_equal"])},
            ptrdiff_t(points.shape(0)), ptrdiff_t(points.shape(1)), ptrdiff_t(weights.shape(1)), points.data(),
            weights.data(), bias.data(), map_data(center_), map_data(scale_)});
    }

    auto outputs(const Rows &rows, int threads) const {
        double *out;
        auto array = new_array(out, rows.n, dense_->machine().outputs);
        work(rows, threads, [&](Team &team) { dense_->outputs(rows, team, out); });
        return array;
    }

    auto interval(const Rows &rows, int threads) const {
        double *middle, *radius;
        auto middles = new_array(middle, rows.n, dense_->machine().outputs);
        auto radii = new_array(radius, rows.n, dense_->machine().outputs);
        work(rows, threads, [&](Team &team) { dense_->interval(rows, team, middle, radius); });
        return nb::make_tuple(middles, radii);
    }

    auto decide(const Rows &rows, int threads) const {
        int32_t *answer;
        bool *refined;
        auto answers = new_array(answer, rows.n);
        auto refinements = new_array(refined, rows.n);
        work(rows, threads, [&](Team &team) { dense_->decide(rows, team, answer, refined); });
        return nb::make_tuple(answers, refinements);
    }

  private:
    const double *map_data(const nb::object &part) const {
        if (part.is_none()) return nullptr;
        auto values = nb::cast<Vector>(part);
        if (values.shape(0) != points_.shape(1)) throw nb::value_error("the input map does not fit the points");
        return values.data();
    }

    template <class Work> void work(const Rows &rows, int threads, const Work &work) const {
        if (rows.d != dense_->machine().features) throw nb::value_error("wrong number of columns");
        const double useful = dense_->work(rows.n) / work_per_thread;
        Team team(useful < 2 ? 1 : int(std::min<double>(threads, useful)), ctrl_c);
        try {
            nb::gil_scoped_release released;
            work(team);
        } catch (const Interrupted &) {
            throw nb::python_error();
        } catch (const NotFinite &) {
            raise_not_finite(rows);
        }
    }

    const Matrix points_, weights_;
    const Vector bias_;
    const nb::object center_, scale_;
    std::unique_ptr<Dense> dense_;
};

// Every method takes dense rows or the parts of a CSR matrix.
template <class Class, class Method> void bind_rows(Class &cls, const char *name, Method method) {
    cls.def(
        name, [method](const BoundDense &self, const AnyMatrix &rows, int threads) { return (self.*method)(*strided(rows), threads); },
        "rows"_a, "threads"_a);
    cls.def(
        name,
        [method](const BoundDense &self, const AnyVector &data, const AnyVector &indices, const AnyVector &indptr,
                 ptrdiff_t columns,
                 int threads) { return (self.*method)(*csr(data, indices, indptr, columns), threads); },
        "data"_a, "indices"_a, "indptr"_a, "columns"_a, "threads"_a);
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
    auto dense = nb::class_<BoundDense>(m, "Dense")
                     .def(nb::init<const nb::dict &, const nb::dict &, Matrix, Matrix, Vector, nb::object, nb::object>(),
                          "kernel"_a, "rule"_a, "points"_a, "weights"_a, "bias"_a, "center"_a.none(), "scale"_a.none());
    bind_rows(dense, "outputs", &BoundDense::outputs);
    bind_rows(dense, "interval", &BoundDense::interval);
    bind_rows(dense, "decide", &BoundDense::decide);
    m.def("exp2", &exp2_array<float>, "x"_a.noconvert());
    m.def("exp2", &exp2_array<double>, "x"_a.noconvert());
    m.def("peak_rate", &peak_rate);
    m.def("native_info", &native_info);
}
