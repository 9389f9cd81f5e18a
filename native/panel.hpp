// One panel of points against a block of rows: products, kernel function, weights. What dense evaluation is made of.
#pragma once
#include <algorithm>
#include <vector>

#include "ops.hpp"
#include "packed.hpp"
#include "rounding.hpp"
#include "row_block.hpp"

namespace dormie {

// Numbers a row has in the sums: its outputs, what rounding may have done to each, and room for one sum.
inline ptrdiff_t sums_width(const Machine &m) { return 2 * m.outputs + 1; }

// What one thread needs to evaluate a block.
template <class T> struct Workspace {
    Workspace(const Machine &m, int rows)
        : block(m, rows),
          values(size_t(rows + ops<T>().group_rows) * panel_stride<T>),
          errors(panel_width<T>),
          sums(size_t(rows * sums_width(m))) {}
    RowBlock<T> block;
    Aligned<T> values, errors;
    std::vector<double> sums;
};

// Adds one panel's terms of one row: outputs to sums[0..outputs), and with `radii` what rounding may have done to each
// to the numbers after them. The size of the errors is summed once for all outputs of a panel, by their largest weight:
// that costs one more output, not as many again, and outputs that a panel does not touch (most, in a one-vs-one
// machine) are not charged for it.
template <class T, bool radii>
void add_row(const Machine &m, const Packed<T> &packed, ptrdiff_t panel, const RowTraits &row, T *values, T *errors,
             double *sums) {
    const auto &op = ops<T>();
    const KernelKind kind = m.kernel.kind;
    const int lanes = packed.tiles_of(panel) * tile_width<T>;
    const ptrdiff_t from = panel * panel_width<T>;
    const auto &weights = packed.panel_weights[panel];
    const Rounding<T> rounding(m, packed.panel_sizes[panel], row);
    const bool own_sizes = radii && kind == KernelKind::polynomial;
    op.kernel_values(kind, m.kernel.degree, {T(row.scale), T(row.offset), own_sizes ? rounding.slack() : T(0)},
                     packed.lane_offset.get() + from, values, own_sizes ? errors : nullptr, lanes);
    const bool sizes_are_values = radii && kind == KernelKind::rbf;
    const int outputs = int(weights.slots.size()) - 1;
    double &error_sum = sums[2 * m.outputs];
    error_sum = own_sizes || sizes_are_values ? 0 : weights.total;
    op.weigh(values, weights.weights.get(), lanes, weights.slots.data(), outputs + sizes_are_values, sums);
    if (own_sizes) op.weigh(errors, weights.largest(), lanes, weights.slots.data() + outputs, 1, sums);
    if (!radii) return;
    const double error = rounding.sum_error(error_sum, weights.total, lanes);
    for (int a = 0; a < outputs; a++) sums[m.outputs + weights.slots[a]] += error;
}

template <class T, bool radii>
void add_panel(const Machine &m, const Packed<T> &packed, ptrdiff_t panel, Workspace<T> &space, double *sums) {
    space.block.products(packed, panel * panel_tiles, packed.tiles_of(panel), space.values.get());
    for (int r = 0; r < space.block.count(); r++)
        add_row<T, radii>(m, packed, panel, space.block.row(r), space.values.get() + ptrdiff_t(r) * panel_stride<T>,
                space.errors.get(), sums + r * sums_width(m));
}

}  // namespace dormie
