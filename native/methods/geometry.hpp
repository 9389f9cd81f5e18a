// Anytime intervals (DeCoste 2002): a row's place in the span of landmarks, and what the rest can still add.
//
// Landmarks S_1..S_k with Gram matrix T T' (Cholesky); for a row, q = T^-1 k(S, x), R^2 = K(x,x) - |q|^2, and for each
// output G = c.q + b within rho R. Everything is in double. What rounding adds is bounded through h >= |T'^-1 q|:
// methods/geometry/span.py derives the bounds and computes, for every number of landmarks, the constants in Span.
#pragma once
#include <memory>
#include <vector>

#include "core/aligned.hpp"
#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/stage.hpp"
#include "core/team.hpp"
#include "tiles/packed.hpp"

namespace dormie {

// All arrays belong to the caller. k = landmarks, c = outputs; arrays with k rows hold the value after that many.
struct Span {
    ptrdiff_t landmarks;
    const double *points;            // k x d
    const double *factor;            // T, k x k, lower
    const double *coordinates;       // c of w, k x c
    const double *norms;             // k: norms of the rows of T^-1, rounded up
    const double *rho;               // k x c
    const double *coordinate_norms;  // k x c: |c|
    const double *weight_norms;      // k x c: |T'^-1 c|
    const double *misfit;            // k x c: |<w, phi(S)> - T c|
    const double *factor_error;      // k: |T T' - K_SS|
    const double *factor_norm;       // k: |T|, Frobenius
};

class Geometry {
    class Block;

  public:
    Geometry(const Machine &machine, const Span &span);
    ~Geometry();

    // Decides rows by at most `budget` landmarks; evaluations are the landmarks that each took. It keeps `owner`, which
    // has this, alive.
    std::shared_ptr<const Stage> stage(ptrdiff_t budget, std::shared_ptr<const void> owner) const;

    // Outputs and radii of each row after `budget` landmarks, each rows x outputs.
    void interval(const Rows &rows, ptrdiff_t budget, Team &team, double *middle, double *radius) const;

    // One row, landmark by landmark.
    class Walk {
      public:
        Walk(const Geometry &geometry, const Rows &row);
        ~Walk();
        // Outputs and radii after each landmark of the next tile, steps x outputs; returns steps, 0 at the end.
        int next(double *middle, double *radius);

      private:
        const Geometry &geometry_;
        LaidOut row_;
        std::unique_ptr<Block> block_;
    };

    const Machine &machine() const { return machine_; }
    ptrdiff_t landmarks() const { return span_.landmarks; }
    double work(ptrdiff_t n, ptrdiff_t budget) const {
        return double(n) * budget * (machine_.features + budget / 2.0 + 16);
    }

  private:
    class Landmarks;
    void pack_factor();

    const Machine machine_;    // its rule, bias and kernel
    const Machine landmarks_;  // the same kernel over the landmarks, without weights
    const Span span_;
    const Packed<double> packed_;
    Aligned<double> factor_;             // tile by tile: the part left of the diagonal block, feature-major
    std::vector<ptrdiff_t> tile_start_;  // where each tile's part begins in factor_
    Aligned<double> blocks_;             // the diagonal blocks, with inverted diagonals
};

}  // namespace dormie
