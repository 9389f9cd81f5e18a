// A kernel, and how points and rows are scaled so that the tiles need one number for each pair.
//
// A kernel function is applied to v = row_scale * (dot + lane_offset) + row_offset:
//   rbf         2^v,      points times 2g log2(e),  lane_offset -g log2(e) |s|^2,  row_offset -g log2(e) |x|^2
//   polynomial  v^p,      points times g,           lane_offset r
//   normalised  v^p,      points times g a_s,       lane_offset r a_s,  row_scale a_x,  a_u = 1 / sqrt(g |u|^2 + r)
//   sigmoid     tanh(v'), v' = v ln(2) / 2: points times 2g log2(e), lane_offset 2r log2(e)
//   linear      v
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/margin.hpp"
#include "simd/ops.hpp"

namespace dormie {

struct Kernel {
    KernelKind kind;
    double gamma, coef0;
    int degree;
    bool normalized;
};

inline constexpr double log2e = 1.4426950408889634074;

// K(u, u) of a vector with |u|^2 = norm2.
inline double diagonal(const Kernel &k, double norm2) {
    switch (k.kind) {
        case KernelKind::rbf: return 1;
        case KernelKind::linear: return norm2;
        case KernelKind::sigmoid: return std::tanh(k.gamma * norm2 + k.coef0);
        case KernelKind::polynomial: break;
    }
    const double base = k.gamma * norm2 + k.coef0;
    return k.normalized ? base > 0 : std::pow(base, k.degree);
}

// At least sqrt(K(u, u)) of a vector of this norm: every kernel here that is an inner product grows with it. Where a
// normalised kernel lost the norm, see norm_lost.
inline double root_of_self(const Kernel &k, double norm) {
    const double length = k.normalized ? norm : norm + Margin::lost_length;
    return std::sqrt(diagonal(k, length * length)) * (1 + 1e-9) + Margin::lost_length;
}

struct ScaleOffset {
    double scale, offset;
};

// How points are scaled and offset for a kernel: see the table above.
inline ScaleOffset lane_terms(const Kernel &k, double norm2) {
    switch (k.kind) {
        case KernelKind::rbf: return {2 * k.gamma * log2e, -k.gamma * log2e * norm2};
        case KernelKind::sigmoid: return {2 * k.gamma * log2e, 2 * k.coef0 * log2e};
        case KernelKind::linear: return {1, 0};
        case KernelKind::polynomial: break;
    }
    if (!k.normalized) return {k.gamma, k.coef0};
    const double diagonal = k.gamma * norm2 + k.coef0;
    const double a = diagonal > 0 ? 1 / std::sqrt(diagonal) : 0;
    return {k.gamma * a, k.coef0 * a};
}

// Whether a vector is so far out that every rbf value is 0, and dot products would overflow.
inline bool far_out(const Kernel &k, double norm2) { return k.kind == KernelKind::rbf && !(norm2 < 1e280); }

// What a row does to v.
inline ScaleOffset row_terms(const Kernel &k, double norm2) {
    if (k.kind == KernelKind::rbf) return {1, far_out(k, norm2) ? -1e30 : -k.gamma * log2e * norm2};
    if (!k.normalized) return {1, 0};
    const double diagonal = k.gamma * norm2 + k.coef0;
    return {diagonal > 0 ? 1 / std::sqrt(diagonal) : 0, 0};
}

// Whether |u|^2 left the range of doubles, on which the scale of a normalised kernel rests: no radius covers that.
template <class T> bool norm_lost(const Kernel &k, const T *u, ptrdiff_t d, double norm2) {
    const double scaled = k.gamma * norm2;
    if (!k.normalized || (std::fmin(norm2, scaled) > 1e-280 && std::fmax(norm2, scaled) < 1e280)) return false;
    return std::any_of(u, u + d, [](T value) { return value != 0; });
}

}  // namespace dormie
