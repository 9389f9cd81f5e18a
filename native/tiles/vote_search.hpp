// Finds the class that wins all its pairs of a one-vs-one vote, without working out all pairs.
//
// For each class the sum of its outputs over all rivals costs one output. The class with the largest sum is asked for
// its own pairs; if it loses one, the class that it loses to most clearly is asked next. With c classes that is about
// 2c outputs in place of c (c - 1) / 2.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "core/aligned.hpp"
#include "core/contender.hpp"
#include "core/interval.hpp"
#include "core/machine.hpp"
#include "core/rounding.hpp"
#include "core/sizes.hpp"
#include "simd/ops.hpp"
#include "tiles/panel.hpp"

namespace dormie {

class VoteSearch {
  public:
    static bool serves(const Machine &m) { return m.rule.kind == RuleKind::vote && m.rule.classes >= 3; }

    // m: over few points, packed in their own order.
    explicit VoteSearch(const Machine &m)
        : classes_(m.rule.classes),
          points_(m.points_count),
          width_(int((classes_ + W - 1) / W * W)),
          rows_((points_ + W - 1) / W * W),
          score_bias_(size_t(width_), -std::numeric_limits<float>::infinity()),
          score_weights_(size_t(rows_ * width_)) {
        for (ptrdiff_t k = 0; k < classes_; k++) add_class(m, k);
    }

    // Room for one row.
    struct Space {
        explicit Space(const VoteSearch &search)
            : scores(size_t(search.width_)), pairs(size_t(search.width_)), outputs(size_t(2 * search.classes_)) {}
        std::vector<float> scores, pairs;  // pairs: of the class asked last, and behind them its sum of error sizes
        std::vector<double> outputs;
    };

    // The class that wins all its pairs, half-widths and rounding left out; or `unsettled`, if there is none or it was
    // not found. values(panel): the kernel values of the row with a panel's points.
    template <class Values> int find(const Values &values, Space &space) const {
        std::copy(score_bias_.begin(), score_bias_.end(), space.scores.begin());
        weigh(values, score_weights_, space.scores);
        ptrdiff_t k = std::max_element(space.scores.begin(), space.scores.end()) - space.scores.begin();
        for (int i = 0; i < tries; i++) {
            const Pairs &pairs = *pairs_[size_t(k)];
            std::fill(space.pairs.begin(), space.pairs.end(), 0.0f);
            weigh(values, pairs.weights, space.pairs);
            for (ptrdiff_t o = 0; o < classes_ - 1; o++)
                space.outputs[o] = double(space.pairs[o]) + pairs.contender.machine().bias[o];
            const int rival = pairs.contender.beaten_by(space.outputs.data());
            if (rival == Contender::nobody) return int(k);
            k = rival;
        }
        return unsettled;
    }

    // Whether class k, which find has found, wins all its pairs by more than half-widths (rho, of all pairs of the
    // vote, times a factor) and rounding. sizes: of the largest point.
    template <class Values>
    bool wins(int k, const RowTraits &row, const PointSizes &sizes, double factor, const double *rho,
              const Values &values, Space &space) const {
        const Pairs &pairs = *pairs_[size_t(k)];
        const Machine &m = pairs.contender.machine();
        const double errors = error_sum(pairs, m, values, space);
        const double chain = double(rows_ / 4 + 4) * 0x1p-24;  // of weigh_across; sum_error has that of weigh
        const Rounding<float> rounding(m, sizes, row);
        const double error =
            rounding.sum_error(errors, pairs.total, double(rows_)) + 1.001 * chain * errors * rounding.largest();
        double *radius = space.outputs.data() + classes_ - 1;
        for (ptrdiff_t o = 0; o < m.outputs; o++)
            radius[o] = error + Rounding<float>::bias_error(m.bias[o]) + factor * rho[pairs.contender.output(o)];
        return pairs.contender.wins({space.outputs.data(), radius}, row.norm);
    }

  private:
    static constexpr int W = tile_width<float>;
    static constexpr int tries = 3;

    struct Pairs {
        Pairs(const Machine &m, ptrdiff_t k, ptrdiff_t rows, int width)
            : contender(m, k, m.points_count), weights(size_t(rows * width)) {}
        Contender contender;
        Aligned<float> weights;  // for each point those of the pairs, and behind them the largest, rounded up
        double total = 0;        // of the largest
    };

    void add_class(const Machine &m, ptrdiff_t k) {
        auto pairs = std::make_unique<Pairs>(m, k, rows_, width_);
        const ptrdiff_t c = classes_ - 1;
        const std::vector<double> weights = pairs->contender.weights(m, nullptr);
        const double *bias = pairs->contender.machine().bias;
        score_bias_[k] = float(std::accumulate(bias, bias + c, 0.0));
        for (ptrdiff_t i = 0; i < points_; i++) {
            const double *from = weights.data() + i * c;
            float *to = pairs->weights.get() + i * width_;
            double largest = 0;
            for (ptrdiff_t o = 0; o < c; o++) {
                to[o] = float(from[o]);
                largest = std::fmax(largest, std::abs(from[o]));
            }
            to[c] = float(largest * (1 + 1e-6) + 1e-37);
            pairs->total += double(to[c]);
            score_weights_[i * width_ + k] = float(std::accumulate(from, from + c, 0.0));
        }
        pairs_.push_back(std::move(pairs));
    }

    // Panel after panel.
    template <class Values>
    void weigh(const Values &values, const Aligned<float> &weights, std::vector<float> &sums) const {
        for (ptrdiff_t from = 0; from < rows_; from += panel_width<float>)
            ops<float>().weigh_across(values(size_t(from / panel_width<float>)),
                                      int(std::min<ptrdiff_t>(rows_ - from, panel_width<float>)),
                                      weights.get() + from * width_, width_, sums.data());
    }

    // The sum of the largest weights times error sizes: which are the values, or of their own, or 1.
    template <class Values>
    double error_sum(const Pairs &pairs, const Machine &m, const Values &values, const Space &space) const {
        if (m.kernel.kind == KernelKind::rbf) return double(space.pairs[size_t(classes_ - 1)]);
        if (!own_error_sizes(m)) return pairs.total;
        double sum = 0;
        for (ptrdiff_t i = 0; i < points_; i++)
            sum += double(pairs.weights[i * width_ + classes_ - 1]) *
                   double(values.errors(size_t(i / panel_width<float>))[i % panel_width<float>]);
        return sum;
    }

    const ptrdiff_t classes_, points_;
    const int width_;       // of a row of weights
    const ptrdiff_t rows_;  // of weights: whole tiles of points
    std::vector<float> score_bias_;
    Aligned<float> score_weights_;
    std::vector<std::unique_ptr<Pairs>> pairs_;  // of each class
};

}  // namespace dormie
