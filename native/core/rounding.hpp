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

    double least(double errors) const {
        return std::min(slope[0] * errors + constant[0], slope[1] * errors + constant[1]);
    }
};

template <class T> class Rounding {
  public:
    // Of a row with points no larger than `sizes`.
    Rounding(const Machine &m, const PointSizes &sizes, const RowTraits &row)
        : Rounding(m, sizes, row, chunk + (m.features + chunk - 1) / chunk) {}

    // terms: the most additions of one dot product, if the row has as many non-zeros.
    Rounding(const Machine &m, const PointSizes &sizes, const RowTraits &row, ptrdiff_t terms) : m_(&m) {
        if (by_differences(m.kernel.kind)) {
            set_errors_of_differences(sizes, row);
            return;
        }
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
        if (is_radial(m.kernel))
            set_near_errors(of_products + 2 * of_size, std::abs(row.offset),
                            std::fmax(1, scale) * (tiny * (x + s) + d * least_normal));
        top_ = m.kernel.kind == KernelKind::polynomial ? std::pow(largest_, m.kernel.degree) : largest_;
        const double root = std::sqrt(most);
        usable_ = !row.far && !row.lost && chain * unit < 0.25 && x < root && s < root && size < most / 1e7 &&
                  m.kernel.degree <= 1000 && sizes.offset < most && (scale == 0 || (scale > 1 / most && scale < most));
    }

    // Of a row of a radial kernel whose squared distances are sums of squared differences: |x - s|^2 has a relative
    // error of some units, so that t is off by share t, and -t f'(t) is nowhere more than 0.37 (distance_kernels.py).
    // Rounding the mapped row moves it by up to 3 units of its norm; K changes nowhere faster than `steepness` a unit
    // of length. Where squares overflow, a rational quadratic kernel, alone of these, need not be 0.
    static Rounding of_distances(const Machine &m, const PointSizes &sizes, const RowTraits &row) {
        const double d = double(m.features), share = gamma(std::min(d, chunk + d / chunk) + 10);
        Rounding rounding(m);
        const ValueErrors own = rounding.of_function();
        rounding.near_ = own.relative < 0.25 ? own.relative * (1 + 2 * own.relative) * 1.000001 : infinity;
        rounding.spread_ = 1.001 * (share * 0.369 + own.spread + d * m.kernel.gamma * least_normal);
        if (m.center) rounding.spread_ += rounding.steepness() * 3 * unit * (row.norm + Margin::lost_length);
        rounding.per_term_ = infinity;
        rounding.most_lost_ = 1;
        rounding.top_ = 1;
        const bool in_range = row.norm + sizes.norm < std::sqrt(most) / 1e3;
        rounding.usable_ = !row.far && d * unit < 0.01 && (in_range || m.kernel.kind != KernelKind::rational_quadratic);
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
            case KernelKind::rbf:
            case KernelKind::matern32:
            case KernelKind::matern52:
            case KernelKind::rational_quadratic: {
                const ValueErrors own = of_function();
                const double exponent = slack_ * log_fall() + own.relative;
                per_term_ = exponent < 1 && own.spread == 0 ? exponent * (1 + exponent) : infinity;
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
            default: break;  // by differences: see set_errors_of_differences
        }
    }

    // What a radial function f adds to the error of its argument t, and how fast its logarithm falls with v.
    struct ValueErrors {
        double relative, spread;  // an error of K is at most relative K + spread
    };
    ValueErrors of_function() const {
        constexpr double exp2 = 2 * exp2_error_units * unit;
        switch (m_->kernel.kind) {
            // z = sqrt(t) is off by a unit of itself and its exponent -z log2(e) by 2 more, where z f is nowhere more
            // than 0.37, 0.84 or 1.18; the polynomials, sums of what is not negative, have 6 roundings.
            case KernelKind::matern12: return {exp2, 0.37 * 4 * unit};
            case KernelKind::matern32: return {exp2 + 6 * unit, 0.84 * 4 * unit};
            case KernelKind::matern52: return {exp2 + 6 * unit, 1.18 * 4 * unit};
            // 1 + t is rounded, which moves its logarithm by a unit; the exponent y = alpha log2(1 + t) is off by some
            // units of itself, and y 2^-y is nowhere more than 0.531, so that K is off by as much times ln 2.
            case KernelKind::rational_quadratic:
                return {exp2 + 1.01 * m_->kernel.coef0 * unit, 0.37 * (log2_error_units + 4) * unit};
            default: return {exp2, 0};
        }
    }
    double log_fall() const {
        switch (m_->kernel.kind) {
            case KernelKind::matern32: return 0.5;
            case KernelKind::matern52: return 1.0 / 6 * 1.000001;
            case KernelKind::rational_quadratic: return m_->kernel.coef0;
            default: return ln2;
        }
    }
    // At least the steepest slope of K a unit of length: see distance_kernels.py.
    double steepness() const {
        const double root = std::sqrt(m_->kernel.gamma);
        switch (m_->kernel.kind) {
            case KernelKind::matern12: return root;
            case KernelKind::matern32: return 0.368 * root;
            case KernelKind::matern52: return 0.281 * root;
            case KernelKind::rational_quadratic: return std::sqrt(2 * m_->kernel.coef0) * root * 1.000001;
            default: return 0.86 * root;
        }
    }

    // For rbf a second bound, one that a single far-out point in the panel does not spoil: such a point has an exponent
    // that is far off, but next to no value, except for rows beside it. With p = |row offset|, o a point's |offset| and
    // z = -v, v is off by at most share (p + o) + rest, o <= 2p + 2z because sqrt(o) <= sqrt(p) + sqrt(z), and z 2^-z
    // is nowhere more than 0.531. So a value K is off by at most near_ K + spread_.
    void set_near_errors(double share, double p, double rest) {
        if (m_->kernel.kind != KernelKind::rbf) return set_near_errors_of_others(3 * share * p + rest, 2 * share);
        const double exponent = slack_ * ln2 + 2 * exp2_error_units * unit;
        if (!(exponent < 0.5)) return;
        near_ = (1 + exponent) * (ln2 * (3 * share * p + rest) * 1.000001 + 2 * exp2_error_units * unit);
        spread_ = (1 + exponent) * (1 + 2 * exponent) * ln2 * share * 2 * 0.531;
    }

    // The same for other radial kernels, with t off by at most start + share t. The logarithm of a rational quadratic
    // one is then off by alpha (start + share), as 1 + t is at least 1 and t. That of a Matern kernel falls by less
    // than `log_fall` for a unit of t, and by no more than z for t / 2 at z = sqrt(t): it is off by fall start + share
    // z (an error of t by a share moves z by half of that). With r the relative part of the error of the logarithm and
    // s z the rest, K times either is at most (1 + 2r) r K + 2 s max(z K e^(s z)), and the last is below 1.6 for s <
    // 0.1.
    void set_near_errors_of_others(double start, double share) {
        const ValueErrors own = of_function();
        if (m_->kernel.kind == KernelKind::rational_quadratic) {
            const double moved = start + share, exponent = m_->kernel.coef0 * moved * (1 + 2 * moved) + own.relative;
            if (moved < 0.1 && exponent < 0.4)
                near_ = exponent * (1 + 2 * exponent) * 1.000001, spread_ = 2 * own.spread;
            return;
        }
        const double exponent = log_fall() * start + own.relative;
        if (!(exponent < 0.4 && share < 0.1)) return;
        near_ = exponent * (1 + 2 * exponent) * 1.000001;
        spread_ = 3.2 * (share + 4 * unit);
    }

    // Of kernels that are worked out by differences. Coordinates are rounded to T, and those of a mapped row
    // beforehand: each by a share `moved` of itself. A sum A over coordinates, of terms that are not negative, then has
    // a relative error `share` besides what that moves it by:
    //   laplacian      |x - s| moves by moved (|x| + |s|), and the sum of these is at most sqrt(d) times the norms
    //   chi2           (x - s)^2 / (x + s) moves by at most 2 moved |x - s|
    //   matern 1/2     the distance itself moves by moved times the norms, so z does, too
    // so that the exponent z = g A of the first two, or g^(1/2) A^(1/2) of the last, is off by start + share z, and
    // with s z the relative part, z e^-z <= 0.37 as above. Only additive chi2 has no exponent.
    void set_errors_of_differences(const PointSizes &sizes, const RowTraits &row) {
        const double d = double(m_->features), g = m_->kernel.gamma;
        const double tiny = d * std::fmax(least_normal, 0x1p-400);
        const double moved = (sizeof(T) == 4 ? unit : 0) + (m_->center ? 5 * 0x1p-53 : 0);
        const double norms = (row.norm + sizes.norm + 2 * tiny) * 1.000001;
        const double share = gamma(std::min(d, chunk + d / chunk) + 12);
        const bool of_squares = m_->kernel.kind == KernelKind::matern12;
        const double by =
            of_squares ? norms : std::sqrt(d) * norms * (m_->kernel.kind == KernelKind::laplacian ? 1 : 2);
        const double lost = 2 * d * least_normal;
        slack_ = by * moved * 1.001 + (of_squares ? std::sqrt(lost) : lost);
        usable_ = !row.lost && d * unit < 0.01 && norms < std::sqrt(most) / 1e3 && by < most / 1e7 &&
                  g < std::sqrt(most) && g > 1 / std::sqrt(most);
        if (m_->kernel.kind == KernelKind::additive_chi2) {
            largest_ = top_ = std::sqrt(d) * norms;
            per_term_ = slack_ + share * largest_;
            return;
        }
        per_term_ = infinity;
        most_lost_ = 1;
        const double start = slack_ * (of_squares ? std::sqrt(g) : g) * 1.001 + 2 * exp2_error_units * unit;
        if (!(start < 0.4 && share < 0.1)) return;
        near_ = start * (1 + 2 * start) * 1.000001;
        spread_ = 2 * 0.5 * (share + 4 * unit);
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
