// What the full sums over dense and over sparse points share.
#pragma once
#include <cmath>
#include <cstddef>

#include "core/kernel.hpp"
#include "core/machine.hpp"
#include "core/rounding.hpp"
#include "core/sizes.hpp"

namespace dormie {

// The same machine, whose outputs are its answers.
inline Machine with_values(Machine m) {
    m.rule = {RuleKind::value, 0, false, false, false, 0};
    return m;
}

inline constexpr double most_cancellation = 0x1p-40;  // in a kernel value of at most 1

// Whether a row's inner products lose so much that they will not do: for rbf, more than differences do; else, all.
inline bool products_cancel(const Machine &m, const Rounding<double> &rounding) {
    const double error = rounding.value_error();
    return m.kernel.kind == KernelKind::rbf ? !(error < most_cancellation) : std::isinf(error);
}

// Whether inner products in T tell nothing of most points: of an rbf row as far out as they are, rounding may turn any
// kernel value into any other. terms: the most of one dot product.
template <class T, class Points> bool points_cancel(const Machine &m, const Points &points, ptrdiff_t terms) {
    if (m.kernel.kind != KernelKind::rbf || points.panels == 0) return false;
    const PointSizes &sizes = points.panel_sizes[size_t(points.panels / 2)];
    const double norm = sizes.norm / lane_terms(m.kernel, 0).scale;
    const ScaleOffset offsets = row_terms(m.kernel, norm * norm);
    const RowTraits row{norm, terms, offsets.scale, offsets.offset, false, false};
    return !(Rounding<T>(m, sizes, row, terms).value_error() < 1);
}

}  // namespace dormie
