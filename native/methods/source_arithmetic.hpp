// Steps of a source's own float64 sum, over dense vectors or over non-zeros: zeros change none of these sums.
//
// For source_sum.cpp and sparse_source_sum.cpp alone, which CMakeLists.txt compiles without fused multiply-adds.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/kernel.hpp"
#include "core/machine.hpp"
#include "core/spare.hpp"
#include "core/team.hpp"

namespace dormie {

// What a scaler does to every feature of a row, one after the other.
enum class MapStep : int { subtract, divide, multiply, add };

struct SourceMap {
    std::vector<MapStep> steps;
    const double *values;  // steps x features; belongs to the caller
};

// One step of one feature. sparse: whether the rows came as a sparse matrix, which scikit-learn's scalers multiply by
// the inverse instead of dividing.
inline double mapped(MapStep step, bool sparse, double x, double value) {
    switch (step) {
        case MapStep::subtract: return x - value;
        case MapStep::divide:
            if (!sparse) return x / value;
            return x != 0 ? x * (1 / value) : x;  // zeros are not stored, and stay
        case MapStep::multiply: return x * value;
        case MapStep::add: break;
    }
    return x + value;
}

// By repeated squaring, in LIBSVM's order.
inline double power(double base, int degree) {
    double result = 1;
    for (int rest = degree; rest > 0; rest /= 2) {
        if (rest % 2 == 1) result *= base;
        base = base * base;
    }
    return result;
}

// argument: what the kernel function is applied to, an inner product, a squared distance or a sum of differences.
inline double source_kernel_value(const Kernel &k, double argument) {
    const double t = k.gamma * argument, z = is_radial(k) ? std::sqrt(t) : 0;
    switch (k.kind) {
        case KernelKind::matern12: return std::exp(-z);
        case KernelKind::matern32: return (1 + z) * std::exp(-z);
        case KernelKind::matern52: return (1 + z + t / 3) * std::exp(-z);
        case KernelKind::rational_quadratic: return std::exp(-k.coef0 * std::log1p(t));
        case KernelKind::laplacian:
        case KernelKind::chi2: return std::exp(-k.gamma * argument);
        case KernelKind::additive_chi2: return -argument;
        case KernelKind::linear: return argument;
        case KernelKind::rbf: return std::exp(-k.gamma * argument);
        case KernelKind::sigmoid: return std::tanh(k.gamma * argument + k.coef0);
        case KernelKind::polynomial: break;
    }
    return k.normalized ? power(argument, k.degree) : power(k.gamma * argument + k.coef0, k.degree);
}

// Whether a kernel is one of unit vectors: see unit_vector.
inline bool of_unit_vectors(const Kernel &k) { return k.normalized && k.kind != KernelKind::rbf; }

// (sqrt(gamma) x, sqrt(coef0)) as a unit vector; all zeros where it has no length. Powers of two keep squares in range.
inline void unit_vector(const Kernel &kernel, const double *x, ptrdiff_t d, double *unit, double *constant) {
    double largest = 0;
    for (ptrdiff_t j = 0; j < d; j++) largest = std::fmax(largest, std::abs(x[j]));
    int exponent = 0;
    if (largest > 0) std::frexp(largest, &exponent);
    const double root_gamma = std::sqrt(kernel.gamma), root_coef0 = std::sqrt(kernel.coef0);
    int gamma_exponent = 0, coef0_exponent = 0;
    const double gamma_part = std::frexp(root_gamma, &gamma_exponent);
    const double coef0_part = std::frexp(root_coef0, &coef0_exponent);
    const int x_exponent = exponent + gamma_exponent;
    const int common = largest == 0      ? coef0_exponent
                       : root_coef0 == 0 ? x_exponent
                                         : std::max(x_exponent, coef0_exponent);
    double squares = 0;
    for (ptrdiff_t j = 0; j < d; j++) {
        unit[j] = std::ldexp(std::ldexp(x[j], -exponent) * gamma_part, x_exponent - common);
        squares += unit[j] * unit[j];
    }
    *constant = std::ldexp(coef0_part, coef0_exponent - common);
    squares += *constant * *constant;
    const double length = std::sqrt(squares);
    for (ptrdiff_t j = 0; j < d; j++) unit[j] = length == 0 ? 0 : unit[j] / length;  // NaN stays NaN
    *constant = length == 0 ? 0 : *constant / length;
}

// The outputs: terms in the order of the points, bias last.
inline void add_terms(const Machine &m, const double *values, double *sums) {
    const ptrdiff_t c = m.outputs;
    std::fill_n(sums, c, 0.0);
    for (ptrdiff_t k = 0; k < m.points_count; k++) {
        const double *weights = m.weights + k * c;
        for (ptrdiff_t o = 0; o < c; o++)
            if (weights[o] != 0) sums[o] += weights[o] * values[k];
    }
    for (ptrdiff_t o = 0; o < c; o++) sums[o] += m.bias[o];
}

// Calls work(row, workspace) for every row; threads have a workspace each, kept from one call to the next.
template <class Workspace, class Work>
void each_row(const Machine &m, const Spares<Workspace> &spares, ptrdiff_t rows, Team &team, const Work &work) {
    auto workers = for_each_worker(team.threads(), [&] {
        std::unique_ptr<Workspace> spare = spares.take();
        return spare ? std::move(spare) : std::make_unique<Workspace>(m);
    });
    team.of(int(workers.size())).share(rows, 1, [&](ptrdiff_t i, ptrdiff_t, int worker) {
        work(i, *workers[size_t(worker)]);
    });
    for (auto &worker : workers) spares.give(std::move(worker));
}

}  // namespace dormie
