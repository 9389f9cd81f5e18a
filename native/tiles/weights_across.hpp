// The weights of a few points, with all outputs of a point side by side: what one row's kernel values are summed with
// where many outputs are wanted, and few points have a weight of 0.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/aligned.hpp"
#include "core/machine.hpp"
#include "core/rounding.hpp"
#include "core/sizes.hpp"
#include "simd/ops.hpp"
#include "tiles/panel.hpp"
#include "tiles/quick_radius.hpp"

namespace dormie {

class WeightsAcross {
  public:
    // weights: points x outputs
    WeightsAcross(const double *weights, ptrdiff_t points, ptrdiff_t outputs)
        : points_(points),
          outputs_(outputs),
          width_(int(padded<float>(outputs + 1))),
          rows_((points + W - 1) / W * W),
          weights_(size_t(rows_ * width_)) {
        for (ptrdiff_t i = 0; i < points; i++) add_point(weights + i * outputs, weights_.get() + i * width_);
    }

    // Of what `weigh` writes.
    size_t width() const { return size_t(width_); }

    // The sum of each output, without bias, and behind them that of the largest weights. values(panel): the kernel
    // values of the row with a panel's points.
    template <class Values> void weigh(const Values &values, std::vector<float> &sums) const {
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (ptrdiff_t from = 0; from < rows_; from += panel_width<float>)
            ops<float>().weigh_across(values(size_t(from / panel_width<float>)),
                                      int(std::min<ptrdiff_t>(rows_ - from, panel_width<float>)),
                                      weights_.get() + from * width_, width_, sums.data());
    }

    // What rounding may have done to each of the sums. sizes: of the largest point.
    template <class Values>
    double error(const Machine &m, const PointSizes &sizes, const RowTraits &row, const Values &values,
                 const std::vector<float> &sums) const {
        const double errors = error_sum(m, values, sums);
        const Rounding<float> rounding(m, sizes, row);
        return rounding.sum_error(errors, total_, double(rows_)) + chain() * errors * rounding.largest();
    }

    // At least that of rbf rows, and more: see QuickRadius. m: with one output, whose bias and margin are the largest.
    QuickRadius quick_radius(const Machine &m, const PointSizes &sizes, double half_width) const {
        return QuickRadius::of<float>(m, sizes, total_, rows_, half_width, 1.001 * chain());
    }
    // The error sizes of an rbf row, for that radius.
    double value_errors(const std::vector<float> &sums) const { return double(sums[size_t(outputs_)]); }

  private:
    static constexpr int W = tile_width<float>;

    // The chain of roundings of weigh_across, relative to the error sizes; Rounding has that of weigh.
    double chain() const { return 1.001 * double(rows_ / 4 + 4) * 0x1p-24; }

    void add_point(const double *from, float *to) {
        double largest = 0;
        for (ptrdiff_t o = 0; o < outputs_; o++) {
            to[o] = float(from[o]);
            largest = std::max(largest, std::abs(from[o]));  // fmax is more than GCC 12 can do on aarch64
        }
        to[outputs_] = float(largest * (1 + 1e-6) + 1e-37);  // rounded up
        total_ += double(to[outputs_]);
    }

    // The sum of the largest weights times error sizes: which are the values, or of their own, or 1.
    template <class Values>
    double error_sum(const Machine &m, const Values &values, const std::vector<float> &sums) const {
        if (is_at_most_one(m.kernel)) return value_errors(sums);
        if (!own_error_sizes(m)) return total_;
        double sum = 0;
        for (ptrdiff_t i = 0; i < points_; i++)
            sum += double(weights_[i * width_ + outputs_]) *
                   double(values.errors(size_t(i / panel_width<float>))[i % panel_width<float>]);
        return sum;
    }

    const ptrdiff_t points_, outputs_;
    const int width_;
    const ptrdiff_t rows_;    // whole tiles of points
    Aligned<float> weights_;  // rows x width: for each point those of its outputs, and behind them the largest
    double total_ = 0;        // of the largest
};

}  // namespace dormie
