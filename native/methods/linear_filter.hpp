// The linear filter (DeCoste & Mazzoni 2003): one vector per output, thresholds, and nothing else.
//
// In double, and row by row, because reading a row takes as long as one product with it.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "core/aligned.hpp"
#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/stage.hpp"
#include "core/team.hpp"
#include "methods/thresholds.hpp"

namespace dormie {

class LinearFilter {
  public:
    // vectors: outputs x features, bias: outputs, for rows as they come; read once.
    LinearFilter(const Machine &machine, const double *vectors, const double *bias);

    // Decides rows beyond thresholds. It keeps `owner`, which has this and the thresholds, alive.
    std::shared_ptr<const Stage> stage(const Thresholds &thresholds, std::shared_ptr<const void> owner) const;

    // The linear machine's outputs, rows x outputs.
    void outputs(const Rows &rows, Team &team, double *out) const;

    // Multiply-adds of the whole call, reading counted as well.
    double work(ptrdiff_t n) const { return double(n) * (double(bias_.size()) + reading_a_number) * double(stride_); }

  private:
    class Filter;
    class Block;

    const Machine machine_;
    const ptrdiff_t stride_;
    Aligned<double> vectors_;  // for mapped rows
    std::vector<double> bias_;
    std::vector<int32_t> all_;  // 0, 1, ...
};

}  // namespace dormie
