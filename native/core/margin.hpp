// How far an interval must lie from the decision boundary before its answer counts: see Margin in margin.py, whose twin
// this is.
//
// Nearer than that the source's own float64 sum, which rounds too, may have another answer than the real-number sum,
// and it is the source's answer that is wanted.
#pragma once
#include <cmath>
#include <cstddef>

namespace dormie {

// constant + slope (gain t + start)^degree for each output, t the norm of the mapped row, or its reach. The arrays are
// the caller's.
struct Margin {
    const double *constant;
    const double *slope;
    double gain, start;
    int degree;

    // Takes the margins of a row off the low ends, and adds them to the high ends.
    void widen(double norm, ptrdiff_t outputs, double *low, double *high) const {
        const double base = gain * (norm + lost_length) + start;
        const double power = degree == 1 ? base : std::pow(base, degree);
        for (ptrdiff_t o = 0; o < outputs; o++) {
            const double margin = constant[o] + (slope[o] > 0 ? slope[o] * power : 0);
            low[o] -= margin;
            high[o] += margin;
        }
    }

    static constexpr double lost_length = 1e-150;  // more than a norm loses when squares leave the range of doubles
};

}  // namespace dormie
