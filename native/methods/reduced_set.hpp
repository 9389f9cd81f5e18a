// Reduced sets (Burges & Schölkopf 1997): a few vectors in place of all, and how far that can be off.
//
// Vectors z_1..z_n in an order in which prefixes serve too: level j uses the first n_j of them with weights of its own,
// G' = sum_k gamma_k K(x, z_k) + b, and G lies within rho_j sqrt(K(x,x)) of it, rounding apart. Kernel values are in
// float and kept: a row that goes on to the next level pays for the new vectors only.
#pragma once
#include <vector>

#include "core/interval.hpp"
#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/spare.hpp"
#include "core/threads.hpp"
#include "tiles/packed.hpp"
#include "tiles/panel_weights.hpp"

namespace dormie {

// All arrays belong to the caller. n = vectors, c = outputs; levels: sizes ascend, the last is n.
struct Vectors {
    ptrdiff_t count, levels;
    const double *points;   // n x d
    const int64_t *sizes;   // levels
    const double *weights;  // those of each level below the others', sum of sizes x c
    const double *rho;      // levels x c, rounded up: half-widths where K(x,x) = 1
};

class ReducedSet {
  public:
    ReducedSet(const Machine &machine, const Vectors &vectors);
    ~ReducedSet();

    // The answer of each row after as few levels as it takes, or `unsettled`, and the vectors that were used; `values`
    // as in Dense::decide. caution: a factor on rho.
    void decide(const Rows &rows, double caution, Team &team, int64_t *answers, int64_t *evaluations,
                double *values) const;

    // Outputs and radii of each row at a level, each rows x outputs.
    void interval(const Rows &rows, ptrdiff_t level, Team &team, double *middle, double *radius) const;

    // Multiply-adds of the first level, which all rows go through, and what it takes to read them.
    double work(ptrdiff_t n) const {
        const double d = double(machine_.features), c = double(machine_.outputs);
        return double(n) * (double(levels_.front().size) * (d + c + 16) + d * reading_a_number);
    }

  private:
    class Block;
    // Calls work(block) for blocks of all rows.
    template <class Work> void each(const Rows &rows, Team &team, const Work &work) const;
    struct Level {
        ptrdiff_t size;
        std::vector<PanelWeights<float>> panels;
        const double *rho;
    };

    const Machine machine_;  // its kernel, bias and rule, over the vectors
    const Packed<float> packed_;
    std::vector<Level> levels_;
    const Spare<Block> spare_;  // for single rows
};

}  // namespace dormie
