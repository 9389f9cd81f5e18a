// Intervals that the outputs of a row are known to lie in: as middle and radius, or as low and high ends.
//
// Methods compute one form or the other; a rule reads the ends (rules.hpp), and an answer is the middle.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/margin.hpp"

namespace dormie {

// The intervals of all outputs, middle - radius to middle + radius. The arrays are the owner's.
struct MiddleRadius {
    const double *middle, *radius;
};

// The same by their ends.
struct LowHigh {
    const double *low, *high;
};

// The middle of an interval; no overflow where both ends are finite and of one sign.
inline double middle_of(double low, double high) { return low + (high - low) / 2; }

// An interval of numbers that overflowed tells nothing: from minus infinity to infinity, and neither end NaN.
inline void forget_unless_finite(double &middle, double &radius) {
    if (std::isfinite(middle) && std::isfinite(radius)) return;
    middle = 0;
    radius = std::numeric_limits<double>::infinity();
}

// The same by the ends, each for itself.
inline void forget_ends_unless_finite(double &low, double &high) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (!(low > -infinity)) low = -infinity;
    if (!(high < infinity)) high = infinity;
}

// The ends of one row's intervals, as a rule reads them. Made once for each thread, set for each row.
class Box {
  public:
    explicit Box(ptrdiff_t outputs) : low_(size_t(outputs)), high_(size_t(outputs)) {}

    Box &set(const MiddleRadius &interval) {
        for (size_t o = 0; o < low_.size(); o++) {
            low_[o] = interval.middle[o] - interval.radius[o];
            high_[o] = interval.middle[o] + interval.radius[o];
        }
        return *this;
    }

    Box &set(const LowHigh &interval) {
        std::copy_n(interval.low, low_.size(), low_.begin());
        std::copy_n(interval.high, high_.size(), high_.begin());
        return *this;
    }

    // By the margins of a row whose mapped norm is `norm`.
    Box &widen(const Margin &margin, double norm) {
        margin.widen(norm, ptrdiff_t(low_.size()), low_.data(), high_.data());
        return *this;
    }

    LowHigh ends() const { return {low_.data(), high_.data()}; }

  private:
    std::vector<double> low_, high_;
};

}  // namespace dormie
