// The squared norm of a vector, with a bounded chain of roundings.
#pragma once
#include <algorithm>
#include <cstddef>

#include "simd/ops.hpp"

namespace dormie {

// In chunks, and in several sums at a time, so that no chain of roundings is longer than that of the dot products it is
// set against: the bounds on rounding count on it.
inline double squared_norm(const double *x, ptrdiff_t d) {
    constexpr int lanes = 8;
    double sum = 0;
    for (ptrdiff_t from = 0; from < d; from += chunk) {
        const ptrdiff_t to = std::min<ptrdiff_t>(d, from + chunk), whole = from + (to - from) / lanes * lanes;
        double part[lanes] = {};
        for (ptrdiff_t j = from; j < whole; j += lanes)
            for (int k = 0; k < lanes; k++) part[k] += x[j + k] * x[j + k];
        for (ptrdiff_t j = whole; j < to; j++) part[j - whole] += x[j] * x[j];
        sum += ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    }
    return sum;
}

}  // namespace dormie
