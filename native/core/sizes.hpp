// The sizes of points and rows: what the bounds on rounding are computed from.
#pragma once
#include <cmath>
#include <cstddef>

namespace dormie {

// The largest norm and the largest |offset| of some scaled points.
struct PointSizes {
    double norm = 0, offset = 0;
    void widen(const PointSizes &other) {
        norm = std::fmax(norm, other.norm);
        offset = std::fmax(offset, other.offset);
    }
};

struct RowTraits {
    double norm = 0;  // of the mapped row
    ptrdiff_t nonzeros = 0;
    double scale = 0, offset = 0;  // of v: see kernel.hpp
    bool far = false;              // see far_out
    bool lost = false;             // see norm_lost
    double reach = norm;           // what margins are functions of: the norm, or more where rows are prepared
};

}  // namespace dormie
