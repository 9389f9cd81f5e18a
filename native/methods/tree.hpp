// Support vector trees (Ukkonen 2010): a row meets the points on its way down, and no others.
//
// At a node a row goes left where K(x, s) <= threshold, else right; where the way ends, the kernel values met on it are
// weighed by that terminal. A block of rows is sorted down the tree as by quicksort, so that the rows at a node share
// one pass of its point. In double: thresholds lie between rows, and float would send some the wrong way.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "core/aligned.hpp"
#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/stage.hpp"
#include "core/team.hpp"
#include "simd/ops.hpp"

namespace dormie {

// All arrays belong to the caller; see structure.py. A child >= 0 is a node, later than its parent; any other
// is the terminal ~child.
struct Branches {
    ptrdiff_t nodes, terminals;
    const double *points;      // nodes x d
    const double *thresholds;  // nodes
    const int64_t *children;   // nodes x 2
    const int64_t *offsets;    // terminals + 1: where the weights of each begin, one for each node on the way
    const double *weights;     // offsets[terminals] x c
    const double *constants;   // terminals x c
};

class Tree {
  public:
    Tree(const Machine &machine, const Branches &branches);

    // Decides rows whose value +- half_widths (terminals x c) has one answer. It keeps `owner`, which has this and the
    // half-widths, alive.
    std::shared_ptr<const Stage> stage(const double *half_widths, std::shared_ptr<const void> owner) const;

    // The value of each row, rows x outputs, the terminal it ends at, and the kernel values that took.
    void walk(const Rows &rows, Team &team, double *values, int64_t *terminals, int64_t *evaluations) const;

    // Multiply-adds of n rows, if as many end at one terminal as at another, and what it takes to read them.
    double work(ptrdiff_t n) const {
        const double d = double(machine_.features), c = double(machine_.outputs);
        const double depth = double(b_.offsets[b_.terminals]) / double(b_.terminals);
        return double(n) * (depth * (d + c + node_work) + d * reading_a_number + row_work);
    }

  private:
    class Block;
    class Descent;
    struct Node {
        double threshold;
        int32_t children[2];
        int32_t depth;
        RowTerms<double> terms;  // the point takes a row's place: see kernel.hpp
    };
    // In multiply-adds: the kernel function and the sorting at a node; the answer of a row.
    static constexpr double node_work = 256, row_work = 512;

    int rows_at_once() const;
    void lay_out_node(ptrdiff_t number);
    void lay_out_weights(ptrdiff_t terminal);
    ptrdiff_t depth_of(ptrdiff_t terminal) const { return b_.offsets[terminal + 1] - b_.offsets[terminal]; }

    const Machine machine_;
    const Branches b_;
    const ptrdiff_t stride_;  // of points and rows, their offset included
    Aligned<double> points_;
    std::vector<Node> nodes_;
    ptrdiff_t met_stride_ = 0;  // as many kernel values as a row may meet, in whole vectors
    Aligned<double> weights_;   // of each terminal, those of an output together, in whole vectors
    std::vector<ptrdiff_t> weights_at_;
};

}  // namespace dormie
