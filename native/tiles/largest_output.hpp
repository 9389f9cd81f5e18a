// Settles the largest of several outputs over few points, all of them summed in one pass.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/interval.hpp"
#include "core/machine.hpp"
#include "core/rounding.hpp"
#include "core/rules.hpp"
#include "core/sizes.hpp"
#include "tiles/quick_radius.hpp"
#include "tiles/weights_across.hpp"

namespace dormie {

class LargestOutput {
  public:
    static bool serves(const Machine &m) { return m.rule.kind == RuleKind::argmax; }

    // m: over few points, packed in their own order.
    explicit LargestOutput(const Machine &m) : m_(m), weights_(m.weights, m.points_count, m.outputs) {}

    // Room for one row.
    struct Space {
        explicit Space(const LargestOutput &largest)
            : sums(largest.weights_.width()), middle(size_t(largest.m_.outputs)), radius(middle.size()) {}
        std::vector<float> sums;
        std::vector<double> middle, radius;
    };

    // The gap between the two largest outputs that settles an rbf row, quick to work out. It is no smaller than what
    // `settle` asks for with care: no answer depends on which of the two was asked.
    class QuickGap {
      public:
        static bool serves(const Machine &m) { return m.kernel.kind == KernelKind::rbf; }

        // rho, times a factor: half-widths. sizes: of the largest point.
        QuickGap(const LargestOutput &largest, const PointSizes &sizes, double factor, const double *rho) {
            const Machine &m = largest.m_;
            const auto [least, most] = std::minmax_element(rho, rho + m.outputs);
            double bias = 0, constant = 0, slope = 0;  // the largest
            for (ptrdiff_t o = 0; o < m.outputs; o++) {
                bias = std::fmax(bias, std::abs(m.bias[o]));
                constant = std::fmax(constant, m.margin.constant[o]);
                slope = std::fmax(slope, m.margin.slope[o]);
            }
            Machine worst = m;
            worst.outputs = 1;
            worst.bias = &bias;
            worst.margin.constant = &constant;
            worst.margin.slope = &slope;
            radius_ = largest.weights_.quick_radius(worst, sizes, factor * *most);
            none_below_ = 2 * factor * *least * (1 - 1e-9);
        }

        // At no gap below this is any row settled.
        double none_below() const { return none_below_; }
        // At any gap beyond this a row is settled.
        double all_beyond(double norm, double errors) const { return 2 * (1 + 1e-6) * radius_(norm, errors); }

      private:
        QuickRadius radius_;
        double none_below_;
    };

    // The largest output, half-widths and rounding left out. values(panel): the kernel values of the row with a
    // panel's points.
    template <class Values> int find(const Values &values, Space &space, Judge &judge) const {
        sum(values, space);
        return judge.answer(space.middle.data());
    }

    // The largest output if it is so by more than half-widths (rho times a factor) and rounding, else `unsettled`.
    // sizes: of the largest point. quick: of the same rho and factor, or null.
    template <class Values>
    int settle(const RowTraits &row, const PointSizes &sizes, double factor, const double *rho, const Values &values,
               const QuickGap *quick, Space &space, Judge &judge) const {
        sum(values, space);
        if (quick) {
            const Lead lead = lead_of(space.middle);
            if (lead.gap < quick->none_below()) return unsettled;
            if (lead.gap > quick->all_beyond(row.reach, weights_.value_errors(space.sums))) return lead.output;
        }
        const double error = weights_.error(m_, sizes, row, values, space.sums);
        for (size_t o = 0; o < space.middle.size(); o++) {
            space.radius[o] = error + Rounding<float>::bias_error(m_.bias[o]) + (rho[o] > 0 ? factor * rho[o] : 0);
            forget_unless_finite(space.middle[o], space.radius[o]);
        }
        return judge.settle(MiddleRadius{space.middle.data(), space.radius.data()}, m_.margin, row.reach);
    }

  private:
    template <class Values> void sum(const Values &values, Space &space) const {
        weights_.weigh(values, space.sums);
        for (size_t o = 0; o < space.middle.size(); o++) space.middle[o] = double(space.sums[o]) + m_.bias[o];
    }

    // The largest output, and how far it is ahead of the next one.
    struct Lead {
        int output;
        double gap;
    };
    static Lead lead_of(const std::vector<double> &outputs) {
        constexpr size_t lanes = 4;  // one after the other would wait for each comparison
        double first[lanes], second[lanes];
        std::fill_n(first, lanes, -std::numeric_limits<double>::infinity());
        std::fill_n(second, lanes, -std::numeric_limits<double>::infinity());
        size_t o = 0;
        for (; o + lanes <= outputs.size(); o += lanes)
            for (size_t i = 0; i < lanes; i++) take(outputs[o + i], first[i], second[i]);
        for (; o < outputs.size(); o++) take(outputs[o], first[0], second[0]);
        for (size_t i = 1; i < lanes; i++) {
            take(first[i], first[0], second[0]);
            second[0] = std::max(second[0], second[i]);
        }
        return {int(std::find(outputs.begin(), outputs.end(), first[0]) - outputs.begin()), first[0] - second[0]};
    }
    static void take(double output, double &first, double &second) {
        second = std::max(second, std::min(first, output));
        first = std::max(first, output);
    }

    const Machine m_;
    const WeightsAcross weights_;
};

}  // namespace dormie
