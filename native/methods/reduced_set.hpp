// Reduced sets (Burges & Schölkopf 1997): a few vectors in place of all, and how far that can be off.
//
// Vectors z_1..z_n in an order in which prefixes serve too: level j uses the first n_j of them with weights of its own,
// G' = sum_k gamma_k K(x, z_k) + b, and G lies within rho_j sqrt(K(x,x)) of it, rounding apart. Kernel values are in
// float and kept: a row that goes on to the next level pays for the new vectors only.
#pragma once
#include <memory>
#include <vector>

#include "core/interval.hpp"
#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/stage.hpp"
#include "core/team.hpp"
#include "tiles/largest_output.hpp"
#include "tiles/packed.hpp"
#include "tiles/panel_weights.hpp"
#include "tiles/vote_search.hpp"

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
    class Block;

  public:
    ReducedSet(const Machine &machine, const Vectors &vectors);

    // Decides rows, each after as few levels as it takes; evaluations are the vectors that were used. caution: a factor
    // on rho. by_champion: whether a vote is settled only by a class that wins all its pairs, which takes far fewer
    // outputs. It keeps `owner`, which has this, alive.
    std::shared_ptr<const Stage> stage(double caution, bool by_champion, std::shared_ptr<const void> owner) const;

    ptrdiff_t vectors() const { return machine_.points_count; }

    // Outputs and radii of each row at a level, each rows x outputs.
    void interval(const Rows &rows, ptrdiff_t level, Team &team, double *middle, double *radius) const;

    // In one thread, what the first level has to say of some rows of a block: their answers, half-widths and rounding
    // left out.
    class Guesses {
      public:
        Guesses(const ReducedSet &set, int rows);
        ~Guesses();
        void of(const LaidOut &rows, const int *which, int count, int32_t *answers);

        // The outputs and radii of those rows in place of their answers, each rows of the block x outputs.
        void outputs(const LaidOut &rows, const int *which, int count, double caution, double *middle, double *radius);

      private:
        std::unique_ptr<Block> block_;
    };

    // Multiply-adds of the first level, which all rows go through, and what it takes to read them.
    double work(ptrdiff_t n) const {
        const double d = double(machine_.features), c = double(machine_.outputs);
        return double(n) * (double(levels_.front().size) * (d + c + 16) + d * reading_a_number);
    }

  private:
    class Levels;
    struct Level {
        ptrdiff_t size;
        std::vector<PanelWeights<float>> panels;
        const double *rho;
        std::unique_ptr<const VoteSearch> search;      // of a vote
        std::unique_ptr<const LargestOutput> largest;  // of an argmax
    };

    const Machine machine_;  // its kernel, bias and rule, over the vectors
    const Packed<float> packed_;
    std::vector<Level> levels_;
};

}  // namespace dormie
