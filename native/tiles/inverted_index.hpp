// Sparse points by their columns: a row's non-zeros meet only the points that have them.
//
// Scaled and ordered as in tiles (packed.hpp), with the same weights and sizes of panels; but a column lists the places
// of its points and their coordinates, and not all points have room for it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/aligned.hpp"
#include "core/kernel.hpp"
#include "core/machine.hpp"
#include "core/norm.hpp"
#include "core/sizes.hpp"
#include "core/sparse.hpp"
#include "simd/ops.hpp"
#include "tiles/packed.hpp"
#include "tiles/panel_weights.hpp"

namespace dormie {

// The columns that points have, numbered in ascending order. Takes memory for these, however many features there are.
class UsedColumns {
  public:
    UsedColumns(const int32_t *columns, ptrdiff_t count, ptrdiff_t features) {
        if (features <= features_an_entry * count + always_mapped) {
            numbers_.assign(size_t(features), -1);
            for (ptrdiff_t k = 0; k < count; k++) numbers_[size_t(columns[k])] = 0;
            for (int32_t &number : numbers_)
                if (number == 0) number = count_++;
        } else {
            sorted_.assign(columns, columns + count);
            std::sort(sorted_.begin(), sorted_.end());
            sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
            count_ = int32_t(sorted_.size());
        }
    }

    int32_t count() const { return count_; }

    // The number of a column; -1 where no point has it.
    int32_t number(int32_t column) const {
        if (!numbers_.empty()) return numbers_[size_t(column)];
        const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), column);
        return found != sorted_.end() && *found == column ? int32_t(found - sorted_.begin()) : -1;
    }

  private:
    // A number for every feature, or the columns to search among, where features are far more than entries.
    static constexpr ptrdiff_t features_an_entry = 16, always_mapped = 4096;

    std::vector<int32_t> numbers_, sorted_;
    int32_t count_ = 0;
};

template <class T> class InvertedIndex {
  public:
    explicit InvertedIndex(const Machine &m)
        : order(packing_order(m, false, [&](ptrdiff_t i) { return squared_norm(m.sparse[i].values, m.sparse[i].count); })),
          panels((m.points_count + panel_width<T> - 1) / panel_width<T>),
          lane_offset(size_t(panels * panel_width<T>)),
          columns_(m.sparse.columns, entries(m), m.features),
          starts_(size_t(columns_.count()) + 1),
          places_(size_t(entries(m))),
          values_(size_t(entries(m))) {
        panel_sizes.resize(size_t(panels));
        for (ptrdiff_t i = 0; i < m.points_count; i++) measure(m, i);
        for (ptrdiff_t p = 0; p < panels; p++) panel_weights.emplace_back(m, order, p);
        list(m);
    }

    // Dot products of a row with all points, to `panels` whole panels; the points' coordinates are scaled.
    void products(const SparseVector &row, T *out) const {
        std::fill_n(out, panels * panel_width<T>, T(0));
        for (ptrdiff_t k = 0; k < row.count; k++) {
            const int32_t number = columns_.number(row.columns[k]);
            if (number < 0) continue;
            const T x = T(row.values[k]);
            const int64_t end = starts_[size_t(number) + 1];
            for (int64_t e = starts_[size_t(number)]; e < end; e++) out[places_[size_t(e)]] += x * values_[size_t(e)];
        }
    }

    // Lanes of a panel that have points, in whole tiles.
    int lanes_of(ptrdiff_t panel) const {
        const ptrdiff_t left = ptrdiff_t(order.size()) - panel * panel_width<T>;
        return int(std::min<ptrdiff_t>(panel_width<T>, (left + tile_width<T> - 1) / tile_width<T> * tile_width<T>));
    }

    // Entries that a row meets whose columns are distributed as those of the points are.
    double expected_products() const {
        double squares = 0;
        for (size_t j = 0; j + 1 < starts_.size(); j++) {
            const double points = double(starts_[j + 1] - starts_[j]);
            squares += points * points;
        }
        return order.empty() ? 0 : squares / double(order.size());
    }

    const std::vector<ptrdiff_t> order;  // which point of the machine is at each place
    const ptrdiff_t panels;
    Aligned<T> lane_offset;
    std::vector<PanelWeights<T>> panel_weights;
    std::vector<PointSizes> panel_sizes;  // the largest of each panel
    PointSizes sizes;                     // the largest of all
    ptrdiff_t longest = 0;                // the most non-zeros of a point

  private:
    static ptrdiff_t entries(const Machine &m) { return ptrdiff_t(m.sparse.starts[m.points_count]); }

    // i: the place.
    void measure(const Machine &m, ptrdiff_t i) {
        const SparseVector s = m.sparse[order[size_t(i)]];
        const double norm2 = squared_norm(s.values, s.count);
        const ScaleOffset terms = lane_terms(m.kernel, norm2);
        lane_offset[size_t(i)] = T(terms.offset);
        const PointSizes mine = sizes_of(m.kernel, s.values, s.count, norm2, terms);
        sizes.widen(mine);
        panel_sizes[size_t(i / panel_width<T>)].widen(mine);
        longest = std::max(longest, s.count);
    }

    void list(const Machine &m) {
        const ptrdiff_t count = entries(m);
        for (ptrdiff_t k = 0; k < count; k++) starts_[size_t(columns_.number(m.sparse.columns[k])) + 1]++;
        for (size_t j = 1; j < starts_.size(); j++) starts_[j] += starts_[j - 1];
        std::vector<int64_t> next(starts_.begin(), starts_.end() - 1);
        for (ptrdiff_t i = 0; i < m.points_count; i++) {
            const SparseVector s = m.sparse[order[size_t(i)]];
            const double scale = lane_terms(m.kernel, squared_norm(s.values, s.count)).scale;
            for (ptrdiff_t k = 0; k < s.count; k++) {
                const size_t at = size_t(next[size_t(columns_.number(s.columns[k]))]++);
                places_[at] = int32_t(i);
                values_[at] = T(s.values[k] * scale);
            }
        }
    }

    const UsedColumns columns_;
    std::vector<int64_t> starts_;  // of each column
    std::vector<int32_t> places_;  // of its points
    std::vector<T> values_;
};

}  // namespace dormie
