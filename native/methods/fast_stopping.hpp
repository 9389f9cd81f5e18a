// Fast stopping (Muller 2004): terms in order of size, and a bound on what the rest can still add.
//
// After some tiles, G lies within what their sum says, its rounding, and sqrt(K(x,x)) times the tail of
// |weight| sqrt(K(s,s)) over the tiles to come. Where no kernel value of the row is negative, the low end needs the
// tail of the negative weights alone, and the high end that of the positive ones.
#pragma once
#include <vector>

#include "core/interval.hpp"
#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/spare.hpp"
#include "core/threads.hpp"
#include "tiles/packed.hpp"

namespace dormie {

// Which rows have no negative kernel value: see stage.py.
enum class OneSided : int { no_row, rows_without_negatives, every_row };

class FastStopping {
  public:
    // The machine's points are in the order in which they are to be added, the largest terms first.
    FastStopping(const Machine &machine, OneSided one_sided);
    ~FastStopping();

    // The answer of each row, or `unsettled`, and the terms it took; `values` as in Dense::decide.
    void decide(const Rows &rows, Team &team, int64_t *answers, int64_t *terms, double *values) const;

    // Low and high of each row and output after the tiles that hold the first `budget` terms.
    void interval(const Rows &rows, ptrdiff_t budget, Team &team, double *low, double *high) const;

    const Machine &machine() const { return machine_; }
    double work(ptrdiff_t n) const { return double(n) * machine_.points_count * (machine_.features + 16); }

  private:
    class Block;
    // Calls work(block) for blocks of all rows.
    template <class Work> void each(const Rows &rows, Team &team, const Work &work) const;

    const Machine machine_;
    const OneSided one_sided_;
    const Packed<float> packed_;
    std::vector<double> negative_, positive_;  // (tiles + 1) x outputs: tails of these weights after that many tiles
    const Spare<Block> spare_;                 // for single rows
};

}  // namespace dormie
