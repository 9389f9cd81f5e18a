// Finds the class that wins all its pairs of a one-vs-one vote, without working out all pairs.
//
// For each class the sum of its outputs over all rivals costs one output. The class with the largest sum is asked for
// its own pairs; if it loses one, the class that it loses to most clearly is asked next. With c classes that is about
// 2c outputs in place of c (c - 1) / 2.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "core/contender.hpp"
#include "core/machine.hpp"
#include "core/rounding.hpp"
#include "core/sizes.hpp"
#include "simd/ops.hpp"
#include "tiles/panel.hpp"
#include "tiles/panel_weights.hpp"

namespace dormie {

class VoteSearch {
  public:
    static bool serves(const Machine &m) { return m.rule.kind == RuleKind::vote && m.rule.classes >= 3; }

    // m: over few points, packed in this order.
    VoteSearch(const Machine &m, const std::vector<ptrdiff_t> &order)
        : classes_(m.rule.classes), lanes_((m.points_count + W - 1) / W * W), scores_(size_t(classes_)) {
        std::vector<double> sums(size_t(m.points_count * classes_));
        for (ptrdiff_t k = 0; k < classes_; k++) {
            auto contender = std::make_unique<Contender>(m, k, m.points_count);
            const std::vector<double> weights = contender->weights(m, nullptr);
            const ptrdiff_t c = classes_ - 1;
            for (ptrdiff_t o = 0; o < c; o++) scores_[k] += contender->machine().bias[o];
            for (ptrdiff_t i = 0; i < m.points_count; i++)
                for (ptrdiff_t o = 0; o < c; o++) sums[i * classes_ + k] += weights[i * c + o];
            pairs_.push_back(packed(contender->machine(), weights.data(), order));
            contenders_.push_back(std::move(contender));
        }
        Machine all = m;
        all.outputs = classes_;
        score_weights_ = packed(all, sums.data(), order);
    }

    // Room for one row.
    struct Space {
        explicit Space(const VoteSearch &search)
            : scores(size_t(2 * search.classes_ + 1)), pairs(size_t(2 * search.classes_)) {}
        std::vector<double> scores, pairs;
    };

    // The class that wins all its pairs, half-widths and rounding left out; or -1, if there is none or it was not
    // found. values(panel): the kernel values of the row with a panel's points. The outputs of its pairs are in
    // `space`.
    template <class Values> int find(const Values &values, Space &space) const {
        std::copy(scores_.begin(), scores_.end(), space.scores.begin());
        for (size_t p = 0; p < score_weights_.size(); p++) add(score_weights_[p], p, values(p), space.scores.data());
        const auto first = space.scores.begin();
        ptrdiff_t k = std::max_element(first, first + classes_) - first;
        for (int i = 0; i < tries; i++) {
            const Contender &contender = *contenders_[size_t(k)];
            std::copy_n(contender.machine().bias, classes_ - 1, space.pairs.begin());
            for (size_t p = 0; p < pairs_[size_t(k)].size(); p++)
                add(pairs_[size_t(k)][p], p, values(p), space.pairs.data());
            const auto worst = std::min_element(space.pairs.begin(), space.pairs.begin() + classes_ - 1);
            if (*worst > 0) return int(k);
            k = contender.rival(worst - space.pairs.begin());
        }
        return -1;
    }

    // What rounding may have done to the pairs of class k, which find has left in `space`: written behind them.
    template <class Values>
    void bound_rounding(int k, const RowTraits &row, const std::vector<PointSizes> &panel_sizes, const Values &values,
                        Space &space) const {
        const Machine &m = contenders_[size_t(k)]->machine();
        std::vector<double> &sums = space.scores;  // room of 2 c - 1 numbers and more
        std::fill(sums.begin(), sums.end(), 0.0);
        for (size_t p = 0; p < pairs_[size_t(k)].size(); p++)
            weigh_row<float, true>(m, Rounding<float>(m, panel_sizes[p], row), pairs_[size_t(k)][p].all(), lanes_of(p),
                                   values(p), nullptr, sums.data());
        for (ptrdiff_t o = 0; o < m.outputs; o++)
            space.pairs[m.outputs + o] = sums[m.outputs + o] + Rounding<float>::bias_error(m.bias[o]);
    }

    // Adds half-widths (rho, of all pairs of the vote, times a factor) to what bound_rounding has left.
    void widen(int k, double factor, const double *rho, Space &space) const {
        const Contender &contender = *contenders_[size_t(k)];
        for (ptrdiff_t o = 0; o < classes_ - 1; o++) space.pairs[classes_ - 1 + o] += factor * rho[contender.output(o)];
    }

    // Whether class k wins all pairs, by what is in `space`.
    bool wins(int k, const Space &space, double norm) const {
        const double *pairs = space.pairs.data();
        return contenders_[size_t(k)]->wins({pairs, pairs + classes_ - 1}, norm);
    }

  private:
    using Panels = std::vector<PanelWeights<float>>;
    static constexpr int W = tile_width<float>;
    static constexpr int tries = 3;

    static Panels packed(Machine m, const double *weights, const std::vector<ptrdiff_t> &order) {
        m.weights = weights;
        Panels panels;
        for (ptrdiff_t p = 0; p * panel_width<float> < m.points_count; p++) panels.emplace_back(m, order, p);
        return panels;
    }

    int lanes_of(size_t panel) const {
        return int(std::min<ptrdiff_t>(lanes_ - ptrdiff_t(panel) * panel_width<float>, panel_width<float>));
    }

    void add(const PanelWeights<float> &panel, size_t p, const float *values, double *sums) const {
        const LaneWeights<float> weights = panel.all();
        ops<float>().weigh(values, weights.weights, lanes_of(p), weights.slots, weights.outputs, sums);
    }

    const ptrdiff_t classes_, lanes_;
    std::vector<double> scores_;  // those of the bias
    Panels score_weights_;
    std::vector<Panels> pairs_;  // of each class
    std::vector<std::unique_ptr<Contender>> contenders_;
};

}  // namespace dormie
