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

// Whether a kernel is worked out from inner products as a rule, and by differences where those cancel.
inline bool has_both_forms(const Kernel &k) { return is_radial(k) && !by_differences(k.kind); }

inline constexpr double most_cancellation = 0x1p-40;  // in a kernel value of at most 1

// Whether a row's inner products lose so much that they will not do: for radial kernels, more than differences do; for
// others, all.
inline bool products_cancel(const Machine &m, const Rounding<double> &rounding) {
    const double error = rounding.value_error();
    return has_both_forms(m.kernel) ? !(error < most_cancellation) : std::isinf(error);
}

// Whether inner products in T tell nothing of most points: of a row of a radial kernel as far out as they are, rounding
// may turn any kernel value into any other. terms: the most of one dot product.
template <class T, class Points> bool points_cancel(const Machine &m, const Points &points, ptrdiff_t terms) {
    if (!has_both_forms(m.kernel) || points.panels == 0) return false;
    const PointSizes &sizes = points.panel_sizes[size_t(points.panels / 2)];
    const double norm = sizes.norm / lane_terms(m.kernel, 0).scale;
    const ScaleOffset offsets = row_terms(m.kernel, norm * norm);
    const RowTraits row{norm, terms, offsets.scale, offsets.offset, false, false};
    return !(Rounding<T>(m, sizes, row, terms).value_error() < 1);
}

}  // namespace dormie
