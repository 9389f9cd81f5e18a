// Refinement: the values of a fine reduced set, each with an error that the step from a coarse one foretells.
//
// A value has no margin, so that one half-width settles all rows or none. Here a row is settled where
// caution (slope step + floor) is at most the tolerance, the step being the largest distance between the two sets'
// outputs. Both are sums over one list of vectors, in float.
#pragma once
#include <cstddef>
#include <memory>

#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/stage.hpp"
#include "core/team.hpp"
#include "tiles/packed.hpp"

namespace dormie {

class Refinement {
  public:
    // sets: the vectors, with the outputs of the coarse set and then those of the fine one.
    Refinement(const Machine &machine, const Machine &sets, double slope, double floor)
        : machine_(machine), sets_(sets), packed_(sets, true), slope_(slope), floor_(floor) {}

    // Decides rows by values. It keeps `owner`, which has this, alive.
    std::shared_ptr<const Stage> stage(double caution, std::shared_ptr<const void> owner) const;

    // The outputs of both sets, rows x outputs of `sets`.
    void outputs(const Rows &rows, Team &team, double *to) const;

    // Multiply-adds of so many rows.
    double work(ptrdiff_t n) const;

  private:
    class Sums;
    class Steps;

    int rows_at_once() const;
    bool settles(double caution, const double *outputs) const;

    const Machine machine_, sets_;
    const Packed<float> packed_;
    const double slope_, floor_;
};

}  // namespace dormie
