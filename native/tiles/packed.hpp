// A machine's points in tiles, in one number type, scaled as core/kernel.hpp says; with the weights of each panel.
//
// Pixels, counts and one-hot columns are whole multiples of one number, of 255 of it at most. Such points may be kept
// as bytes: a quarter of the memory, which a single row waits for. They are then divided by that number, their unit;
// the row's scale takes it up, so that v is the same. Rounding is bounded in that form, too: the multiples themselves
// are exact, where numbers of type T would be rounded.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "core/aligned.hpp"
#include "core/kernel.hpp"
#include "core/machine.hpp"
#include "core/norm.hpp"
#include "core/sizes.hpp"
#include "simd/ops.hpp"
#include "tiles/panel_weights.hpp"

namespace dormie {

// By norm, so that the points of a panel are of one size and its bounds are tight; but where outputs have zero weights
// the machine's own order stays, which brings points of the same outputs together. norm2: the squared norm of a point.
template <class SquaredNorm>
std::vector<ptrdiff_t> packing_order(const Machine &m, bool keep, const SquaredNorm &norm2) {
    std::vector<ptrdiff_t> order(m.points_count);
    std::iota(order.begin(), order.end(), 0);
    const ptrdiff_t n = m.points_count * m.outputs;
    if (keep || m.outputs == 0 || std::find(m.weights, m.weights + n, 0.0) != m.weights + n) return order;
    std::vector<double> norms(m.points_count);
    for (ptrdiff_t i = 0; i < m.points_count; i++) norms[i] = norm2(i);
    std::stable_sort(order.begin(), order.end(), [&](ptrdiff_t a, ptrdiff_t b) { return norms[a] < norms[b]; });
    return order;
}

// Of a point whose coordinates are x and whose squared norm is norm2, scaled by `terms`.
inline PointSizes sizes_of(const Kernel &kernel, const double *x, ptrdiff_t d, double norm2, const ScaleOffset &terms) {
    const double norm = norm_lost(kernel, x, d, norm2) ? std::numeric_limits<double>::infinity()
                                                       : std::sqrt(norm2) * std::abs(terms.scale);
    return {norm, std::abs(terms.offset)};
}

// The largest number that all of these are whole multiples of, 0 to 255 times, up to the rounding of doubles; or 0
// where there is none.
inline double unit_of_bytes(const double *x, ptrdiff_t n) {
    if (n == 0) return 0;
    const auto [least, most] = std::minmax_element(x, x + n);
    if (!(*least >= 0 && *most > 0 && std::isfinite(*most))) return 0;
    for (int times = 1; times <= 255; times++) {
        const double unit = *most / times;
        const auto fits = [&](double v) { return std::abs(v - std::nearbyint(v / unit) * unit) <= 0x1p-50 * v; };
        if (std::all_of(x, x + n, fits)) return unit;
    }
    return 0;
}

// The same of a machine's points, or 0 where they had better be numbers: where points have scales of their own, or
// where what is divided by the unit would come near the ends of the range of floats.
inline double unit_of_bytes(const Machine &m) {
    if (m.kernel.normalized || by_differences(m.kernel.kind)) return 0;
    const auto moderate = [](double v) { return v > 0x1p-60 && v < 0x1p60; };
    const double unit = unit_of_bytes(m.points, m.points_count * m.features);
    const ScaleOffset terms = lane_terms(m.kernel, 0);
    const bool fits = moderate(unit) && moderate(unit * terms.scale) && std::abs(terms.offset) < 0x1p60;
    return fits ? unit : 0;
}

enum class Storage { numbers, bytes_where_exact };

template <class T> class Packed {
  public:
    explicit Packed(const Machine &m, bool keep_order = false, Storage storage = Storage::numbers)
        : order(packing_order(m, keep_order,
                              [&](ptrdiff_t i) { return squared_norm(m.points + i * m.features, m.features); })),
          tiles((m.points_count + tile_width<T> - 1) / tile_width<T>),
          panels((tiles + panel_tiles - 1) / panel_tiles),
          tile_stride(m.features * tile_width<T>),
          byte_unit_(storage == Storage::numbers ? 0 : unit_of_bytes(m)),
          points(in_bytes() ? 0 : size_t(tiles * tile_stride)),
          bytes(in_bytes() ? size_t(tiles * tile_stride) : 0),
          lane_offset(size_t(panels * panel_width<T>)) {
        panel_sizes.resize(panels);
        for (ptrdiff_t i = 0; i < m.points_count; i++) pack_point(m, i);
        for (ptrdiff_t p = 0; p < panels; p++) panel_weights.emplace_back(m, order, p);
    }

    // Of numbers.
    const T *tile(ptrdiff_t t) const { return points.get() + t * tile_stride; }

    bool in_bytes() const { return byte_unit_ > 0; }
    const uint8_t *byte_tile(ptrdiff_t t) const { return bytes.get() + t * tile_stride; }

    // A row, and the sizes of points, as they are with these points.
    RowTraits scaled(RowTraits row) const {
        row.scale *= unit_;
        return row;
    }
    PointSizes scaled(const PointSizes &sizes) const {
        return in_bytes() ? PointSizes{sizes.norm / unit_, sizes.offset / unit_} : sizes;
    }

    // Tiles of a panel: the last one may be short.
    int tiles_of(ptrdiff_t panel) const {
        const ptrdiff_t left = tiles - panel * panel_tiles;
        return left < panel_tiles ? int(left) : panel_tiles;
    }

    const std::vector<ptrdiff_t> order;  // which point of the machine is at each place
    const ptrdiff_t tiles, panels, tile_stride;

  private:
    const double byte_unit_;  // of the machine's points, or 0
    double unit_ = 1;         // of the scaled points

  public:
    Aligned<T> points;
    Aligned<uint8_t> bytes;  // in place of points
    Aligned<T> lane_offset;
    std::vector<PanelWeights<T>> panel_weights;
    std::vector<PointSizes> panel_sizes;  // the largest of each panel
    PointSizes sizes;                     // the largest of all

  private:
    // i: the place, here and below.
    void pack_point(const Machine &m, ptrdiff_t i) {
        const double *s = m.points + order[i] * m.features;
        const double norm2 = squared_norm(s, m.features);
        const ScaleOffset terms = lane_terms(m.kernel, norm2);
        const ptrdiff_t at = i / tile_width<T> * tile_stride + i % tile_width<T>;
        if (in_bytes()) {
            unit_ = byte_unit_ * terms.scale;  // the same for all: no point has a scale of its own
            uint8_t *to = bytes.get() + at;
            for (ptrdiff_t j = 0; j < m.features; j++)
                to[j * tile_width<T>] = uint8_t(std::nearbyint(s[j] / byte_unit_));
        } else {
            T *to = points.get() + at;
            for (ptrdiff_t j = 0; j < m.features; j++) to[j * tile_width<T>] = T(s[j] * terms.scale);
        }
        lane_offset[i] = T(terms.offset / unit_);
        const PointSizes mine = sizes_of(m.kernel, s, m.features, norm2, terms);
        sizes.widen(mine);
        panel_sizes[i / panel_width<T>].widen(mine);
    }
};

}  // namespace dormie
