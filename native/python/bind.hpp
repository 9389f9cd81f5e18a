// What every binding shares: arrays in, arrays out, errors named, the GIL let go while tiles are at work.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/rules.hpp"
#include "core/threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace dormie {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using IndexMatrix = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using AnyVector = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// An array of A or of B: which one is asked when it is read.
template <class Array, class A, class B> struct EitherType {
    Array array;
};

// Arrays that are returned.
template <class T, size_t dimensions> using NewArray = nb::ndarray<nb::numpy, T, nb::ndim<dimensions>>;
using NewNumbers = NewArray<int64_t, 1>;
using NewFlags = NewArray<bool, 1>;
using NewOutputs = NewArray<double, 2>;

template <class T, class... Shape> NewArray<T, sizeof...(Shape)> new_array(T *&data, Shape... shape) {
    const size_t n = (size_t(shape) * ...);
    std::unique_ptr<T[]> made(new T[n ? n : 1]);
    nb::capsule owner(made.get(), [](void *p) noexcept { delete[] static_cast<T *>(p); });
    data = made.release();
    return {data, {size_t(shape)...}, owner};
}

// What a stage decides: answers (numbers of classes, or outputs where they are the answer), which rows are settled, and
// how many kernel evaluations each took.
using AnswerArray = std::variant<NewNumbers, NewOutputs>;
using Decisions = std::tuple<AnswerArray, NewFlags, NewNumbers>;
// Middles and radii, or low and high ends.
using Intervals = std::tuple<NewOutputs, NewOutputs>;

inline std::unique_ptr<Rows> strided(const AnyMatrix &x) {
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

inline std::unique_ptr<Rows> csr(const AnyVector &data, const AnyVector &indices, const AnyVector &indptr,
                                 ptrdiff_t d) {
    if (indptr.shape(0) < 1 || indices.shape(0) != data.shape(0) || indices.dtype() != indptr.dtype())
        throw nb::value_error("CSR rows: indices must be as many as data, and of the type of indptr");
    const bool wide = indices.dtype() == nb::dtype<int64_t>();
    if (!wide && indices.dtype() != nb::dtype<int32_t>()) throw nb::type_error("CSR indices must be int32 or int64");
    if (data.dtype() == nb::dtype<float>())
        return wide ? csr_of<float, int64_t>(data, indices, indptr, d)
                    : csr_of<float, int32_t>(data, indices, indptr, d);
    if (data.dtype() == nb::dtype<double>())
        return wide ? csr_of<double, int64_t>(data, indices, indptr, d)
                    : csr_of<double, int32_t>(data, indices, indptr, d);
    throw nb::type_error("rows must be float32 or float64");
}

// Checked rows as Python has them: an array, or a SciPy matrix in CSR form. Keeps the arrays alive.
class RowsArgument {
  public:
    explicit RowsArgument(const nb::object &rows) {
        if (nb::try_cast(rows, matrix_)) {
            rows_ = strided(matrix_);
            return;
        }
        if (!nb::hasattr(rows, "indptr")) throw nb::type_error("rows must be a matrix, or in CSR form");
        for (const char *part : {"data", "indices", "indptr"})
            if (!nb::try_cast(rows.attr(part), parts_.emplace_back()))
                throw nb::type_error("CSR rows: data, indices and indptr must be contiguous vectors");
        rows_ = csr(parts_[0], parts_[1], parts_[2], nb::cast<ptrdiff_t>(rows.attr("shape")[1]));
    }

    const Rows &operator*() const { return *rows_; }

  private:
    AnyMatrix matrix_;
    std::vector<AnyVector> parts_;
    std::unique_ptr<Rows> rows_;
};

inline bool ctrl_c() {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

// Names the first value that is not finite, whichever thread came upon one.
[[noreturn]] inline void raise_not_finite(const Rows &rows) {
    for (ptrdiff_t i = 0; i < rows.n; i++) try {
            rows.require_finite(i);
        } catch (const NotFinite &bad) {
            const std::string what = std::isnan(bad.value) ? "NaN" : "infinite";
            throw nb::value_error(("row " + std::to_string(bad.row) + ", column " + std::to_string(bad.column) +
                                   " is " + what + "; dormie needs finite rows: impute or drop such rows first")
                                      .c_str());
        }
    throw nb::value_error("rows changed while they were read");
}

// A multiply-add takes about 20 ps: below this many for each thread, starting another costs more than it saves.
inline constexpr double work_per_thread = 2e6;

// A machine whose arrays are kept alive.
class Kept {
  public:
    using Numbers = nb::typed<nb::dict, nb::str, nb::object>;

    Kept(const Numbers &kernel, const Numbers &rule, Matrix points, Matrix weights, Vector bias, Vector center,
         Vector scale, const Numbers &margin)
        : points_(points),
          weights_(weights),
          bias_(bias),
          center_(center),
          scale_(scale),
          constant_(nb::cast<Vector>(margin["constant"])),
          slope_(nb::cast<Vector>(margin["slope"])) {
        const size_t c = weights.shape(1);
        if (weights.shape(0) != points.shape(0) || bias.shape(0) != c || constant_.shape(0) != c ||
            slope_.shape(0) != c)
            throw nb::value_error("points, weights, bias and margins do not fit together");
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
            map_data(scale_),
            {constant_.data(), slope_.data(), nb::cast<double>(margin["gain"]), nb::cast<double>(margin["start"]),
             nb::cast<int>(margin["degree"])}};
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
    const Vector bias_, center_, scale_, constant_, slope_;  // the arrays themselves: Python's may have been converted
};

// The threads of a call that does not say how many: see backend.py.
inline std::atomic<int> default_threads = 1;

// Runs work(team) without the GIL, with as many threads as the multiply-adds are worth; threads 0: the default.
template <class Work>
void run_on(const Machine &machine, const Rows &rows, int threads, double multiply_adds, const Work &work) {
    if (rows.d != machine.features) throw nb::value_error("wrong number of columns");
    const double useful = multiply_adds / work_per_thread;
    if (threads < 1) threads = default_threads;
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
    Answers(const Machine &machine, ptrdiff_t n) : n_(n), numbers_(new_array(numbers, n)) {
        if (machine.rule.kind == RuleKind::value) values_ = new_array(values, n, machine.outputs);
    }

    AnswerArray array() const { return values ? AnswerArray(values_) : AnswerArray(numbers_); }

    NewFlags settled() const {
        bool *flag;
        auto array = new_array(flag, n_);
        for (ptrdiff_t i = 0; i < n_; i++) flag[i] = numbers[i] != unsettled;
        return array;
    }

    int64_t *numbers = nullptr;
    double *values = nullptr;

  private:
    const ptrdiff_t n_;
    const NewNumbers numbers_;
    NewOutputs values_;
};

// Every method takes rows, then its own arguments, which `names` are of, and last the number of threads.
template <class Bound, class Result, class... Args, class... Names>
void bind_rows(nb::class_<Bound> &cls, const char *name, Result (Bound::*method)(const Rows &, Args...) const,
               const char *words, const Names &...names) {
    cls.def(
        name,
        [method](const Bound &self, const nb::object &rows, Args... args) {
            return (self.*method)(*RowsArgument(rows), args...);
        },
        words, "rows"_a, names..., "threads"_a = 0);
}

// One for each stage, in a file of its own.
void bind_champion(nb::module_ &m);
void bind_dense(nb::module_ &m);
void bind_source_sum(nb::module_ &m);
void bind_fast_stopping(nb::module_ &m);
void bind_geometry(nb::module_ &m);
void bind_reduced_set(nb::module_ &m);
void bind_linear_filter(nb::module_ &m);
void bind_nearest(nb::module_ &m);
void bind_tree(nb::module_ &m);

}  // namespace dormie

namespace nanobind::detail {

inline constexpr auto numpy_name(float) { return const_name("numpy.typing.NDArray[numpy.float32]"); }
inline constexpr auto numpy_name(double) { return const_name("numpy.typing.NDArray[numpy.float64]"); }
inline constexpr auto numpy_name(int32_t) { return const_name("numpy.typing.NDArray[numpy.int32]"); }
inline constexpr auto numpy_name(int64_t) { return const_name("numpy.typing.NDArray[numpy.int64]"); }

// As the array itself, but with a signature that names the two types.
template <class Array, class A, class B> struct type_caster<dormie::EitherType<Array, A, B>> {
    using Either = dormie::EitherType<Array, A, B>;
    NB_TYPE_CASTER(Either, numpy_name(A()) + const_name(" | ") + numpy_name(B()))

    template <class Flags> bool from_python(handle from, Flags flags, cleanup_list *cleanup) noexcept {
        make_caster<Array> caster;
        if (!caster.from_python(from, flags, cleanup)) return false;
        value.array = caster.value;
        return true;
    }
};

}  // namespace nanobind::detail
