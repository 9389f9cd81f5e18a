// The champion of a one-vs-one vote: a class that wins all its pairs has more votes than any other class can have. A
// small reduced set guesses the class, and the sums of that class's own pairs prove it.
//
// Only the points with a weight in one of the class's pairs count, and each class has those packed for itself: rows are
// sorted by their guess, so that each group of rows meets whole tiles.
#pragma once
#include <memory>
#include <vector>

#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/spare.hpp"
#include "core/threads.hpp"
#include "methods/reduced_set.hpp"
#include "tiles/packed.hpp"
#include "tiles/panel.hpp"

namespace dormie {

// For each class the points with a weight in one of its pairs: members[starts[k]] to members[starts[k + 1]], ascending.
struct Members {
    const int64_t *members;
    const int64_t *starts;  // classes + 1
};

class Champion {
  public:
    // guess: with rho 0; read here, but for its arrays, which belong to the caller.
    Champion(const Machine &machine, const Vectors &guess, const Members &members);
    ~Champion();

    // The class that wins all its pairs, rounding included, or `unsettled`; and the kernel evaluations of each row.
    void decide(const Rows &rows, Team &team, int64_t *answers, int64_t *evaluations) const;

    // Multiply-adds of the whole call, for the choice of how many threads to use.
    double work(ptrdiff_t n) const;

  private:
    class Contender;
    class Blocks;
    // Whether an output of the row that is not worked out may overflow, and with it the sums that break ties.
    bool may_overflow(const RowTraits &row) const;
    // Makes every answer that the pairs of the class do not prove `unsettled`.
    void prove(const Blocks &blocks, Team &team, int64_t *answers) const;

    const Machine machine_;
    const ReducedSet guess_;
    std::vector<std::unique_ptr<const Contender>> contenders_;  // one for each class
    PointSizes sizes_;                                          // the largest of all points with a weight
    double weight_ = 0;                                         // at least the sum of their largest weights
    const Spare<Workspace<float>> spare_;                       // for single rows
};

}  // namespace dormie
