// An rbf machine with one output and few features, the most frequent case: products, kernel values and weighted sums in
// one pass (Ops::rbf_sums), and signs settled by a radius that is quick to work out.
//
// That radius is no smaller than the one that panel.hpp works out panel by panel: where it settles a row, so would
// that. What it leaves open is judged by that of panel.hpp, so that no answer depends on which of the two was asked.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/interval.hpp"
#include "core/kernel.hpp"
#include "core/laid_out.hpp"
#include "core/machine.hpp"
#include "core/rounding.hpp"
#include "core/rules.hpp"
#include "core/stage.hpp"
#include "simd/ops.hpp"
#include "tiles/packed.hpp"
#include "tiles/panel_weights.hpp"
#include "tiles/quick_radius.hpp"
#include "tiles/row_block.hpp"

namespace dormie {

template <class T> class OneOutput {
  public:
    static bool sums(const Machine &m) {
        return m.kernel.kind == KernelKind::rbf && m.outputs == 1 && m.features <= chunk;
    }
    static bool serves(const Machine &m) { return sums(m) && m.rule.kind == RuleKind::sign; }

    // Room for the sums of a block: those of error sizes panel by panel.
    struct Sums {
        Sums(int rows, size_t panels)
            : offset(size_t(rows)), sums(size_t(rows)), all_errors(size_t(rows)), errors(panels * size_t(rows)) {}
        std::vector<T> offset;
        std::vector<double> sums, all_errors, errors;
    };

    // The first `count` points, with the weights of their panels. All of them outlive this.
    OneOutput(const Machine &m, const Packed<T> &packed, const std::vector<PanelWeights<T>> &weights, ptrdiff_t count,
              double half_width)
        : m_(m), packed_(packed), weights_(weights), count_(count), half_width_(half_width) {
        for (const PanelWeights<T> &panel : weights) weight_ += panel.total;
        radius_ = QuickRadius::of<T>(m, packed.sizes, weight_, tiles() * tile_width<T>, half_width);
        counts_errors_ = !(radius_.widening(weight_) < hardly_wider);
        radius_.assume(weight_ * 1.001);  // no kernel value is above 1, but for rounding
    }

    Sums make_sums(int rows) const { return {rows, weights_.size()}; }

    // Whether this is quicker than panel.hpp, which skips the zeros of rows: with few panels it always is.
    bool is_quicker_for(const LaidOut &rows) const {
        if (weights_.size() <= few_panels) return true;
        double nonzeros = 0;
        for (int r = 0; r < rows.count(); r++) nonzeros += double(rows.traits(r).nonzeros);
        return RowBlock<T>::nonzeros_cost * nonzeros >= double(rows.count()) * double(m_.features);
    }

    // The answer of each row, or `unsettled`; `close` becomes the list of rows for panel.hpp to judge. Without branches
    // on what is not known beforehand: to mispredict one takes as long as several exponentials.
    void settle(const LaidOut &rows, Sums &space, Judge &judge, int32_t *answers, std::vector<int> &close) const {
        evaluate(rows, counts_errors_, space);
        close.resize(size_t(rows.count()));
        size_t found = 0;
        for (int r = 0; r < rows.count(); r++) {
            const double g = space.sums[r] + m_.bias[0], size = std::abs(g);
            const double reach = rows.traits(r).reach;
            const double radius = counts_errors_ ? radius_(reach, space.all_errors[r]) : radius_(reach);
            const int open = !(size > radius);
            answers[r] = int(g > 0) | -open;  // all ones is `unsettled`
            close[found] = r;
            found += size_t(open & !(size < half_width_));
        }
        close.resize(found);
        if (!counts_errors_) return;
        for (const int r : close) answers[r] = settle_with_care(rows.traits(r), r, space, judge);
        close.clear();
    }

    // The answer of each row by its sum alone.
    void answer(const LaidOut &rows, Sums &space, Judge &judge, const Verdicts &verdicts) const {
        evaluate(rows, false, space);
        for (int r = 0; r < rows.count(); r++) {
            const double g = space.sums[r] + m_.bias[0];
            verdicts.answers[r] = judge.answer(&g);
            verdicts.keep(r, &g, 1);
        }
    }

  private:
    static constexpr size_t few_panels = 2;      // measured on covtype, with 12 non-zeros of 54
    static constexpr double hardly_wider = 1.3;  // times: such a radius leaves hardly more rows open

    ptrdiff_t tiles() const { return (count_ + tile_width<T> - 1) / tile_width<T>; }
    int tiles_of(size_t panel) const {
        return int(std::min<ptrdiff_t>(tiles() - ptrdiff_t(panel) * panel_tiles, panel_tiles));
    }

    // The sums of all rows of a block, without the bias. errors: whether those of the error sizes too.
    void evaluate(const LaidOut &rows, bool errors, Sums &space) const {
        const int n = rows.count();
        for (int r = 0; r < n; r++) space.offset[r] = T(rows.traits(r).offset);
        std::fill_n(space.sums.begin(), n, 0.0);
        if (errors) std::fill_n(space.all_errors.begin(), n, 0.0);
        for (size_t p = 0; p < weights_.size(); p++) {
            const LaneWeights<T> weights = weights_[p].all();
            double *panel_errors = errors ? space.errors.data() + p * space.sums.size() : nullptr;
            if (errors) std::fill_n(panel_errors, n, 0.0);
            if (weights.outputs == 0) continue;  // all weights are 0
            const ptrdiff_t at = ptrdiff_t(p) * panel_tiles;
            ops<T>().rbf_sums(
                {rows.template row<T>(0), space.offset.data(), m_.features, n, p == 0 ? rows.next() : Ahead{}},
                {packed_.tile(at), packed_.tile_stride, tiles_of(p), packed_.lane_offset.get() + at * tile_width<T>,
                 weights.weights, weights.largest()},
                space.sums.data(), panel_errors);
            for (int r = 0; errors && r < n; r++) space.all_errors[r] += panel_errors[r];
        }
    }

    // By the radius that panel.hpp has, from the errors of every panel.
    int settle_with_care(const RowTraits &row, int r, const Sums &space, Judge &judge) const {
        double g = space.sums[r] + m_.bias[0], radius = 0;
        for (size_t p = 0; p < weights_.size(); p++) {
            const LaneWeights<T> weights = weights_[p].all();
            if (weights.outputs == 0) continue;
            const Rounding<T> rounding(m_, packed_.panel_sizes[p], row);
            radius +=
                rounding.sum_error(space.errors[p * space.sums.size() + r], weights.total, tiles_of(p) * tile_width<T>);
        }
        radius += Rounding<T>::bias_error(m_.bias[0]);
        if (half_width_ > 0) radius += half_width_ * root_of_self(m_.kernel, row.norm);
        forget_unless_finite(g, radius);
        return judge.settle(MiddleRadius{&g, &radius}, m_.margin, row.reach);
    }

    const Machine &m_;
    const Packed<T> &packed_;
    const std::vector<PanelWeights<T>> &weights_;
    const ptrdiff_t count_;
    const double half_width_;
    double weight_ = 0;
    QuickRadius radius_;
    bool counts_errors_;
};

}  // namespace dormie
