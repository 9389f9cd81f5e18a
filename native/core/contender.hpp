// One class of a one-vs-one vote against each of the others: a class that wins all its pairs has more votes than any
// other class can have.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/interval.hpp"
#include "core/machine.hpp"

namespace dormie {

// A machine with an output for each rival, in their order, positive where the class wins.
class Contender {
  public:
    // Of some points of the machine; without points and weights, which users pack and then need no more.
    Contender(const Machine &m, ptrdiff_t own, ptrdiff_t points_count) : own_(own) {
        const ptrdiff_t classes = m.rule.classes;
        for (ptrdiff_t other = 0; other < classes; other++) {
            if (other == own) continue;
            outputs_.push_back(own < other ? pair_of(own, other, classes) : pair_of(other, own, classes));
            bias_.push_back(sign_of(other) * m.bias[outputs_.back()]);
            constant_.push_back(m.margin.constant[outputs_.back()]);
            slope_.push_back(m.margin.slope[outputs_.back()]);
        }
        machine_ = m;
        machine_.points_count = points_count;
        machine_.outputs = ptrdiff_t(outputs_.size());
        machine_.points = machine_.weights = nullptr;
        machine_.bias = bias_.data();
        machine_.margin.constant = constant_.data();
        machine_.margin.slope = slope_.data();
    }
    // The machine has pointers into this.
    Contender(const Contender &) = delete;
    Contender &operator=(const Contender &) = delete;

    const Machine &machine() const { return machine_; }
    // Of an output: the class that it is against, and which output of the vote it is.
    ptrdiff_t rival(ptrdiff_t output) const { return output + (output >= own_); }
    ptrdiff_t output(ptrdiff_t output) const { return outputs_[output]; }
    // By which the output of the vote is multiplied.
    double sign(ptrdiff_t output) const { return sign_of(rival(output)); }

    // The weights of these points (null: the first ones), points x rivals.
    std::vector<double> weights(const Machine &m, const int64_t *points) const {
        const ptrdiff_t n = machine_.points_count, c = machine_.outputs;
        std::vector<double> weights(size_t(n * c));
        for (ptrdiff_t i = 0; i < n; i++)
            for (ptrdiff_t o = 0; o < c; o++)
                weights[i * c + o] = sign_of(rival(o)) * m.weights[(points ? points[i] : i) * m.outputs + outputs_[o]];
        return weights;
    }

    static constexpr int nobody = -1;
    // The class that beats this one most clearly, or nobody.
    int beaten_by(const double *outputs) const {
        const double *worst = std::min_element(outputs, outputs + machine_.outputs);
        return *worst < 0 ? int(rival(worst - outputs)) : nobody;
    }

    // Whether a row of this norm surely wins all pairs, whatever the source's rounding does.
    bool wins(const MiddleRadius &interval, double norm) const {
        for (ptrdiff_t o = 0; o < machine_.outputs; o++) {
            double low = interval.middle[o] - interval.radius[o], high = low;
            const Margin &all = machine_.margin;
            Margin{&constant_[o], &slope_[o], all.gain, all.start, all.degree}.widen(norm, 1, &low, &high);
            if (!(low > 0 && std::isfinite(low))) return false;
        }
        return true;
    }

  private:
    // The output of the pair a < b.
    static ptrdiff_t pair_of(ptrdiff_t a, ptrdiff_t b, ptrdiff_t classes) {
        return a * (2 * classes - a - 1) / 2 + b - a - 1;
    }
    // By which the output of the pair with a rival is multiplied.
    double sign_of(ptrdiff_t other) const { return own_ < other ? 1.0 : -1.0; }

    const ptrdiff_t own_;
    std::vector<ptrdiff_t> outputs_;
    std::vector<double> bias_, constant_, slope_;
    Machine machine_;
};

}  // namespace dormie
