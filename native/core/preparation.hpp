// What is done to rows before the input map, step by step: the native form of Preparation (preparation.py), whose twin
// this is.
//
// Every step changes columns that lie side by side and passes the others through. With the prepared row comes a bound
// on its distance from the real-number one, in units of 2^-53, whatever order the model itself adds in.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/aligned.hpp"
#include "core/rows.hpp"

namespace dormie {

// In the order of KINDS (preparation.py).
enum class StepKind : int { subtract, divide, multiply, add, columns, projection, impute, clip, normalize, binarize };
enum class RowNorm : int { l1, l2, max };

struct PreparationStep {
    StepKind kind;
    ptrdiff_t at, columns, result;
    const double *values;  // a number for each column; or the matrix, columns x stride; or null
    const int64_t *which;  // columns to choose, counted from `at`; or null
    double first, second;  // what is missing; low and high; which norm; the threshold
    double stretch;        // bound on by how much the step stretches a row; of a matrix, its Frobenius norm
    ptrdiff_t stride = 0;  // of the matrix: whole vectors, filled up with zeros
    // The matrix in float, where rows may be projected so (numerics/rough.py), or null.
    const float *in_float = nullptr;
    ptrdiff_t float_stride = 0;
    double stretch_after = 1;  // of all steps behind it

    // A bound on the error of a projection in float, in units of 2^-53, given the row's length: what is added to is
    // rounded in chunks of columns and then once for each, a term thrice before. A number below float's normal range is
    // lost. Of matrices as `may_be_in_float` says.
    double float_error(ptrdiff_t nonzeros, double length) const {
        const ptrdiff_t chunks = (columns + projected_columns - 1) / projected_columns;
        const double chain = double(std::min<ptrdiff_t>(nonzeros, projected_columns) + chunks + 3);
        const double lost = 0x1p-71 * double(columns) * std::sqrt(double(result)) * (length + stretch + 1);
        return 1.01 * 0x1p29 * chain * stretch * length + lost;
    }

    // Chains of roundings stay far below 2^24, and numbers in the range of floats.
    bool may_be_in_float() const {
        return kind == StepKind::projection && columns < 1 << 20 && stretch > 0x1p-20 && stretch < 0x1p20;
    }
};

// What projections add up to, before it is written to rows: room for the most rows, with the matrix's stride.
struct ProjectionSums {
    Aligned<double> wide;
    Aligned<float> narrow;
};

struct Preparation {
    std::vector<PreparationStep> steps;
    ptrdiff_t columns, result;  // of a row before and after all steps
    ptrdiff_t widest;           // the most columns after a step
    double unit_error;          // see reach
    const uint8_t *may_be_nan;  // for each column whether it may, or null

    // Throws NotFinite where a number may not be there.
    void require_finite(const double *x, ptrdiff_t row) const {
        for (ptrdiff_t j = 0; j < columns; j++)
            if (!std::isfinite(x[j]) && !(may_be_nan && may_be_nan[j] && std::isnan(x[j])))
                throw NotFinite{row, j, x[j]};
    }

    // What bounds on rounding are functions of, given the length of the mapped row and the errors of the prepared one.
    double reach(double length, double errors) const { return std::fmax(length, errors / unit_error); }
};

// Rows of a preparation of one step after the other, in room of its own.
//
// Arithmetic: how products are added up, `project` and `norm`, and rows measured (see RowOps). It is a type of the file
// that uses it: the source's own steps must not be compiled with fused multiply-adds.
template <class Arithmetic> class Preparing {
  public:
    Preparing(const Preparation &preparation, int most)
        : p_(preparation),
          a_(size_t(most * preparation.widest)),
          b_(size_t(most * preparation.widest)),
          errors_(size_t(most)),
          squares_(size_t(most)),
          nonzeros_(size_t(most)),
          rough_(size_t(most)) {
        ptrdiff_t stride = 0, float_stride = 0;
        for (const PreparationStep &step : p_.steps) {
            stride = std::max(stride, step.stride);
            float_stride = std::max(float_stride, step.float_stride);
        }
        sums_.wide = Aligned<double>::unwritten(size_t(most * stride));
        sums_.narrow = Aligned<float>::unwritten(size_t(most * float_stride));
    }

    // Of rows one below the other, none of which is the first of `first` or later where a number is not finite.
    // sparse: whether to divide as scikit-learn does where rows are sparse. most_rough: the most error with which a
    // projection is in float (see most_rough_error). The result stays until the next call.
    const double *run(const double *x, int count, ptrdiff_t first, bool sparse, double most_rough = 0) {
        ptrdiff_t width = p_.columns;
        std::fill_n(errors_.data(), count, 0.0);
        Arithmetic::measure(x, count, width, squares_.data(), nonzeros_.data());
        for (int r = 0; r < count; r++)
            if (!(squares_[size_t(r)] < infinity)) p_.require_finite(x + r * width, first + r);
        double *from = a_.data(), *to = b_.data();
        const double *now = x;
        for (const PreparationStep &step : p_.steps) {
            const ptrdiff_t wider = width + step.result - step.columns;
            for (int r = 0; r < count; r++) pass_through(step, now + r * width, width, to + r * wider);
            const bool measured = now == x && step.columns == width;
            if (step.kind == StepKind::projection && !measured) measure(step, now + step.at, count, width);
            if (step.kind == StepKind::projection)
                project(step, now + step.at, width, count, most_rough, to + step.at, wider);
            else
                change(step, now, width, count, sparse, to, wider);
            now = to;
            std::swap(from, to);
            width = wider;
        }
        return now;
    }

    double errors(int r) const { return std::isnan(errors_[size_t(r)]) ? infinity : errors_[size_t(r)]; }

  private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static constexpr double tiny = 10 * std::numeric_limits<double>::epsilon();  // TINY of preparation.py
    static constexpr double unit = 0x1p-53;

    static void pass_through(const PreparationStep &step, const double *x, ptrdiff_t width, double *to) {
        std::copy_n(x, step.at, to);
        const ptrdiff_t end = step.at + step.columns;
        std::copy_n(x + end, width - end, to + step.at + step.result);
    }

    void change(const PreparationStep &step, const double *x, ptrdiff_t width, int count, bool sparse, double *to,
                ptrdiff_t wider) {
        for (int r = 0; r < count; r++)
            change_row(step, x + r * width + step.at, sparse, to + r * wider + step.at, errors_[size_t(r)]);
    }

    // Rows side by side that are all projected in double, or all in float.
    void project(const PreparationStep &step, const double *x, ptrdiff_t width, int count, double most_rough,
                 double *to, ptrdiff_t wider) {
        for (int r = 0; r < count; r++) count_products(step, size_t(r), most_rough);
        for (int r = 0, end; r < count; r = end) {
            for (end = r + 1; end < count && rough_[size_t(end)] == rough_[size_t(r)];) end++;
            Arithmetic::project(step, rough_[size_t(r)], x + r * width, end - r, width, nonzeros_.data() + r, sums_,
                                to + r * wider, wider);
        }
    }

    static void change_row(const PreparationStep &step, const double *x, bool sparse, double *to, double &errors) {
        const ptrdiff_t n = step.columns;
        const double *v = step.values;
        switch (step.kind) {
            case StepKind::subtract:
                for (ptrdiff_t j = 0; j < n; j++) to[j] = x[j] - v[j];
                break;
            case StepKind::add:
                for (ptrdiff_t j = 0; j < n; j++) to[j] = x[j] + v[j];
                break;
            case StepKind::multiply:
                for (ptrdiff_t j = 0; j < n; j++) to[j] = x[j] * v[j];
                break;
            case StepKind::divide:
                if (sparse)
                    for (ptrdiff_t j = 0; j < n; j++) to[j] = x[j] != 0 ? x[j] * (1 / v[j]) : x[j];
                else
                    for (ptrdiff_t j = 0; j < n; j++) to[j] = x[j] / v[j];
                break;
            case StepKind::columns:
                for (ptrdiff_t j = 0; j < step.result; j++) to[j] = x[step.which[j]];
                errors *= step.stretch;
                return;
            case StepKind::impute: return impute(step, x, to, errors);
            case StepKind::clip:
                for (ptrdiff_t j = 0; j < n; j++) to[j] = std::fmin(std::fmax(x[j], step.first), step.second);
                return;
            case StepKind::normalize: return normalize(step, x, to, errors);
            case StepKind::binarize: return binarize(step, x, to, errors);
            case StepKind::projection: return;
        }
        errors = step.stretch * errors + 2 * length(to, n);
    }

    static void impute(const PreparationStep &step, const double *x, double *to, double &errors) {
        const bool nan = std::isnan(step.first);
        for (ptrdiff_t j = 0; j < step.columns; j++)
            to[j] = (nan ? std::isnan(x[j]) : x[j] == step.first) ? step.values[j] : x[j];
        if (!nan && errors > 0) errors = infinity;
    }

    static void normalize(const PreparationStep &step, const double *x, double *to, double &errors) {
        const ptrdiff_t n = step.columns;
        const double norm = Arithmetic::norm(RowNorm(int(step.first)), x, n), divisor = norm < tiny ? 1.0 : norm;
        for (ptrdiff_t j = 0; j < n; j++) to[j] = x[j] / divisor;
        const double steep = RowNorm(int(step.first)) == RowNorm::l2 ? 2 : 1 + std::sqrt(double(n));
        if (norm < 0.9 * tiny && errors * unit < 0.01 * tiny) return;
        const bool known = norm > 1.1 * tiny && norm < 1e150 && errors * (steep * unit) < 1e-3 * norm;
        errors = known ? errors * std::fmax(1.0, 1.01 * steep / norm) + (double(n) + 6) * length(to, n) : infinity;
    }

    static void binarize(const PreparationStep &step, const double *x, double *to, double &errors) {
        double nearest = infinity;
        for (ptrdiff_t j = 0; j < step.columns; j++) {
            to[j] = x[j] > step.first ? 1.0 : 0.0;
            nearest = std::fmin(nearest, std::abs(x[j] - step.first));
        }
        if (errors > 0 && !(nearest > 1.01 * unit * errors)) errors = infinity;
    }

    // The columns that a step changes.
    void measure(const PreparationStep &step, const double *x, int count, ptrdiff_t width) {
        if (step.columns == width) return Arithmetic::measure(x, count, width, squares_.data(), nonzeros_.data());
        for (int r = 0; r < count; r++)
            Arithmetic::measure(x + r * width, 1, step.columns, squares_.data() + r, nonzeros_.data() + r);
    }

    // With k non-zeros a sum in any order is off by at most k + 1 units of the sum of its terms' sizes.
    //
    // Margins count the errors twice: once for the source, which never projects in float. So a row of which that is
    // done has the mean of the source's errors and its own. What follows such a projection is arithmetic alone, and
    // what holds of both errors then holds of their mean.
    void count_products(const PreparationStep &step, size_t r, double most_rough) {
        const double size = up(squares_[r]), own = step.stretch * (double(nonzeros_[r]) + 2) * size;
        const double in_float = step.in_float ? step.float_error(nonzeros_[r], size) : infinity;
        rough_[r] = in_float * step.stretch_after <= most_rough;
        errors_[r] = std::fmax(1.0, step.stretch) * errors_[r] + (rough_[r] ? (own + in_float) / 2 : own);
    }

    // An upper bound on a length, given its square up to rounding.
    static double up(double square) { return std::sqrt(square) * (1 + 1e-9) + 1e-150; }

    // An upper bound on the Euclidean norm. In several sums, so that no addition waits for the one before.
    static double length(const double *x, ptrdiff_t n) {
        double sums[4] = {};
        ptrdiff_t j = 0;
        for (; j + 4 <= n; j += 4)
            for (int k = 0; k < 4; k++) sums[k] += x[j + k] * x[j + k];
        for (; j < n; j++) sums[0] += x[j] * x[j];
        return up((sums[0] + sums[1]) + (sums[2] + sums[3]));
    }

    const Preparation p_;
    std::vector<double> a_, b_, errors_, squares_;
    std::vector<int32_t> nonzeros_;
    std::vector<uint8_t> rough_;  // whether a row is projected in float
    ProjectionSums sums_;
};

}  // namespace dormie
