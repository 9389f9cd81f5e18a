// Fast stopping (Muller 2004): terms in order of size, and a bound on what the rest can still add.
//
// After some tiles, G lies within what their sum says, its rounding, and sqrt(K(x,x)) times the tail of
// |weight| sqrt(K(s,s)) over the tiles to come. Where no kernel value of the row is negative, the low end needs the
// tail of the negative weights alone, and the high end that of the positive ones.
#pragma once
#include <memory>
#include <vector>

#include "core/interval.hpp"
#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/stage.hpp"
#include "core/team.hpp"
#include "tiles/packed.hpp"

namespace dormie {

// Which rows have no negative kernel value: see stage.py.
enum class OneSided : int { no_row, rows_without_negatives, every_row };

class FastStopping {
  public:
    // The machine's points are in the order in which they are to be added, the largest terms first.
    FastStopping(const Machine &machine, OneSided one_sided);

    // Decides rows; evaluations are the terms that each took. It keeps `owner`, which has this, alive.
    std::shared_ptr<const Stage> stage(std::shared_ptr<const void> owner) const;

    // Low and high of each row and output after the tiles that hold the first `budget` terms.
    void interval(const Rows &rows, ptrdiff_t budget, Team &team, double *low, double *high) const;

    const Machine &machine() const { return machine_; }
    double work(ptrdiff_t n) const { return double(n) * machine_.points_count * (machine_.features + 16); }

  private:
    class Block;
    class Terms;

    const Machine machine_;
    const OneSided one_sided_;
    const Packed<float> packed_;
    std::vector<double> negative_, positive_;  // (tiles + 1) x outputs: tails of these weights after that many tiles
};

}  // namespace dormie
