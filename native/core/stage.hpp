// What the cascade knows of a stage: a method over a machine, with the thresholds or the caution it is to go by.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/laid_out.hpp"
#include "core/machine.hpp"
#include "core/rules.hpp"
#include "core/team.hpp"

namespace dormie {

// What a stage says of each row of a block; the arrays are the cascade's.
struct Verdicts {
    int32_t *answers;      // or `unsettled`
    int32_t *evaluations;  // of the kernel
    double *values;        // rows x outputs where the outputs are the answer, else null

    void keep(int r, const double *outputs, ptrdiff_t count) const {
        if (values) std::copy_n(outputs, count, values + r * count);
    }

    // The rows that are unsettled, of so many. Without a branch: which ones they are nobody can predict.
    void list_open(int rows, std::vector<int> &open) const {
        open.resize(size_t(rows));
        size_t found = 0;
        for (int r = 0; r < rows; r++) {
            open[found] = r;
            found += answers[r] == unsettled;
        }
        open.resize(found);
    }
};

// A stage at work in one thread: what it needs for a block of rows.
class Pass {
  public:
    virtual ~Pass() = default;
    // Of all rows of a block. The team has one thread, unless the stage can share the work on few rows.
    virtual void decide(const LaidOut &rows, Team &team, const Verdicts &verdicts) = 0;
};

class Stage {
  public:
    virtual ~Stage() = default;
    virtual const Machine &machine() const = 0;
    virtual Forms forms() const = 0;
    // How many rows a block has at best.
    virtual int rows_at_once() const = 0;
    virtual std::unique_ptr<Pass> pass(int rows) const = 0;

    // Whether its points are so many that threads had better share them than fetch all of them for a few rows each.
    virtual bool shares_points() const { return false; }
    // Multiply-adds of so many rows, reading included, as far as can be told: for the choice of how many threads to
    // use.
    virtual double work(ptrdiff_t rows) const = 0;
};

}  // namespace dormie
