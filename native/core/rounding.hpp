// What rounding may have done to one row's kernel values and outputs: bounds from the row's and the points' norms.
//
// A dot product summed in chunks is off by at most gamma_n |x||s|, gamma_n = n u / (1 - n u), n the longest chain of
// roundings, those of both inputs included; and v, which a kernel function is applied to, by a few units of its largest
// possible size more. A kernel function then multiplies or adds what its derivative allows.
//
// For rbf that bound grows with the norms, because |x|^2 - 2 x.s + |s|^2 cancels far from the origin. Squared distances
// summed from differences do not cancel, and have a bound of their own (of_distances).
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/machine.hpp"
#include "core/sizes.hpp"
#include "simd/ops.hpp"

namespace dormie {

// Two bounds, both linear in the sum of errors: slope * errors + constant.
struct LinearBounds {
    double slope[2], constant[2];
};

template <class T> class Rounding {
  public:
    // Of a row with points no larger than `sizes`.
    Rounding(const Machine &m, const PointSizes &sizes, const RowTraits &row)
        : Rounding(m, sizes, row, chunk + (m.features + chunk - 1) / chunk) {}

    // terms: the most additions of one dot product, if the row has as many non-zeros.
    Rounding(const Machine &m, const PointSizes &sizes, const RowTraits &row, ptrdiff_t terms) : m_(&m) {
        const double d = double(m.features);
        // What rounding below the normal range may add to a norm; squares leave the range of doubles at 2^-511.
        const double tiny = d * std::fmax(least_normal, 0x1p-400);
        const double x = row.norm + tiny, s = sizes.norm + tiny;
        const double chain = double(std::min<ptrdiff_t>(row.nonzeros, terms)) + 5;
        const double scale = std::abs(row.scale);
        const double size = scale * (x * s + sizes.offset) + std::abs(row.offset);
        const double of_products = gamma(chain);
        // Norms, scales and offsets are worked out in double before they are rounded, from mapped rows rounded three
        // times (the inverse of a scale is rounded too).
        const double of_size = (row.scale == 1 ? 4 : 8) * unit + (std::min(d, chunk + d / chunk) + 16) * 0x1p-53;
        slack_ = scale * (of_products * x * s + d * least_normal) + of_size * size;
        set_term_errors(size + slack_);
        if (m.kernel.kind == KernelKind::rbf)
            set_near_errors(of_products + 2 * of_size, std::abs(row.offset), tiny * (x + s) + d * least_normal);
        top_ = m.kernel.kind == KernelKind::polynomial ? std::pow(largest_, m.kernel.degree) : largest_;
        const double root = std::sqrt(most);
        usable_ = !row.far && !row.lost && chain * unit < 0.25 && x < root && s < root && size < most / 1e7 &&
                  m.kernel.degree <= 1000 && sizes.offset < most && (scale == 0 || (scale > 1 / most && scale < most));
    }

    // Of an rbf row whose squared distances are sums of squared differences: |x - s|^2 has a relative error of some
    // units, so that z = -v is off by share z, and z 2^-z is nowhere more than 0.531. Rounding the mapped row moves it
    // by up to 3 units of its norm; K changes nowhere faster than sqrt(2 gamma / e) a unit of length.
    static Rounding of_distances(const Machine &m, const RowTraits &row) {
        const double d = double(m.features), share = gamma(std::min(d, chunk + d / chunk) + 10);
        Rounding rounding(m);
        rounding.near_ = 2 * exp2_error_units * unit * 1.000001;
        rounding.spread_ = 1.001 * (ln2 * share * 0.531 + d * m.kernel.gamma * least_normal);
        if (m.center)
            rounding.spread_ += 0.86 * std::sqrt(m.kernel.gamma) * 3 * unit * (row.norm + Margin::lost_length);
        rounding.per_term_ = infinity;
        rounding.most_lost_ = 1;
        rounding.top_ = 1;
        rounding.usable_ = !row.far && d * unit < 0.01;
        return rounding;
    }

    // Bound on a value over its error size.
    double largest() const { return largest_; }

    // Bound on the error of v.
    T slack() const { return T(slack_ * 1.000001); }

    // Bound on the error of any one kernel value.
    double value_error() const {
        double error = std::min({per_term_, near_ + spread_, most_lost_});
        if (m_->kernel.kind == KernelKind::polynomial) error *= std::pow(largest_, m_->kernel.degree - 1);
        return usable_ ? 1.001 * error + least_normal : infinity;
    }

    // Bound on the error of a weighted sum of kernel values, given the sum of largest weight times error size. With it
    // goes what values and sizes lose below the normal range, for `weight` in all over `count` points.
    double sum_error(double error_sum, double weight, double count) const {
        if (!usable_ || !((1 + weight) * (1 + top_) < most)) return infinity;
        error_sum += weight * lost_size;
        const double of_terms = std::min({per_term_ < infinity ? error_sum * per_term_ : infinity,
                                          near_ < infinity ? error_sum * near_ + weight * spread_ : infinity,
                                          most_lost_ < infinity ? weight * most_lost_ : infinity});
        return 1.001 * (of_terms + error_sum * of_sums() + underflow(weight, count));
    }

    // Each at least sum_error for any sum of errors, also where points are taken in several parts, none of them larger
    // than these: bounds of sum_error that add up over the parts.
    LinearBounds linear_sum_errors(double weight, double count) const {
        LinearBounds bounds{{0, 0}, {infinity, infinity}};
        if (!usable_ || !((1 + weight) * (1 + top_) < most)) return bounds;
        const double of_terms[2] = {per_term_, near_}, apart[2] = {0, weight * spread_};
        for (int k = 0; k < 2; k++) {
            if (!(of_terms[k] < infinity)) continue;
            bounds.slope[k] = 1.001 * (of_terms[k] + of_sums());
            bounds.constant[k] = bounds.slope[k] * weight * lost_size + 1.001 * (apart[k] + underflow(weight, count));
        }
        return bounds;
    }

    // With the rounding of the sum that the bias is added to, which sum_error has counted.
    static double bias_error(double bias) { return 0x1p-51 * std::abs(bias); }

  private:
    explicit Rounding(const Machine &m) : m_(&m) {}

    // Of adding up, relative to the error sizes: sums of lanes are added one after the other in double, and then the
    // bias.
    double of_sums() const {
        const double of_parts = double(m_->points_count / least_lanes + 4) * 0x1p-53;
        return (gamma(ops<T>().weigh_roundings) + of_parts) * largest_;
    }

    double underflow(double weight, double count) const { return 2 * least_normal * (weight + count * (1 + top_)); }

    // At least n u / (1 - n u), without a division: this runs for every row and panel.
    static double gamma(double n) { return n * unit * (1 + 2 * n * unit); }

    // per_term_ bounds a value's error over its error size: the value itself (rbf), (|v| + slack)^(p-1) (polynomial),
    // or 1. largest_ bounds a value over its error size.
    void set_term_errors(double largest_v) {
        switch (m_->kernel.kind) {
            case KernelKind::rbf: {
                const double exponent = slack_ * ln2 + 2 * exp2_error_units * unit;
                per_term_ = exponent < 1 ? exponent * (1 + exponent) : infinity;
                most_lost_ = 1;
                break;
            }
            case KernelKind::sigmoid: per_term_ = slack_ * ln2 / 2 + 8 * unit; break;
            case KernelKind::linear:
                per_term_ = slack_;
                largest_ = largest_v;
                break;
            case KernelKind::polynomial:
                largest_ = largest_v;
                per_term_ = m_->kernel.degree * (slack_ + 2 * unit * largest_);
                break;
        }
    }

    // For rbf a second bound, one that a single far-out point in the panel does not spoil: such a point has an exponent
    // that is far off, but next to no value, except for rows beside it. With p = |row offset|, o a point's |offset| and
    // z = -v, v is off by at most share (p + o) + rest, o <= 2p + 2z because sqrt(o) <= sqrt(p) + sqrt(z), and z 2^-z
    // is nowhere more than 0.531. So a value K is off by at most near_ K + spread_.
    void set_near_errors(double share, double p, double rest) {
        const double exponent = slack_ * ln2 + 2 * exp2_error_units * unit;
        if (!(exponent < 0.5)) return;
        near_ = (1 + exponent) * (ln2 * (3 * share * p + rest) * 1.000001 + 2 * exp2_error_units * unit);
        spread_ = (1 + exponent) * (1 + 2 * exponent) * ln2 * share * 2 * 0.531;
    }

    static constexpr double ln2 = 0.6931471805599455;  // rounded up
    static constexpr double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
    static constexpr double least_normal = sizeof(T) == 4 ? 0x1p-126 : 0x1p-1022;
    static constexpr double most = sizeof(T) == 4 ? 1e37 : 1e300;  // nothing may come near to overflowing
    static constexpr double lost_size = 64 * least_normal;         // what an error size may lose below the normal range
    // Terms that are added in T before they are added in double: fast stopping, in float alone, adds tile by tile.
    static constexpr int least_lanes = sizeof(T) == 4 ? tile_width<T> : panel_width<T>;
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    const Machine *m_;
    double slack_ = 0, per_term_ = 0, largest_ = 1;
    double near_ = infinity, spread_ = 0;
    double most_lost_ = infinity;  // of any one value, even if it came out as 0: an rbf value is at most 1
    double top_ = 1;               // bound on any kernel value
    bool usable_ = false;          // nothing overflows, and the 1.001 covers the rounding of error sizes
};

}  // namespace dormie
