// The machine that every method is built over, and the machines that methods derive from it.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/kernel.hpp"
#include "core/margin.hpp"
#include "core/preparation.hpp"
#include "core/rules.hpp"
#include "core/sparse.hpp"

namespace dormie {

// Points by their non-zeros: those of point i are starts[i] to starts[i + 1].
struct SparsePoints {
    const double *values = nullptr;
    const int32_t *columns = nullptr;
    const int64_t *starts = nullptr;

    SparseVector operator[](ptrdiff_t i) const {
        return {columns + starts[i], values + starts[i], ptrdiff_t(starts[i + 1] - starts[i])};
    }
};

// What Python hands over; the arrays belong to the caller and outlive everything here.
struct Machine {
    Kernel kernel;
    Rule rule;
    ptrdiff_t points_count, features, outputs;
    const double *points;   // points_count x features; null where they are sparse
    const double *weights;  // points_count x outputs
    const double *bias;     // outputs
    const double *center;   // features, or null: rows are mapped by (x - center) / scale
    const double *scale;
    const double *inverse;  // of scale; null where an inverse has fewer digits than others
    Margin margin;
    SparsePoints sparse = {};
    const Preparation *preparation = nullptr;  // what is done to rows before the input map, or null
    double most_rough_error = 0;               // of rows that are prepared roughly: see numerics/rough.py

    // Of a row, before it is prepared.
    ptrdiff_t columns() const { return preparation ? preparation->columns : features; }
};

// The machine whose points are packed as they are, for distances: a linear kernel neither scales nor offsets them.
inline Machine unscaled(Machine m) {
    m.kernel = {KernelKind::linear, 1, 0, 1, false};
    return m;
}

// The same kernel over other points, without weights, for rows that are mapped already.
inline Machine over_points(Machine m, ptrdiff_t count, ptrdiff_t features, const double *points) {
    m.points_count = count;
    m.features = features;
    m.outputs = 0;
    m.points = points;
    m.weights = nullptr;
    m.center = m.scale = m.inverse = nullptr;
    m.preparation = nullptr;
    return m;
}

}  // namespace dormie
