// One panel of points against a block of rows: products, kernel function, weights. What dense evaluation is made of.
#pragma once
#include <algorithm>
#include <vector>

#include "ops.hpp"
#include "packed.hpp"
#include "rounding.hpp"
#include "row_block.hpp"

namespace dormie {

// What one thread needs to evaluate a block. A row has 2 x outputs numbers in sums.
template <class T> struct Workspace {
    Workspace(const Machine &m, int rows)
        : block(m, rows),
          values(size_t(rows + ops<T>().group_rows) * panel_stride<T>),
          errors(panel_width<T>),
          sums(size_t(rows) * 2 * m.outputs) {}
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
    op.weigh(values, weights.weights.get(), lanes, weights.outputs.data(), int(weights.outputs.size()), sums);
    if (!radii) return;
    const int32_t first = 0;
    double error_sum = 0;
    if (own_sizes || kind == KernelKind::rbf)
        op.weigh(own_sizes ? errors : values, packed.largest_weight.get() + from, lanes, &first, 1, &error_sum);
    else
        error_sum = weights.total;
    const double error = rounding.sum_error(error_sum, weights.total, lanes);
    for (const int32_t o : weights.outputs) sums[m.outputs + o] += error;
}

template <class T, bool radii>
void add_panel(const Machine &m, const Packed<T> &packed, ptrdiff_t panel, Workspace<T> &space, double *sums) {
    space.block.products(packed, panel * panel_tiles, packed.tiles_of(panel), space.values.get());
    for (int r = 0; r < space.block.count(); r++)
        add_row<T, radii>(m, packed, panel, space.block.row(r), space.values.get() + ptrdiff_t(r) * panel_stride<T>,
                space.errors.get(), sums + r * 2 * m.outputs);
}

}  // namespace dormie
