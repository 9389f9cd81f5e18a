// The source's own float64 sum over sparse points, operation by operation (see source_sum.hpp): LIBSVM merges the
// non-zeros of two vectors, which adds up the same products or squares in the same order as dense vectors do.
#pragma once
#include <vector>

#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/spare.hpp"
#include "core/team.hpp"
#include "methods/source_arithmetic.hpp"

namespace dormie {

class SparseSourceSum {
  public:
    // The map keeps zeros.
    SparseSourceSum(const Machine &machine, SourceMap map);
    ~SparseSourceSum();

    // As of SourceSum.
    void outputs(const Rows &rows, bool sparse, Team &team, double *out) const;
    double work(ptrdiff_t n) const;

  private:
    struct Workspace;
    void map_row(bool sparse, Workspace &space) const;
    void kernel_values(Workspace &space) const;

    const Machine machine_;
    const SourceMap map_;
    // Of a normalised kernel: the points as unit vectors, and the coordinate that stands for coef0.
    std::vector<double> unit_values_, unit_constants_;
    const Spares<Workspace> spares_;
};

}  // namespace dormie
