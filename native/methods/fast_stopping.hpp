// Fast stopping (Muller 2004): terms in order of size, and a bound on what the rest can still add.
//
// After some panels, G lies within what their sum says, its rounding, and sqrt(K(x,x)) times the tail of
// |weight| sqrt(K(s,s)) over the panels to come: for the low end the negative weights' tail and for the high end the
// positive weights' suffice where the kernel is never negative.
#pragma once
#include <vector>

#include "core/interval.hpp"
#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/spare.hpp"
#include "core/threads.hpp"
#include "tiles/packed.hpp"

namespace dormie {

class FastStopping {
  public:
    // The machine's points are in the order in which they are to be added, the largest terms first.
    FastStopping(const Machine &machine, bool nonnegative);
    ~FastStopping();

    // The answer of each row, or `unsettled`, and the terms it took; `values` as in Dense::decide.
    void decide(const Rows &rows, Team &team, int64_t *answers, int64_t *terms, double *values) const;

    // Low and high of each row and output after the panels that hold the first `budget` terms.
    void interval(const Rows &rows, ptrdiff_t budget, Team &team, double *low, double *high) const;

    const Machine &machine() const { return machine_; }
    double work(ptrdiff_t n) const { return double(n) * machine_.points_count * (machine_.features + 16); }

  private:
    class Block;
    // Calls work(block) for blocks of all rows.
    template <class Work> void each(const Rows &rows, Team &team, const Work &work) const;

    const Machine machine_;
    const Packed<float> packed_;
    std::vector<double> lowering_, raising_;  // (panels + 1) x outputs: tails after that many panels
    const Spare<Block> spare_;                // for single rows
};

}  // namespace dormie
