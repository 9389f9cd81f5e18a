// The full sum of a machine with sparse points: every term of every row, in float with a rigorous radius, then in
// double for what that leaves open. What even that leaves open is for the source's own sum to decide, by differences
// for rbf (sparse_source_sum.hpp): exponents that cancel, far from the origin, included.
//
// A row meets the points that share a column with it, through an inverted index; the dot product with any other point
// is 0. Everything else is as in the dense stage (dense.hpp), its bounds on rounding included: the dot product of a row
// and a point has no more terms than either has non-zeros.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/stage.hpp"
#include "core/team.hpp"
#include "tiles/inverted_index.hpp"

namespace dormie {

class SparseSum {
  public:
    explicit SparseSum(const Machine &machine);

    const Machine &machine() const { return machine_; }
    const Machine &values_machine() const { return values_; }

    // As of Dense.
    void prepare() const;
    std::vector<std::shared_ptr<const Stage>> certified_stages(std::shared_ptr<const void> owner) const;
    std::vector<std::shared_ptr<const Stage>> float_stages(std::shared_ptr<const void> owner, bool outputs) const;
    std::vector<std::shared_ptr<const Stage>> output_stages(std::shared_ptr<const void> owner) const;

    // G in double and a radius that reaches the real value, each rows x outputs; infinite where inner products lose so
    // much that differences are better.
    template <class T> void interval(const Rows &rows, Team &team, double *middle, double *radius) const;

    double work(ptrdiff_t n) const;

    template <class T> const InvertedIndex<T> &index() const;

    // Whether a row's inner products lose so much that they will not do: see Dense.
    bool cancels(const RowTraits &row) const;

  private:
    template <class T> struct Made {
        std::once_flag once;
        std::unique_ptr<InvertedIndex<T>> index;
    };

    const Machine machine_, values_;
    mutable Made<float> float_;
    mutable Made<double> double_;
};

}  // namespace dormie
