// The linear filter (DeCoste & Mazzoni 2003): one vector per output, thresholds, and nothing else.
//
// The vectors work on rows as they come, the input map is in them already. In double, because what the map subtracts is
// subtracted only in the end; and row by row, because reading a row takes as long as one product with it.
#pragma once
#include <vector>

#include "core/aligned.hpp"
#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/spare.hpp"
#include "core/threads.hpp"
#include "methods/thresholds.hpp"

namespace dormie {

class LinearFilter {
  public:
    // vectors: outputs x features, bias: outputs; read once.
    LinearFilter(const Machine &machine, const double *vectors, const double *bias);
    ~LinearFilter();

    // The answer of each row, or `unsettled`.
    void decide(const Rows &rows, const Thresholds &thresholds, Team &team, int64_t *answers) const;

    // The linear machine's outputs, rows x outputs.
    void outputs(const Rows &rows, Team &team, double *out) const;

    // Multiply-adds of the whole call, reading counted as one vector more.
    double work(ptrdiff_t n) const { return double(n) * (double(bias_.size()) + reading_a_number) * double(stride_); }

  private:
    class Block;
    // Calls finish(row number, outputs, worker) once for each row.
    template <class Finish> void evaluate(const Rows &rows, Team &team, const Finish &finish) const;

    const Rule rule_;
    const ptrdiff_t stride_;
    Aligned<double> vectors_;
    const std::vector<double> bias_;
    std::vector<int32_t> all_;  // 0, 1, ...
    const Spare<Block> spare_;  // for single rows
};

}  // namespace dormie
