// The radius of rbf rows, quick to work out: looked up by the row's norm.
#pragma once
#include <algorithm>
#include <limits>

#include "core/kernel.hpp"
#include "core/machine.hpp"
#include "core/rounding.hpp"
#include "core/sizes.hpp"

namespace dormie {

// At least the radius of a row: the lesser of two bounds, slope * errors + constant, looked up by the row's norm,
// rounded up.
class QuickRadius {
  public:
    // Of a machine with one output. sizes, weight, lanes: of all points together. half_width: what is added to
    // rounding, times sqrt(K(x,x)). more: what is added to the rounding of a sum, relative to the error sizes.
    template <class T>
    static QuickRadius of(const Machine &m, const PointSizes &sizes, double weight, ptrdiff_t lanes, double half_width,
                          double more = 0) {
        QuickRadius made;
        const double largest = sizes.norm / lane_terms(m.kernel, 0).scale;  // the norm of a point
        made.steps_a_unit_ = steps_a_largest / largest;
        for (int k = 0; k < steps; k++) {
            const double norm = (k + 1) * largest / steps_a_largest * up;
            const ScaleOffset terms = row_terms(m.kernel, norm * norm);
            const Rounding<T> rounding(m, sizes, {norm, m.features, terms.scale, terms.offset, false, false});
            double low = 0, high = half_width * root_of_self(m.kernel, norm);
            m.margin.widen(norm, 1, &low, &high);
            made.steps_[k] = rounding.linear_sum_errors(weight, double(lanes));
            for (double &slope : made.steps_[k].slope) slope = (slope + more) * up;
            for (double &constant : made.steps_[k].constant)
                constant = (constant + high + Rounding<T>::bias_error(m.bias[0])) * up;
        }
        return made;
    }

    // Infinite where nothing is known.
    double operator()(double norm, double errors) const {
        const double step = norm * steps_a_unit_;
        if (!(step < steps)) return std::numeric_limits<double>::infinity();
        return steps_[int(step)].least(errors);
    }

    // The same where the errors are always those that were assumed: quicker to look up.
    void assume(double errors) {
        for (int k = 0; k < steps; k++) assumed_[k] = steps_[k].least(errors);
    }
    double operator()(double norm) const {
        const double step = norm * steps_a_unit_;
        return step < steps ? assumed_[int(step)] : std::numeric_limits<double>::infinity();
    }

    // For a row as far out as the farthest point: how many times wider the radius is with these errors than with none.
    double widening(double errors) const {
        const LinearBounds &at = steps_[steps_a_largest - 1];
        const double least = std::min(at.constant[0], at.constant[1]);
        return at.least(errors) / least;
    }

  private:
    static constexpr int steps = 32, steps_a_largest = 8;  // up to four times the largest norm
    static constexpr double up = 1 + 1e-9;                 // more than the rounding of a bound
    double steps_a_unit_ = 0;
    LinearBounds steps_[steps];
    double assumed_[steps];
};

}  // namespace dormie
