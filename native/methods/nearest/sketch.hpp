// Rows and points in few coordinates: their components along a basis.
//
// A row x becomes (z, 0, r), a point s (z', r', 0), r and r' being the lengths of what lies outside the basis: lengths
// are kept and inner products are those of the components, so any kernel of the two takes the place of K(x, s) at a
// fraction of its cost.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/machine.hpp"
#include "core/norm.hpp"
#include "simd/ops.hpp"
#include "tiles/packed.hpp"
#include "tiles/row_block.hpp"

namespace dormie {

class Sketch {
  public:
    // basis: components x features, orthonormal rows; at most panel_width<float> of them.
    Sketch(const Machine &m, const double *basis, ptrdiff_t components)
        : components_(components), packed_(unscaled(over_points(m, components, m.features, basis)), true) {}

    // Numbers in a sketch.
    ptrdiff_t size() const { return components_ + 2; }
    ptrdiff_t components() const { return components_; }

    // Room that components() of that many rows take.
    static size_t room(int rows) { return size_t(rows + ops<float>().group_rows) * panel_stride<float>; }

    // The components of every row of a block, panel_stride apart and padded with zeros.
    void components(const RowBlock<float> &block, float *z) const { block.products(packed_, 0, int(packed_.tiles), z); }

    // The sketch of a row from its components and its length; false where it is not finite.
    bool of_row(const float *z, double length, float *out) const {
        std::copy_n(z, components_, out);
        double inside = 0;
        for (ptrdiff_t k = 0; k < components_; k++) inside += double(z[k]) * z[k];
        out[components_] = 0;
        out[components_ + 1] = float(std::sqrt(std::fmax(length * length - inside, 0.0)));
        return std::isfinite(inside) && std::isfinite(out[components_ + 1]);
    }

    // Those of points, count x size().
    std::vector<double> of_points(const Machine &m, const double *basis) const {
        std::vector<double> out(size_t(m.points_count * size()));
        for (ptrdiff_t i = 0; i < m.points_count; i++) {
            const double *s = m.points + i * m.features;
            double *to = out.data() + i * size(), inside = 0;
            for (ptrdiff_t k = 0; k < components_; k++) {
                for (ptrdiff_t j = 0; j < m.features; j++) to[k] += basis[k * m.features + j] * s[j];
                inside += to[k] * to[k];
            }
            to[components_] = std::sqrt(std::fmax(squared_norm(s, m.features) - inside, 0.0));
        }
        return out;
    }

  private:
    const ptrdiff_t components_;
    const Packed<float> packed_;
};

}  // namespace dormie
