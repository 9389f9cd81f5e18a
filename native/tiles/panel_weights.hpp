// The weights of one panel of points, for the outputs that have any in it.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/aligned.hpp"
#include "core/machine.hpp"
#include "simd/ops.hpp"

namespace dormie {

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
        }
    }

    T *largest() const { return weights.get() + (slots.size() - 1) * panel_width<T>; }

    // Outputs with a weight other than 0 in this panel, and last the place of the sum of error sizes (panel.hpp).
    std::vector<int32_t> slots;
    // A row of panel_width for each slot; the last is, for each point, the largest |weight|, rounded up.
    Aligned<T> weights;
    double total = 0;  // of the largest weights
};

}  // namespace dormie
