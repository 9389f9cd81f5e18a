// Finds the class that wins all its pairs of a one-vs-one vote, without working out all pairs.
//
// For each class the sum of its outputs over all rivals costs one output. The class with the largest sum is asked for
// its own pairs; if it loses one, the class that it loses to most clearly is asked next. With c classes that is about
// 2c outputs in place of c (c - 1) / 2.
#pragma once
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "core/contender.hpp"
#include "core/interval.hpp"
#include "core/machine.hpp"
#include "core/rounding.hpp"
#include "core/rules.hpp"
#include "core/sizes.hpp"
#include "tiles/weights_across.hpp"

namespace dormie {

class VoteSearch {
  public:
    static bool serves(const Machine &m) { return m.rule.kind == RuleKind::vote && m.rule.classes >= 3; }

    // m: over few points, packed in their own order.
    explicit VoteSearch(const Machine &m) : classes_(m.rule.classes), score_bias_(size_t(classes_)) {
        std::vector<double> scores(size_t(m.points_count * classes_));
        for (ptrdiff_t k = 0; k < classes_; k++) {
            auto contender = std::make_unique<const Contender>(m, k, m.points_count);
            const ptrdiff_t c = classes_ - 1;
            const std::vector<double> weights = contender->weights(m, nullptr);
            const double *bias = contender->machine().bias;
            score_bias_[size_t(k)] = float(std::accumulate(bias, bias + c, 0.0));
            for (ptrdiff_t i = 0; i < m.points_count; i++)
                scores[size_t(i * classes_ + k)] =
                    std::accumulate(weights.data() + i * c, weights.data() + (i + 1) * c, 0.0);
            pairs_.push_back({std::move(contender), {weights.data(), m.points_count, c}});
        }
        scores_ = std::make_unique<const WeightsAcross>(scores.data(), m.points_count, classes_);
    }

    // Room for one row.
    struct Space {
        explicit Space(const VoteSearch &search)
            : scores(search.scores_->width()),
              pairs(search.pairs_.front().weights.width()),
              outputs(size_t(2 * search.classes_)) {}
        std::vector<float> scores, pairs;  // pairs: of the class asked last
        std::vector<double> outputs;
    };

    // The class that wins all its pairs, half-widths and rounding left out; or `unsettled`, if there is none or it was
    // not found. values(panel): the kernel values of the row with a panel's points.
    template <class Values> int find(const Values &values, Space &space) const {
        scores_->weigh(values, space.scores);
        for (size_t k = 0; k < score_bias_.size(); k++) space.scores[k] += score_bias_[k];
        ptrdiff_t k = std::max_element(space.scores.begin(), space.scores.begin() + classes_) - space.scores.begin();
        for (int i = 0; i < tries; i++) {
            const auto &[contender, weights] = pairs_[size_t(k)];
            weights.weigh(values, space.pairs);
            for (ptrdiff_t o = 0; o < classes_ - 1; o++)
                space.outputs[o] = double(space.pairs[o]) + contender->machine().bias[o];
            const int rival = contender->beaten_by(space.outputs.data());
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
        const auto &[contender, weights] = pairs_[size_t(k)];
        const Machine &m = contender->machine();
        const double error = weights.error(m, sizes, row, values, space.pairs);
        double *radius = space.outputs.data() + classes_ - 1;
        for (ptrdiff_t o = 0; o < m.outputs; o++)
            radius[o] = error + Rounding<float>::bias_error(m.bias[o]) + factor * rho[contender->output(o)];
        return contender->wins({space.outputs.data(), radius}, row.reach);
    }

  private:
    static constexpr int tries = 3;

    struct Pairs {
        std::unique_ptr<const Contender> contender;
        WeightsAcross weights;
    };

    const ptrdiff_t classes_;
    std::vector<float> score_bias_;
    std::unique_ptr<const WeightsAcross> scores_;
    std::vector<Pairs> pairs_;  // of each class
};

}  // namespace dormie
