// Thresholds that were measured, not proved: an output beyond one is known in sign, an output between them not at all.
#pragma once
#include <cmath>
#include <limits>
#include <vector>

#include "core/interval.hpp"
#include "core/rules.hpp"

namespace dormie {

// The low and the high threshold of every output.
using Thresholds = LowHigh;

class Referee {
  public:
    Referee(const Rule &rule, ptrdiff_t outputs) : judge_(rule, outputs), low_(outputs), high_(outputs) {}

    // The answer that the outputs whose sign is known settle, or `unsettled`. What overflowed tells nothing.
    int settle(const double *g, const Thresholds &thresholds) {
        bool any = false;
        for (size_t o = 0; o < low_.size(); o++) {
            const bool finite = std::isfinite(g[o]);
            const bool positive = finite && g[o] > thresholds.high[o], negative = finite && g[o] < thresholds.low[o];
            low_[o] = positive ? 1 : -infinity;
            high_[o] = negative ? -1 : infinity;
            any = any || positive || negative;
        }
        return any ? judge_.settle(LowHigh{low_.data(), high_.data()}) : unsettled;
    }

  private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    Judge judge_;
    std::vector<double> low_, high_;
};

}  // namespace dormie
