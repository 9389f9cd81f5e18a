// A kernel, and how points and rows are scaled so that the tiles need one number for each pair.
//
// A kernel function is applied to v = row_scale * (dot + lane_offset) + row_offset:
//   rbf         2^v,      points times 2g log2(e),  lane_offset -g log2(e) |s|^2,  row_offset -g log2(e) |x|^2
//   polynomial  v^p,      points times g,           lane_offset r
//   normalised  v^p,      points times g a_s,       lane_offset r a_s,  row_scale a_x,  a_u = 1 / sqrt(g |u|^2 + r)
//   sigmoid     tanh(v'), v' = v ln(2) / 2: points times 2g log2(e), lane_offset 2r log2(e)
//   linear      v
//   matern, rational quadratic (rq)
//               f(-v),    points times 2g,          lane_offset -g |s|^2,          row_offset -g |x|^2
//
// Some kernels are worked out from differences of coordinates (by_differences): in place of the dot product stands a
// sum over coordinates that the tiles get in a loop of their own, points are not scaled, and row_scale has the factor:
//   matern 1/2      f(-v),  sum (x - s)^2,           row_scale -g
//   laplacian       2^v,    sum |x - s|,             row_scale -g log2(e)
//   chi2            2^v,    sum (x - s)^2 / (x + s), row_scale -g log2(e)
//   additive chi2   v,      the same,                row_scale -1
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/margin.hpp"
#include "simd/ops.hpp"

namespace dormie {

struct Kernel {
    KernelKind kind;
    double gamma, coef0;  // coef0: of a rational quadratic kernel its exponent
    int degree;
    bool normalized;
};

inline constexpr double log2e = 1.4426950408889634074;

// Whether K is f(g |u - v|^2), f(0) = 1.
inline bool is_radial(const Kernel &k) { return k.kind == KernelKind::rbf || is_radial_but_rbf(k.kind); }

// What the argument of a radial kernel is, for a unit of squared distance.
inline double argument_unit(const Kernel &k) { return k.kind == KernelKind::rbf ? k.gamma * log2e : k.gamma; }

// Whether K lies between 0 and 1, so that its error is relative to itself.
inline bool is_at_most_one(const Kernel &k) {
    return is_radial(k) || k.kind == KernelKind::laplacian || k.kind == KernelKind::chi2;
}

// Whether vectors must not have negative coordinates.
inline bool needs_shares(const Kernel &k) { return k.kind == KernelKind::chi2 || k.kind == KernelKind::additive_chi2; }

// K(u, u) of a vector with |u|^2 = norm2.
inline double diagonal(const Kernel &k, double norm2) {
    if (is_at_most_one(k)) return 1;
    switch (k.kind) {
        case KernelKind::additive_chi2: return 0;
        case KernelKind::linear: return norm2;
        case KernelKind::sigmoid: return std::tanh(k.gamma * norm2 + k.coef0);
        default: break;
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
    if (by_differences(k.kind)) return {1, 0};
    if (is_radial(k)) return {2 * argument_unit(k), -argument_unit(k) * norm2};
    switch (k.kind) {
        case KernelKind::sigmoid: return {2 * k.gamma * log2e, 2 * k.coef0 * log2e};
        case KernelKind::linear: return {1, 0};
        default: break;
    }
    if (!k.normalized) return {k.gamma, k.coef0};
    const double diagonal = k.gamma * norm2 + k.coef0;
    const double a = diagonal > 0 ? 1 / std::sqrt(diagonal) : 0;
    return {k.gamma * a, k.coef0 * a};
}

// Whether a vector is so far out that dot products would overflow, and every rbf value is 0.
inline bool far_out(const Kernel &k, double norm2) {
    return is_radial(k) && !by_differences(k.kind) && !(norm2 < 1e280);
}

// What a row does to v.
inline ScaleOffset row_terms(const Kernel &k, double norm2) {
    if (k.kind == KernelKind::laplacian || k.kind == KernelKind::chi2) return {-k.gamma * log2e, 0};
    if (by_differences(k.kind)) return {-k.gamma, 0};
    if (is_radial(k)) return {1, far_out(k, norm2) ? -1e30 : -argument_unit(k) * norm2};
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
