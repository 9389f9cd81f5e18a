// The pairs of a one-vs-one vote that a small reduced set leaves open, in full.
//
// A reduced set estimates every pair, and tells which class should win. A class that wins all its pairs has won: those
// that are clear of zero by measured half-widths are believed, and those that are not are summed in full, over the
// points of two classes alone.
#pragma once
#include <memory>
#include <vector>

#include "core/contender.hpp"
#include "core/machine.hpp"
#include "core/stage.hpp"
#include "methods/members.hpp"
#include "methods/reduced_set.hpp"

namespace dormie {

class OpenPairs {
  public:
    // guess: of one level, whose rho has the half-widths; its arrays belong to the caller. members: of each pair.
    OpenPairs(const Machine &machine, const Vectors &guess, const Members &members);
    ~OpenPairs();

    // Decides rows for which a class wins all its pairs, with half-widths times the caution. It keeps `owner`, which
    // has this, alive.
    std::shared_ptr<const Stage> stage(double caution, std::shared_ptr<const void> owner) const;

  private:
    class PairPoints;
    class Duels;
    class DuelPass;

    const Machine machine_;
    const ReducedSet guess_;
    std::vector<std::unique_ptr<const PairPoints>> pairs_;
    std::vector<std::unique_ptr<const Contender>> contenders_;  // of each class, without points
    double mean_points_ = 0;                                    // of a pair
};

}  // namespace dormie
