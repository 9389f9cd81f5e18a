// The champion of a one-vs-one vote: a class that wins all its pairs has more votes than any other class can have. A
// small reduced set guesses the class, and the sums of that class's own pairs prove it.
//
// Only the points with a weight in one of the class's pairs count, and each class has those packed for itself: rows are
// sorted by their guess, so that each group of rows meets whole tiles.
#pragma once
#include <memory>
#include <vector>

#include "core/machine.hpp"
#include "core/sizes.hpp"
#include "core/stage.hpp"
#include "methods/members.hpp"
#include "methods/reduced_set.hpp"

namespace dormie {

class Champion {
  public:
    // guess: of one level, whose rho does not matter; its arrays belong to the caller. members: of each class.
    Champion(const Machine &machine, const Vectors &guess, const Members &members);
    ~Champion();

    // Decides rows whose guess wins all its pairs, rounding included. It keeps `owner`, which has this, alive.
    std::shared_ptr<const Stage> stage(std::shared_ptr<const void> owner) const;

  private:
    class ClassPoints;
    class Proof;
    class ProofPass;
    // Whether an output of the row that is not worked out may overflow, and with it the sums that break ties.
    bool may_overflow(const RowTraits &row) const;

    const Machine machine_;
    const ReducedSet guess_;
    std::vector<std::unique_ptr<const ClassPoints>> classes_;
    PointSizes sizes_;   // the largest of all points with a weight
    double weight_ = 0;  // at least the sum of their largest weights
    int tries_ = 2;      // guesses for a row
};

}  // namespace dormie
