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
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "core/laid_out.hpp"
#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/rules.hpp"
#include "core/stage.hpp"
#include "core/team.hpp"
#include "python/array_view.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace dormie {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Columns = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using IndexMatrix = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
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

// Middles and radii, or low and high ends.
using Intervals = std::tuple<NewOutputs, NewOutputs>;

// The numbers of some rows; None where there are none, the usual case: an array takes its time.
inline std::optional<NewNumbers> numbers_of(const std::vector<ptrdiff_t> &rows) {
    if (rows.empty()) return std::nullopt;
    int64_t *number;
    auto array = new_array(number, rows.size());
    std::copy(rows.begin(), rows.end(), number);
    return array;
}

// Checked rows as Python has them: an array, or a SciPy matrix in CSR form. Keeps the arrays alive.
class RowsArgument {
  public:
    RowsArgument() = default;
    explicit RowsArgument(nb::handle rows) {
        if (!take_array(rows) && !take_csr(rows)) throw nb::type_error("rows must be a matrix, or in CSR form");
    }

    const Rows &operator*() const { return *rows_; }
    const Rows *operator->() const { return rows_.get(); }

    // False, where it is no array that can be read as it is.
    bool take_array(nb::handle rows) {
        if (!matrix_.view(rows)) return false;
        rows_ = strided(matrix_);
        return true;
    }

    // False, where it is no matrix in CSR form.
    bool take_csr(nb::handle rows) {
        if (!nb::hasattr(rows, "indptr")) return false;
        const char *names[] = {"data", "indices", "indptr"};
        for (int i = 0; i < 3; i++)
            if (!parts_[i].view(rows.attr(names[i])) || !parts_[i].is_vector())
                throw nb::type_error("CSR rows: data, indices and indptr must be contiguous vectors");
        const nb::object shape = rows.attr("shape");
        rows_ = csr(parts_[0], parts_[1], parts_[2], nb::cast<ptrdiff_t>(shape[1]));
        if (nb::cast<ptrdiff_t>(shape[0]) != rows_->n)
            throw nb::value_error("CSR rows: the shape and indptr do not say the same number of rows");
        return true;
    }

  private:
    template <class Number> static std::unique_ptr<Rows> strided_of(const ArrayView &x) {
        return std::make_unique<StridedRows<Number>>(static_cast<const Number *>(x.data()), x.shape(0), x.shape(1),
                                                     x.step(0), x.step(1));
    }

    static std::unique_ptr<Rows> strided(const ArrayView &x) {
        if (x.dimensions() != 2) throw nb::type_error("rows must be a matrix, or in CSR form");
        if (x.is<double>()) return strided_of<double>(x);
        if (x.is<float>()) return strided_of<float>(x);
        if (x.is<uint8_t>()) return strided_of<uint8_t>(x);
        if (x.is<uint16_t>()) return strided_of<uint16_t>(x);
        if (x.is<int8_t>()) return strided_of<int8_t>(x);
        if (x.is<int16_t>()) return strided_of<int16_t>(x);
        if (x.is<int32_t>()) return strided_of<int32_t>(x);
        if (x.is<Half>()) return strided_of<Half>(x);
        if (x.is<Flag>()) return strided_of<Flag>(x);
        throw nb::type_error("rows must be float64, float32, float16, int32, int16, uint16, int8, uint8 or bool");
    }

    template <class T, class I>
    static std::unique_ptr<Rows> csr_of(const ArrayView &data, const ArrayView &indices, const ArrayView &indptr,
                                        ptrdiff_t d) {
        if (*static_cast<const I *>(indptr.data()) != 0) throw nb::value_error("CSR rows: indptr must start at 0");
        return std::make_unique<CsrRows<T, I>>(
            static_cast<const T *>(data.data()), static_cast<const I *>(indices.data()),
            static_cast<const I *>(indptr.data()), indptr.shape(0) - 1, d, data.shape(0));
    }

    static std::unique_ptr<Rows> csr(const ArrayView &data, const ArrayView &indices, const ArrayView &indptr,
                                     ptrdiff_t d) {
        const bool wide = indices.is<int64_t>();
        if (indptr.shape(0) < 1 || indices.shape(0) != data.shape(0) || indptr.is<int64_t>() != wide)
            throw nb::value_error("CSR rows: indices must be as many as data, and of the type of indptr");
        if (!wide && !(indices.is<int32_t>() && indptr.is<int32_t>()))
            throw nb::type_error("CSR indices must be int32 or int64");
        if (data.is<float>())
            return wide ? csr_of<float, int64_t>(data, indices, indptr, d)
                        : csr_of<float, int32_t>(data, indices, indptr, d);
        if (data.is<double>())
            return wide ? csr_of<double, int64_t>(data, indices, indptr, d)
                        : csr_of<double, int32_t>(data, indices, indptr, d);
        throw nb::type_error("the data of CSR rows must be float32 or float64");
    }

    ArrayView matrix_, parts_[3];
    std::unique_ptr<Rows> rows_;
};

inline bool ctrl_c() {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

// Names the first value that is not finite, whichever thread came upon one.
[[noreturn]] inline void raise_not_finite(const Machine &machine, const Rows &rows) {
    std::vector<double> room(size_t(rows.d));
    for (ptrdiff_t i = 0; i < rows.n; i++) try {
            if (machine.preparation)
                machine.preparation->require_finite(rows.wide(i, 1, room.data()), i);
            else
                rows.require_finite(i);
        } catch (const NotFinite &bad) {
            const std::string what = std::isnan(bad.value) ? "NaN" : "infinite";
            throw nb::value_error(("row " + std::to_string(bad.row) + ", column " + std::to_string(bad.column) +
                                   " is " + what + "; dormie needs finite rows: impute or drop such rows first")
                                      .c_str());
        }
    throw nb::value_error("rows changed while they were read");
}

// Names the first negative value, whichever thread came upon one.
[[noreturn]] inline void raise_negative(const Machine &machine, const Rows &rows) {
    LaidOut block(machine, 1, {false, true});
    for (ptrdiff_t i = 0; i < rows.n; i++) try {
            block.read(rows, i, 1);
        } catch (const Negative &bad) {
            char value[32];
            std::snprintf(value, sizeof value, "%.6g", bad.value);
            throw nb::value_error(("row " + std::to_string(bad.row) + ", column " + std::to_string(bad.column) +
                                   " is " + value +
                                   ", negative once it is scaled; the chi-squared kernels take counts and shares: clip "
                                   "such values at 0, or train with another kernel")
                                      .c_str());
        }
    throw nb::value_error("rows changed while they were read");
}

// A preparation whose arrays are kept alive. Before anything reads them, its steps are known to fit each other.
class KeptPreparation {
  public:
    // Of each step its numbers (kind, at, columns, result, first, second, stretch), the values, and which columns.
    KeptPreparation(ptrdiff_t columns, Matrix numbers, const nb::typed<nb::list, Vector> &values,
                    const nb::typed<nb::list, Counts> &which, double unit_error, std::optional<Bytes> may_be_nan)
        : may_be_nan_(may_be_nan) {
        const size_t count = numbers.shape(0);
        require(numbers.shape(1) == 7 && values.size() == count && which.size() == count && columns >= 1);
        require(!may_be_nan_ || ptrdiff_t(may_be_nan_->shape(0)) == columns);
        ptrdiff_t width = columns, widest = 1;
        for (size_t k = 0; k < count; k++) {
            add(&numbers(k, 0), nb::cast<Vector>(values[k]), nb::cast<Counts>(which[k]), width);
            widest = std::max(widest, width);
        }
        project_last_in_float();
        preparation.columns = columns;
        preparation.result = width;
        preparation.widest = widest;
        preparation.unit_error = unit_error;
        preparation.may_be_nan = may_be_nan_ ? may_be_nan_->data() : nullptr;
    }

    KeptPreparation(const KeptPreparation &) = delete;

    // Whether a projection of rows may be in float.
    bool may_be_rough() const { return in_float_.get(); }

    Preparation preparation;

  private:
    static void require(bool fits) {
        if (!fits) throw nb::value_error("the steps of the preparation do not fit each other");
    }

    void add(const double *numbers, const Vector &values, const Counts &which, ptrdiff_t &width) {
        const int kind = int(numbers[0]);
        require(kind >= 0 && kind <= int(StepKind::binarize));
        PreparationStep step{StepKind(kind),
                             ptrdiff_t(numbers[1]),
                             ptrdiff_t(numbers[2]),
                             ptrdiff_t(numbers[3]),
                             values.data(),
                             which.data(),
                             numbers[4],
                             numbers[5],
                             numbers[6]};
        require(step.at >= 0 && step.columns >= 1 && step.result >= 1 && step.at + step.columns <= width);
        const ptrdiff_t given = ptrdiff_t(values.shape(0));
        if (step.kind == StepKind::columns) {
            require(ptrdiff_t(which.shape(0)) == step.result);
            for (ptrdiff_t j = 0; j < step.result; j++)
                require(which(size_t(j)) >= 0 && which(size_t(j)) < step.columns);
        } else if (step.kind == StepKind::projection) {
            require(given == step.columns * step.result);
            step.values = padded(step, values.data());
        } else {
            require(step.result == step.columns && (step.kind > StepKind::impute || given == step.columns));
            require(step.kind != StepKind::normalize || (step.first >= 0 && step.first <= 2));
        }
        kept_.emplace_back(values, which);
        preparation.steps.push_back(step);
        width += step.result - step.columns;
    }

    // The rows of a matrix in whole vectors.
    const double *padded(PreparationStep &step, const double *matrix) {
        step.stride = (step.result + 7) / 8 * 8;
        const Aligned<double> &room = matrices_.emplace_back(size_t(step.columns * step.stride));
        for (ptrdiff_t j = 0; j < step.columns; j++)
            std::copy_n(matrix + j * step.result, step.result, room.get() + j * step.stride);
        return room.get();
    }

    // The last projection, if it is large and followed by arithmetic alone.
    void project_last_in_float() {
        auto step = preparation.steps.rbegin();
        double stretch_after = 1;
        for (; step != preparation.steps.rend() && step->kind <= StepKind::add; ++step)
            stretch_after *= std::max(step->stretch, 1.0);
        if (step == preparation.steps.rend() || !step->may_be_in_float()) return;
        if (step->columns * step->result < worth_float) return;
        step->float_stride = (step->result + 15) / 16 * 16;
        in_float_ = Aligned<float>(size_t(step->columns * step->float_stride));
        for (ptrdiff_t j = 0; j < step->columns; j++)
            for (ptrdiff_t k = 0; k < step->result; k++)
                in_float_[size_t(j * step->float_stride + k)] = float(step->values[j * step->stride + k]);
        step->in_float = in_float_.get();
        step->stretch_after = stretch_after;
    }

    // Products of a row from which float saves a good part of the time of a plan.
    static constexpr ptrdiff_t worth_float = 1 << 12;

    std::vector<std::pair<Vector, Counts>> kept_;
    std::vector<Aligned<double>> matrices_;
    Aligned<float> in_float_;
    const std::optional<Bytes> may_be_nan_;
};

// What a machine has besides its points; arrays are kept alive.
class KeptParts {
  public:
    using Numbers = nb::typed<nb::dict, nb::str, nb::object>;

    Machine machine;

  protected:
    KeptParts(const Numbers &kernel, const Numbers &rule, size_t points, size_t features, Matrix weights, Vector bias,
              Vector center, Vector scale, const Numbers &margin)
        : weights_(weights),
          bias_(bias),
          center_(center),
          scale_(scale),
          constant_(nb::cast<Vector>(margin["constant"])),
          slope_(nb::cast<Vector>(margin["slope"])) {
        const size_t c = weights.shape(1);
        if (weights.shape(0) != points || bias.shape(0) != c || constant_.shape(0) != c || slope_.shape(0) != c)
            throw nb::value_error("points, weights, bias and margins do not fit together");
        if (center.is_valid() != scale.is_valid()) throw nb::value_error("the input map needs both center and scale");
        machine = {
            {KernelKind(nb::cast<int>(kernel["kind"])), nb::cast<double>(kernel["gamma"]),
             nb::cast<double>(kernel["coef0"]), nb::cast<int>(kernel["degree"]), nb::cast<bool>(kernel["normalized"])},
            {RuleKind(nb::cast<int>(rule["kind"])), nb::cast<int>(rule["classes"]), nb::cast<bool>(rule["zero"]),
             nb::cast<bool>(rule["break_ties"]), nb::cast<bool>(rule["last_of_equal"]),
             nb::cast<double>(rule["tolerance"])},
            ptrdiff_t(points),
            ptrdiff_t(features),
            ptrdiff_t(c),
            nullptr,
            weights.data(),
            bias.data(),
            map_data(center_, features),
            map_data(scale_, features),
            inverse_data(),
            {constant_.data(), slope_.data(), nb::cast<double>(margin["gain"]), nb::cast<double>(margin["start"]),
             nb::cast<int>(margin["degree"])}};
    }

  private:
    // part: center or scale, not valid where Python passed None.
    static const double *map_data(const Vector &part, size_t features) {
        if (!part.is_valid()) return nullptr;
        if (part.shape(0) != features) throw nb::value_error("the input map does not fit the points");
        return part.data();
    }

    // Null where an inverse would be below the normal range, or above it.
    const double *inverse_data() {
        if (!scale_.is_valid()) return nullptr;
        for (size_t j = 0; j < scale_.shape(0); j++) inverse_.push_back(1 / scale_(j));
        const bool normal = std::all_of(inverse_.begin(), inverse_.end(), [](double x) { return std::isnormal(x); });
        return normal ? inverse_.data() : nullptr;
    }

    const Matrix weights_;
    const Vector bias_, center_, scale_, constant_, slope_;  // the arrays themselves: Python's may have been converted
    std::vector<double> inverse_;
};

// A machine whose arrays are kept alive.
class Kept : public KeptParts {
  public:
    Kept(const Numbers &kernel, const Numbers &rule, Matrix points, Matrix weights, Vector bias, Vector center,
         Vector scale, const Numbers &margin, std::shared_ptr<const KeptPreparation> preparation,
         double most_rough_error)
        : KeptParts(kernel, rule, points.shape(0), points.shape(1), weights, bias, center, scale, margin),
          points_(points),
          preparation_(std::move(preparation)) {
        machine.points = points.data();
        if (!preparation_) return;
        if (preparation_->preparation.result != machine.features)
            throw nb::value_error("the preparation does not fit the points");
        machine.preparation = &preparation_->preparation;
        if (preparation_->may_be_rough()) machine.most_rough_error = most_rough_error;
    }

    // Rows as stages read them, mapped and in double, and their reaches. rough: whether as stages do that take them so.
    std::tuple<NewOutputs, NewArray<double, 1>> laid_out(const Rows &rows, bool rough, int threads) const;

  private:
    const Matrix points_;
    const std::shared_ptr<const KeptPreparation> preparation_;
};

// The same with sparse points: a type of its own, so that no method is given one that it cannot read.
class KeptSparse : public KeptParts {
  public:
    using Points = std::tuple<Vector, Columns, Counts>;  // values, their columns, and where each point begins and ends

    KeptSparse(const Numbers &kernel, const Numbers &rule, const Points &points, size_t features, Matrix weights,
               Vector bias, Vector center, Vector scale, const Numbers &margin)
        : KeptParts(kernel, rule, std::get<2>(points).shape(0) - 1, features, weights, bias, center, scale, margin),
          points_(points) {
        const auto &[values, columns, starts] = points_;
        machine.sparse = {values.data(), columns.data(), starts.data()};
        require_sound(ptrdiff_t(values.shape(0)), ptrdiff_t(columns.shape(0)));
        const double *center_at = machine.center;
        if (center_at && std::any_of(center_at, center_at + features, [](double x) { return x != 0; }))
            throw nb::value_error("the input map moves zeros, and the points are sparse");
    }

  private:
    // What everything here reads without a further look: columns within the features, ascending, none twice.
    void require_sound(ptrdiff_t values, ptrdiff_t columns) const {
        const SparsePoints &points = machine.sparse;
        bool sound = machine.features <= most_sparse_columns && values == columns && points.starts[0] == 0 &&
                     points.starts[machine.points_count] == values;
        for (ptrdiff_t i = 0; sound && i < machine.points_count; i++)
            sound = points.starts[i] <= points.starts[i + 1] && points.starts[i + 1] <= values;
        for (ptrdiff_t i = 0; sound && i < machine.points_count; i++) {
            const SparseVector s = points[i];
            for (ptrdiff_t k = 0; sound && k < s.count; k++)
                sound =
                    s.columns[k] >= 0 && s.columns[k] < machine.features && (k == 0 || s.columns[k - 1] < s.columns[k]);
        }
        if (!sound) throw nb::value_error("the sparse points are not in canonical form");
    }

    const Points points_;
};

// The threads of a call that does not say how many, and of those that one thread makes (0: as many): see threads.py.
inline std::atomic<int> default_threads = 1;
inline thread_local int own_threads = 0;

inline int threads_or_default(int threads) {
    if (threads >= 1) return threads;
    return own_threads >= 1 ? own_threads : default_threads.load();
}

// Runs work(team) without the GIL. threads 0: the default.
template <class Work> void run_on(const Machine &machine, const Rows &rows, int threads, const Work &work) {
    if (rows.d != machine.columns()) throw nb::value_error("wrong number of columns");
    Call call(ctrl_c);
    Team team(call, threads_or_default(threads));
    try {
        nb::gil_scoped_release released;
        work(team);
    } catch (const Interrupted &) {
        throw nb::python_error();
    } catch (const NotFinite &) {
        raise_not_finite(machine, rows);
    } catch (const Negative &) {
        raise_negative(machine, rows);
    }
}

// The same with as many threads as so many multiply-adds are worth.
template <class Work>
void run_on(const Machine &machine, const Rows &rows, int threads, double multiply_adds, const Work &work) {
    run_on(machine, rows, threads, [&](Team &team) {
        Team few = team.of(team.threads_for(multiply_adds));
        work(few);
    });
}

// A stage as Python hands it to a cascade: one, or several that take turns.
struct BoundStage {
    std::vector<std::shared_ptr<const Stage>> stages;
};

// Keeps several things alive for as long as a stage needs them.
template <class... Things> std::shared_ptr<const void> keeping(const Things &...things) {
    return std::make_shared<std::tuple<Things...>>(things...);
}

// Every method takes rows, then its own arguments, which `names` are of, and last the number of threads.
template <class Bound, class Result, class... Args, class... Names>
void bind_rows(nb::class_<Bound> &cls, const char *name, Result (Bound::*method)(const Rows &, Args...) const,
               const char *words, const Names &...names) {
    cls.def(
        name,
        [method](const Bound &self, nb::handle rows, Args... args) {
            return (self.*method)(*RowsArgument(rows), args...);
        },
        words, "rows"_a, names..., "threads"_a = 0);
}

// One for each stage, in a file of its own.
void bind_cascade(nb::module_ &m);
void bind_champion(nb::module_ &m);
void bind_open_pairs(nb::module_ &m);
void bind_dense(nb::module_ &m);
void bind_source_sum(nb::module_ &m);
void bind_fast_stopping(nb::module_ &m);
void bind_geometry(nb::module_ &m);
void bind_reduced_set(nb::module_ &m);
void bind_refinement(nb::module_ &m);
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
