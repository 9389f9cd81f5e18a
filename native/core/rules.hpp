// How outputs become an answer, and whether a box of intervals settles it. The twin of machine/rules, which explains.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/interval.hpp"

namespace dormie {

enum class RuleKind : int { sign, vote, argmax, value };

struct Rule {
    RuleKind kind;
    int classes;
    bool zero_is_second;  // sign: the answer at exactly 0
    bool break_ties;      // vote: by summed confidences
    bool last_of_equal;   // argmax
    double tolerance;     // value: settled once every output is known to within this
};

inline constexpr int unsettled = -1;

class Judge {
  public:
    // All the memory it will need is made here: threads judge, and have none to spare.
    Judge(const Rule &rule, ptrdiff_t outputs)
        : rule_(rule),
          outputs_(outputs),
          least_(voters(rule)),
          most_(voters(rule)),
          sums_(rule.break_ties ? voters(rule) : 0),
          box_(outputs) {}

    // The answer that all outputs within the intervals have, or `unsettled`.
    int settle(const LowHigh &interval) {
        const auto [low, high] = interval;
        switch (rule_.kind) {
            case RuleKind::sign: return settle_sign(low[0], high[0]);
            case RuleKind::vote: return settle_vote(low, high);
            case RuleKind::argmax: return settle_argmax(low, high);
            case RuleKind::value: return settle_value(low, high);
        }
        return unsettled;
    }
    int settle(const MiddleRadius &interval) { return settle(box_.set(interval).ends()); }

    // The answer that they have whatever the source's rounding does. margin: how far that reaches, for a row whose
    // mapped norm is `norm`.
    template <class Interval> int settle(const Interval &interval, const Margin &margin, double norm) {
        return settle(box_.set(interval).widen(margin, norm).ends());
    }

    // The answer of outputs without an interval. Outputs that are answers themselves must be finite.
    int answer(const double *g) {
        switch (rule_.kind) {
            case RuleKind::sign: return rule_.zero_is_second ? g[0] >= 0 : g[0] > 0;
            case RuleKind::vote: return rule_.break_ties ? confident(g) : voted(g);
            case RuleKind::argmax: return largest(g);
            case RuleKind::value: return are_finite(g) ? 0 : unsettled;
        }
        return unsettled;
    }

  private:
    static size_t voters(const Rule &rule) { return rule.kind == RuleKind::vote ? size_t(rule.classes) : 0; }

    int settle_sign(double low, double high) const {
        if (rule_.zero_is_second ? low >= 0 : low > 0) return 1;
        if (rule_.zero_is_second ? high < 0 : high <= 0) return 0;
        return unsettled;
    }

    // The answer is the outputs themselves: which one is not for a number to say, only whether.
    int settle_value(const double *low, const double *high) const {
        for (ptrdiff_t o = 0; o < outputs_; o++)
            if (!(high[o] - low[o] <= 2 * rule_.tolerance)) return unsettled;
        return 0;
    }

    int settle_vote(const double *low, const double *high) {
        least_.assign(rule_.classes, 0);
        most_.assign(rule_.classes, 0);
        for (int a = 0, o = 0; a < rule_.classes; a++)
            for (int b = a + 1; b < rule_.classes; b++, o++) {
                const bool first = low[o] > 0;
                const bool second = rule_.break_ties ? high[o] < 0 : high[o] <= 0;
                least_[a] += first, most_[a] += !second;
                least_[b] += second, most_[b] += !first;
            }
        const int winner = first_largest(least_);
        for (int k = 0; k < rule_.classes; k++) {
            if (k == winner) continue;
            const bool tie_is_enough = k > winner && !rule_.break_ties;
            if (least_[winner] < most_[k] + !tie_is_enough) return unsettled;
        }
        return winner;
    }

    int settle_argmax(const double *low, const double *high) const {
        const int winner = largest(low);
        for (int k = 0; k < rule_.classes; k++)
            if (k != winner && !(low[winner] > high[k])) return unsettled;
        return winner;
    }

    bool are_finite(const double *g) const {
        return std::all_of(g, g + outputs_, [](double value) { return std::isfinite(value); });
    }

    int voted(const double *g) {
        least_.assign(rule_.classes, 0);
        for (int a = 0, o = 0; a < rule_.classes; a++)
            for (int b = a + 1; b < rule_.classes; b++, o++) least_[g[o] > 0 ? a : b]++;
        return first_largest(least_);
    }

    int confident(const double *g) {
        least_.assign(rule_.classes, 0);
        sums_.assign(rule_.classes, 0);
        for (int a = 0, o = 0; a < rule_.classes; a++)
            for (int b = a + 1; b < rule_.classes; b++, o++) {
                least_[a] += g[o] >= 0, least_[b] += g[o] < 0;
                sums_[a] += g[o], sums_[b] -= g[o];
            }
        for (int k = 0; k < rule_.classes; k++) sums_[k] = least_[k] + sums_[k] / (3 * (std::abs(sums_[k]) + 1));
        return first_largest(sums_);
    }

    int largest(const double *g) const {
        int best = 0;
        for (int k = 1; k < rule_.classes; k++)
            if (beats(g[k], g[best]) || (rule_.last_of_equal && !beats(g[best], g[k]))) best = k;
        return best;
    }

    template <class T> static int first_largest(const std::vector<T> &values) {
        int best = 0;
        for (int k = 1; k < int(values.size()); k++)
            if (beats(values[k], values[best])) best = k;
        return best;
    }

    // NaN, what is left of an overflow, beats every number, as in NumPy.
    template <class T> static bool beats(T a, T b) { return a > b || (a != a && b == b); }

    const Rule &rule_;
    const ptrdiff_t outputs_;
    std::vector<int> least_, most_;  // votes
    std::vector<double> sums_;
    Box box_;
};

}  // namespace dormie
