// Nearest support vectors (DeCoste & Mazzoni 2003): the largest terms first, until the partial sum passes a threshold.
//
// The largest for each row, by kernel values in few coordinates (NearestByQuery); or the largest for a cell of rows
// that are alike (NearestByCell), so that its rows meet their vectors in tiles. Partial sums are judged after as many
// terms as `steps` says, by thresholds that were measured: nothing here is certified.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "core/aligned.hpp"
#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/stage.hpp"
#include "core/team.hpp"
#include "methods/nearest/sketch.hpp"
#include "methods/thresholds.hpp"
#include "tiles/packed.hpp"

namespace dormie {

class Nearest {
  public:
    virtual ~Nearest() = default;

    // Decides rows by thresholds, steps x cells x comparisons(); evaluations are the terms that each took. It keeps
    // `owner`, which has this and the thresholds, alive.
    std::shared_ptr<const Stage> stage(const Thresholds &thresholds, std::shared_ptr<const void> owner) const;

    // The partial sums after each step, rows x steps x outputs (NaN where numbers are too large), and each row's cell.
    void sums(const Rows &rows, Team &team, double *out, int64_t *cells) const;

    // Multiply-adds of the whole call, if every row takes the first step only.
    virtual double work(ptrdiff_t n) const = 0;

    ptrdiff_t steps() const { return ptrdiff_t(steps_.size()); }
    ptrdiff_t cells() const { return cells_; }
    // Outputs, or pairs of them where the largest is the answer: each has thresholds of its own.
    ptrdiff_t comparisons() const { return dormie::comparisons(machine_.rule, machine_.outputs); }

  protected:
    // Of a row: its place in the block, cell, step and sums. True: leave this row.
    using Visit = std::function<bool(int, ptrdiff_t, ptrdiff_t, const double *)>;

    // Where a row has got to.
    struct Progress {
        int place;
        ptrdiff_t cell;
        int64_t done;
        ptrdiff_t step;
    };

    // What one thread needs for a block of rows.
    class Block {
      public:
        virtual ~Block() = default;
        // Adds the terms of every row, as far as visit lets it go. Rows whose numbers are too large are not visited.
        virtual void walk(const LaidOut &rows, const Visit &visit) = 0;
    };

    // steps: ascending, from 0 where something is foreseen; the last is as many terms as are ever added.
    Nearest(const Machine &machine, std::vector<int64_t> steps, ptrdiff_t cells)
        : machine_(machine), steps_(std::move(steps)), cells_(cells) {}

    virtual int rows_at_once() const = 0;
    virtual std::unique_ptr<Block> block(int rows) const = 0;

    // Adds terms of a row, given their kernel values and points; true once visit said so.
    bool add_terms(const float *values, const int32_t *points, int count, Progress &at, double *g,
                   const Visit &visit) const;

    const Machine machine_;
    const std::vector<int64_t> steps_;
    const ptrdiff_t cells_;

  private:
    class Terms;
};

// Points by the sign of their weight, each sign in tiles of its own; with several outputs all are on one side.
struct Sides {
    explicit Sides(const Machine &machine);
    std::vector<int32_t> place;  // the point at each place, or -1
    ptrdiff_t tiles[2], counts[2];
};

// A row's own order: by |weight| K in few coordinates. Of one output, terms of either sign are taken so that the sums
// of their weights keep level ("tug of war"). For the terms still to come, their values in few coordinates count, as
// many times as foresight says.
class NearestByQuery final : public Nearest {
  public:
    NearestByQuery(const Machine &machine, const double *basis, ptrdiff_t components, std::vector<int64_t> steps,
                   double foresight);

    // The points in the order of each row, rows x the last step.
    void order(const Rows &rows, Team &team, int64_t *out) const;

    double work(ptrdiff_t n) const override {
        return double(n) * (double(sketch_.components()) * machine_.features +
                            double(sides_.place.size()) * double(sketch_.size()));
    }

  private:
    class Few;
    int rows_at_once() const override;
    std::unique_ptr<Block> block(int rows) const override;

    const Sketch sketch_;
    const double foresight_;
    const std::vector<double> sizes_;  // |weight| of each point, summed over the outputs
    const Sides sides_;
    const std::vector<double> sketches_, weights_;  // of the points, in their places; weights times foresight
    const Machine sketched_;
    const Packed<float> packed_;
    const std::vector<float> place_sizes_;  // negative where there is no point
    const ptrdiff_t stride_;                // of points_
    Aligned<float> points_;                 // scaled as in kernel.hpp, one after the other
    std::vector<float> offsets_;
};

// The order of the cell whose center is nearest, in few coordinates.
class NearestByCell final : public Nearest {
  public:
    // centers: cells x components; orders: cells x the last step, points of the machine.
    NearestByCell(const Machine &machine, const double *basis, ptrdiff_t components, std::vector<int64_t> steps,
                  const double *centers, const int64_t *orders, ptrdiff_t cells);

    double work(ptrdiff_t n) const override {
        return double(n) * double(machine_.features + 16) * double(sketch_.components() + steps_.front());
    }

  private:
    class Many;
    int rows_at_once() const override;
    std::unique_ptr<Block> block(int rows) const override;

    const Sketch sketch_;
    const ptrdiff_t stride_;  // of centers_
    Aligned<float> centers_;
    std::vector<float> half_squares_;  // |center|^2 / 2
    std::vector<int32_t> all_, orders_;
    std::vector<std::unique_ptr<Packed<float>>> packed_;
};

}  // namespace dormie
