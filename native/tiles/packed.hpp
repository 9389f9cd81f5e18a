// A machine laid out for the tiles, in one number type.
//
// Points are scaled once so that a kernel function needs one number, v = row_scale * (dot + lane_offset) + row_offset:
//   rbf         2^v,      points times 2g log2(e),  lane_offset -g log2(e) |s|^2,  row_offset -g log2(e) |x|^2
//   polynomial  v^p,      points times g,           lane_offset r
//   normalised  v^p,      points times g a_s,       lane_offset r a_s,  row_scale a_x,  a_u = 1 / sqrt(g |u|^2 + r)
//   sigmoid     tanh(v'), v' = v ln(2) / 2: points times 2g log2(e), lane_offset 2r log2(e)
//   linear      v
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "core/margin.hpp"
#include "simd/ops.hpp"
#include "core/rules.hpp"

namespace dormie {

struct Kernel {
    KernelKind kind;
    double gamma, coef0;
    int degree;
    bool normalized;
};

// What Python hands over; the arrays belong to the caller and outlive everything here.
struct Machine {
    Kernel kernel;
    Rule rule;
    ptrdiff_t points_count, features, outputs;
    const double *points;   // points_count x features
    const double *weights;  // points_count x outputs
    const double *bias;     // outputs
    const double *center;   // features, or null: rows are mapped by (x - center) / scale
    const double *scale;
    Margin margin;
};

// Zeroed memory on a cache line boundary.
template <class T> class Aligned {
  public:
    Aligned() = default;
    explicit Aligned(size_t n) {
        const size_t bytes = (n * sizeof(T) + 63) / 64 * 64;
        data_.reset(static_cast<T *>(std::aligned_alloc(64, bytes ? bytes : 64)));
        if (!data_) throw std::bad_alloc();
        for (size_t i = 0; i < n; i++) data_[i] = T(0);
    }
    T *get() const { return data_.get(); }
    T &operator[](size_t i) const { return data_[i]; }

  private:
    struct Free {
        void operator()(T *p) const { std::free(p); }
    };
    std::unique_ptr<T[], Free> data_;
};

// The machine whose points are packed as they are, for distances: a linear kernel neither scales nor offsets them.
inline Machine unscaled(Machine m) {
    m.kernel = {KernelKind::linear, 1, 0, 1, false};
    return m;
}

inline constexpr double log2e = 1.4426950408889634074;

// K(u, u) of a vector with |u|^2 = norm2.
inline double diagonal(const Kernel &k, double norm2) {
    switch (k.kind) {
        case KernelKind::rbf: return 1;
        case KernelKind::linear: return norm2;
        case KernelKind::sigmoid: return std::tanh(k.gamma * norm2 + k.coef0);
        case KernelKind::polynomial: break;
    }
    const double base = k.gamma * norm2 + k.coef0;
    return k.normalized ? base > 0 : std::pow(base, k.degree);
}

// In chunks, and in several sums at a time, so that no chain of roundings is longer than that of the dot products it is
// set against: the bounds on rounding count on it.
inline double squared_norm(const double *x, ptrdiff_t d) {
    constexpr int lanes = 8;
    double sum = 0;
    for (ptrdiff_t from = 0; from < d; from += chunk) {
        const ptrdiff_t to = std::min<ptrdiff_t>(d, from + chunk), whole = from + (to - from) / lanes * lanes;
        double part[lanes] = {};
        for (ptrdiff_t j = from; j < whole; j += lanes)
            for (int k = 0; k < lanes; k++) part[k] += x[j + k] * x[j + k];
        for (ptrdiff_t j = whole; j < to; j++) part[j - whole] += x[j] * x[j];
        sum += ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    }
    return sum;
}

struct ScaleOffset {
    double scale, offset;
};

// How points are scaled and offset for a kernel: see the table above.
inline ScaleOffset lane_terms(const Kernel &k, double norm2) {
    switch (k.kind) {
        case KernelKind::rbf: return {2 * k.gamma * log2e, -k.gamma * log2e * norm2};
        case KernelKind::sigmoid: return {2 * k.gamma * log2e, 2 * k.coef0 * log2e};
        case KernelKind::linear: return {1, 0};
        case KernelKind::polynomial: break;
    }
    if (!k.normalized) return {k.gamma, k.coef0};
    const double diagonal = k.gamma * norm2 + k.coef0;
    const double a = diagonal > 0 ? 1 / std::sqrt(diagonal) : 0;
    return {k.gamma * a, k.coef0 * a};
}

// Whether a vector is so far out that every rbf value is 0, and dot products would overflow.
inline bool far_out(const Kernel &k, double norm2) { return k.kind == KernelKind::rbf && !(norm2 < 1e280); }

// What a row does to v.
inline ScaleOffset row_terms(const Kernel &k, double norm2) {
    if (k.kind == KernelKind::rbf) return {1, far_out(k, norm2) ? -1e30 : -k.gamma * log2e * norm2};
    if (!k.normalized) return {1, 0};
    const double diagonal = k.gamma * norm2 + k.coef0;
    return {diagonal > 0 ? 1 / std::sqrt(diagonal) : 0, 0};
}

// Whether |u|^2 left the range of doubles, on which the scale of a normalised kernel rests: no radius covers that.
inline bool norm_lost(const Kernel &k, const double *u, ptrdiff_t d, double norm2) {
    const double scaled = k.gamma * norm2;
    if (!k.normalized || (std::fmin(norm2, scaled) > 1e-280 && std::fmax(norm2, scaled) < 1e280)) return false;
    return std::any_of(u, u + d, [](double value) { return value != 0; });
}

// Of scaled points: what the bounds on rounding need to know.
struct PointSizes {
    double norm = 0, offset = 0;
    void widen(const PointSizes &other) {
        norm = std::fmax(norm, other.norm);
        offset = std::fmax(offset, other.offset);
    }
};

// The weights of one panel of a machine's points, packed in the given order.
template <class T> class PanelWeights {
  public:
    PanelWeights(const Machine &m, const std::vector<ptrdiff_t> &order, ptrdiff_t panel) {
        const ptrdiff_t from = panel * panel_width<T>, width = panel_width<T>;
        const ptrdiff_t to = from + width < m.points_count ? from + width : m.points_count;
        for (ptrdiff_t o = 0; o < m.outputs; o++)
            for (ptrdiff_t i = from; i < to; i++)
                if (m.weights[order[i] * m.outputs + o] != 0) {
                    slots.push_back(int32_t(o));
                    break;
                }
        slots.push_back(int32_t(2 * m.outputs));
        weights = Aligned<T>(slots.size() * width);
        for (size_t a = 0; a + 1 < slots.size(); a++)
            for (ptrdiff_t i = from; i < to; i++)
                weights[a * width + (i - from)] = T(m.weights[order[i] * m.outputs + slots[a]]);
        for (ptrdiff_t i = from; i < to; i++) {
            double size = 0;
            for (ptrdiff_t o = 0; o < m.outputs; o++) size = std::fmax(size, std::abs(m.weights[order[i] * m.outputs + o]));
            T &rounded_up = largest()[i - from];
            rounded_up = T(size * (1 + 1e-6) + 1e-37);
            total += double(rounded_up);
        }
    }

    T *largest() const { return weights.get() + (slots.size() - 1) * panel_width<T>; }

    // Outputs with a weight other than 0 in this panel, and last the place of the sum of error sizes (panel.hpp).
    std::vector<int32_t> slots;
    // A row of panel_width for each slot; the last is, for each point, the largest |weight|, rounded up.
    Aligned<T> weights;
    double total = 0;  // of the largest weights
};

template <class T> class Packed {
  public:
    explicit Packed(const Machine &m, bool keep_order = false)
        : order(packing_order(m, keep_order)),
          tiles((m.points_count + tile_width<T> - 1) / tile_width<T>),
          panels((tiles + panel_tiles - 1) / panel_tiles),
          tile_stride(m.features * tile_width<T>),
          points(size_t(tiles * tile_stride)),
          lane_offset(size_t(panels * panel_width<T>)) {
        panel_sizes.resize(panels);
        for (ptrdiff_t i = 0; i < m.points_count; i++) pack_point(m, i);
        for (ptrdiff_t p = 0; p < panels; p++) panel_weights.emplace_back(m, order, p);
    }

    const T *tile(ptrdiff_t t) const { return points.get() + t * tile_stride; }

    // Tiles of a panel: the last one may be short.
    int tiles_of(ptrdiff_t panel) const {
        const ptrdiff_t left = tiles - panel * panel_tiles;
        return left < panel_tiles ? int(left) : panel_tiles;
    }

    const std::vector<ptrdiff_t> order;  // which point of the machine is at each place
    const ptrdiff_t tiles, panels, tile_stride;
    Aligned<T> points, lane_offset;
    std::vector<PanelWeights<T>> panel_weights;
    std::vector<PointSizes> panel_sizes;  // the largest of each panel
    PointSizes sizes;                     // the largest of all

  private:
    // By norm, so that the points of a panel are of one size and its bounds are tight; but where outputs have zero
    // weights the machine's own order stays, which brings points of the same outputs together.
    static std::vector<ptrdiff_t> packing_order(const Machine &m, bool keep) {
        std::vector<ptrdiff_t> order(m.points_count);
        std::iota(order.begin(), order.end(), 0);
        const ptrdiff_t n = m.points_count * m.outputs;
        if (keep || m.outputs == 0 || std::find(m.weights, m.weights + n, 0.0) != m.weights + n) return order;
        std::vector<double> norms(m.points_count);
        for (ptrdiff_t i = 0; i < m.points_count; i++) norms[i] = squared_norm(m.points + i * m.features, m.features);
        std::stable_sort(order.begin(), order.end(), [&](ptrdiff_t a, ptrdiff_t b) { return norms[a] < norms[b]; });
        return order;
    }

    // i: the place, here and below.
    void pack_point(const Machine &m, ptrdiff_t i) {
        const double *s = m.points + order[i] * m.features;
        const double norm2 = squared_norm(s, m.features);
        const ScaleOffset terms = lane_terms(m.kernel, norm2);
        T *to = points.get() + i / tile_width<T> * tile_stride + i % tile_width<T>;
        for (ptrdiff_t j = 0; j < m.features; j++) to[j * tile_width<T>] = T(s[j] * terms.scale);
        lane_offset[i] = T(terms.offset);
        const double norm = norm_lost(m.kernel, s, m.features, norm2) ? std::numeric_limits<double>::infinity()
                                                                      : std::sqrt(norm2) * std::abs(terms.scale);
        const PointSizes mine{norm, std::abs(terms.offset)};
        sizes.widen(mine);
        panel_sizes[i / panel_width<T>].widen(mine);
    }
};

}  // namespace dormie
