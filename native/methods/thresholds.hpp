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

// The rule for differences of outputs, pairs a < b in order, where the largest output is the answer: it has the votes
// of all its pairs, and no tie is enough. Any other rule is for the outputs themselves. The twin of in_pairs in Python.
inline Rule in_pairs(Rule rule) {
    if (rule.kind != RuleKind::argmax) return rule;
    rule.kind = RuleKind::vote;
    rule.break_ties = true;
    return rule;
}

// How many numbers in_pairs(rule) is for.
inline ptrdiff_t comparisons(const Rule &rule, ptrdiff_t outputs) {
    return rule.kind == RuleKind::argmax ? outputs * (outputs - 1) / 2 : outputs;
}

// Outputs as in_pairs(rule) reads them.
class Comparison {
  public:
    Comparison(const Rule &rule, ptrdiff_t outputs)
        : outputs_(outputs), differences_(rule.kind == RuleKind::argmax ? comparisons(rule, outputs) : 0) {}

    const double *operator()(const double *g) {
        if (differences_.empty()) return g;
        double *to = differences_.data();
        for (ptrdiff_t a = 0; a < outputs_; a++)
            for (ptrdiff_t b = a + 1; b < outputs_; b++) *to++ = g[a] - g[b];
        return differences_.data();
    }

  private:
    const ptrdiff_t outputs_;
    std::vector<double> differences_;
};

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
