// The weights of one panel of points, or of one of its tiles, for the outputs that have any in the panel.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/aligned.hpp"
#include "core/machine.hpp"
#include "simd/ops.hpp"

namespace dormie {

// The weights of adjacent lanes of a panel; the arrays are the panel's.
template <class T> struct LaneWeights {
    const T *weights;  // a row for each output, panel_width apart, and one of the largest
    const int32_t *slots;
    int outputs;
    double total;

    const T *largest() const { return weights + outputs * panel_width<T>; }
};

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
            for (ptrdiff_t o = 0; o < m.outputs; o++)
                size = std::fmax(size, std::abs(m.weights[order[i] * m.outputs + o]));
            T &rounded_up = largest()[i - from];
            rounded_up = T(size * (1 + 1e-6) + 1e-37);
            total += double(rounded_up);
            tile_totals_[(i - from) / tile_width<T>] += double(rounded_up);
        }
    }

    LaneWeights<T> all() const { return {weights.get(), slots.data(), outputs(), total}; }

    // Of some of its tiles.
    LaneWeights<T> tiles(int from, int count) const {
        const double part = std::accumulate(tile_totals_ + from, tile_totals_ + from + count, 0.0);
        return {weights.get() + from * tile_width<T>, slots.data(), outputs(), part};
    }

    T *largest() const { return weights.get() + (slots.size() - 1) * panel_width<T>; }

    // Outputs with a weight other than 0 in this panel, and last the place of the sum of error sizes (panel.hpp).
    std::vector<int32_t> slots;
    // A row of panel_width for each slot; the last is, for each point, the largest |weight|, rounded up.
    Aligned<T> weights;
    double total = 0;  // of the largest weights

  private:
    int outputs() const { return int(slots.size()) - 1; }

    double tile_totals_[panel_tiles] = {};
};

}  // namespace dormie
