// One panel of points against a block of rows: products, kernel function, weights. What dense evaluation is made of.
#pragma once
#include <algorithm>
#include <vector>

#include "core/machine.hpp"
#include "core/rounding.hpp"
#include "simd/ops.hpp"
#include "tiles/packed.hpp"
#include "tiles/row_block.hpp"

namespace dormie {

// Numbers a row has in the sums: its outputs, what rounding may have done to each, and room for one sum.
inline ptrdiff_t sums_width(const Machine &m) { return 2 * m.outputs + 1; }

// Room for what becomes of a block of rows at one panel.
template <class T> struct PanelValues {
    explicit PanelValues(int rows)
        : values(Aligned<T>::unwritten(size_t(rows + ops<T>().group_rows) * panel_stride<T>)), errors(panel_width<T>) {}

    Aligned<T> values, errors;
};

// Whether the errors of kernel values have sizes of their own: else they are the values (is_at_most_one), or 1.
inline bool own_error_sizes(const Machine &m) { return m.kernel.kind == KernelKind::polynomial; }

// What a row does to dot products on their way to kernel values.
template <class T> RowTerms<T> row_terms_of(const Kernel &kernel, const RowTraits &row, T slack) {
    return {T(row.scale), T(row.offset), slack, T(kernel.coef0)};
}

// Turns one row's dot products with some lanes of a panel into kernel values, and writes what the error of each is
// proportional to, unless `errors` is null. slack: see Rounding.
template <class T>
void evaluate_row(const Machine &m, const RowTraits &row, T slack, const T *lane_offset, int lanes, T *values,
                  T *errors) {
    ops<T>().kernel_values(m.kernel.kind, m.kernel.degree, row_terms_of(m.kernel, row, slack), lane_offset, values,
                           errors, lanes);
}

// Adds some lanes' terms of one row: outputs to sums[0..outputs), and with `radii` what rounding may have done to each
// to the numbers after them. The size of the errors is summed once for all outputs of a panel, by their largest weight:
// that costs one more output, not as many again, and outputs that a panel does not touch (most, in a one-vs-one
// machine) are not charged for it. errors: null unless they have sizes of their own.
template <class T, bool radii>
void weigh_row(const Machine &m, const Rounding<T> &rounding, const LaneWeights<T> &weights, int lanes, const T *values,
               const T *errors, double *sums) {
    const auto &op = ops<T>();
    const bool sizes_are_values = radii && is_at_most_one(m.kernel);
    double &error_sum = sums[2 * m.outputs];
    error_sum = errors || sizes_are_values ? 0 : weights.total;
    op.weigh(values, weights.weights, lanes, weights.slots, weights.outputs + sizes_are_values, sums);
    if (errors) op.weigh(errors, weights.largest(), lanes, weights.slots + weights.outputs, 1, sums);
    if (!radii) return;
    const double error = rounding.sum_error(error_sum, weights.total, lanes);
    for (int a = 0; a < weights.outputs; a++) sums[m.outputs + weights.slots[a]] += error;
}

template <class T, bool radii>
void add_panel(const Machine &m, const Packed<T> &packed, ptrdiff_t panel, const RowBlock<T> &rows,
               const PanelValues<T> &space, double *sums) {
    const int lanes = packed.tiles_of(panel) * tile_width<T>;
    const T *lane_offset = packed.lane_offset.get() + panel * panel_width<T>;
    T *errors = radii && own_error_sizes(m) ? space.errors.get() : nullptr;
    rows.products(packed, panel * panel_tiles, packed.tiles_of(panel), space.values.get());
    for (int r = 0; r < rows.count(); r++) {
        const RowTraits row = packed.scaled(rows.row(r));
        const Rounding<T> rounding(m, packed.scaled(packed.panel_sizes[panel]), row);
        T *values = space.values.get() + ptrdiff_t(r) * panel_stride<T>;
        evaluate_row<T>(m, row, errors ? rounding.slack() : T(0), lane_offset, lanes, values, errors);
        weigh_row<T, radii>(m, rounding, packed.panel_weights[panel].all(), lanes, values, errors,
                            sums + r * sums_width(m));
    }
}

// The same for a radial kernel by squared distances; `packed` has the points as they are (see unscaled).
template <class T, bool radii>
void add_panel_by_distances(const Machine &m, const Packed<T> &packed, ptrdiff_t panel, const RowBlock<T> &rows,
                            const PanelValues<T> &space, double *sums) {
    const int lanes = packed.tiles_of(panel) * tile_width<T>;
    const T *lane_offset = packed.lane_offset.get() + panel * panel_width<T>;
    rows.distances(packed, panel * panel_tiles, packed.tiles_of(panel), space.values.get());
    for (int r = 0; r < rows.count(); r++) {
        T *values = space.values.get() + ptrdiff_t(r) * panel_stride<T>;
        const RowTerms<T> terms{T(-argument_unit(m.kernel)), T(0), T(0), T(m.kernel.coef0)};
        ops<T>().kernel_values(m.kernel.kind, 1, terms, lane_offset, values, nullptr, lanes);
        weigh_row<T, radii>(m, Rounding<T>::of_distances(m, packed.panel_sizes[panel], rows.row(r)),
                            packed.panel_weights[panel].all(), lanes, values, nullptr, sums + r * sums_width(m));
    }
}

}  // namespace dormie
