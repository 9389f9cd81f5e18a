// The source's own float64 sum, operation by operation: what decides the rows that lie within its rounding.
//
// Terms in the order of the points, bias last, no fused multiply-adds (CMakeLists.txt compiles this file without them),
// the C library's exp and tanh. Inner products by BLAS, as scikit-learn's LIBSVM takes them of dense rows, or one
// product after the other, which is also what merging sparse vectors comes to.
#pragma once
#include <vector>

#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/spare.hpp"
#include "core/team.hpp"
#include "methods/source_arithmetic.hpp"

namespace dormie {

// BLAS's ddot, as Fortran has it.
using Ddot = double (*)(int *n, double *x, int *x_step, double *y, int *y_step);

class SourceSum {
  public:
    // ddot: null for one product after the other.
    SourceSum(const Machine &machine, SourceMap map, Ddot ddot);
    ~SourceSum();

    // The outputs of every row, rows x outputs. sparse: whether the rows came as a sparse matrix, which scikit-learn's
    // scalers multiply by the inverse instead of dividing.
    void outputs(const Rows &rows, bool sparse, Team &team, double *out) const;

    double work(ptrdiff_t n) const { return 4.0 * double(n) * machine_.points_count * (machine_.features + 16); }

  private:
    struct Workspace;
    void map_row(bool sparse, Workspace &space) const;
    void apply_steps(bool sparse, double *x) const;
    void kernel_values(Workspace &space) const;
    template <class Term>
    void arguments_in_order(const Term &term, const double *x, const double *s, int several, double *arguments) const;
    void arguments_of(const double *x, const double *s, int several, double *arguments) const;
    double argument_by_blas(Workspace &space, const double *s) const;

    const Machine machine_;
    const SourceMap map_;
    const Ddot ddot_;
    // Of a normalised kernel: the points as unit vectors, and the coordinate that stands for coef0.
    std::vector<double> unit_points_, unit_constants_;
    const Spares<Workspace> spares_;
};

}  // namespace dormie
