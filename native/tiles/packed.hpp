// A machine's points in tiles, in one number type, scaled as core/kernel.hpp says; with the weights of each panel.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
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

template <class T> class Packed {
  public:
    explicit Packed(const Machine &m, bool keep_order = false)
        : order(packing_order(m, keep_order,
                              [&](ptrdiff_t i) { return squared_norm(m.points + i * m.features, m.features); })),
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
    // i: the place, here and below.
    void pack_point(const Machine &m, ptrdiff_t i) {
        const double *s = m.points + order[i] * m.features;
        const double norm2 = squared_norm(s, m.features);
        const ScaleOffset terms = lane_terms(m.kernel, norm2);
        T *to = points.get() + i / tile_width<T> * tile_stride + i % tile_width<T>;
        for (ptrdiff_t j = 0; j < m.features; j++) to[j * tile_width<T>] = T(s[j] * terms.scale);
        lane_offset[i] = T(terms.offset);
        const PointSizes mine = sizes_of(m.kernel, s, m.features, norm2, terms);
        sizes.widen(mine);
        panel_sizes[i / panel_width<T>].widen(mine);
    }
};

}  // namespace dormie
