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

// The columns that points have, by number: every column has its own where features are few, and else the columns in use
// are numbered in ascending order. So it takes memory for entries, however many features there are.
class UsedColumns {
  public:
    UsedColumns(const int32_t *columns, ptrdiff_t count, ptrdiff_t features)
        : all_(features <= features_an_entry * count + always_all), count_(features) {
        if (all_) return;
        used_.assign(columns, columns + count);
        std::sort(used_.begin(), used_.end());
        used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
        count_ = ptrdiff_t(used_.size());
    }

    ptrdiff_t count() const { return count_; }

    // The number of a column; -1 where no point has it.
    ptrdiff_t number(int32_t column) const {
        if (all_) return column;
        const auto found = std::lower_bound(used_.begin(), used_.end(), column);
        return found != used_.end() && *found == column ? found - used_.begin() : -1;
    }

  private:
    static constexpr ptrdiff_t features_an_entry = 4, always_all = 4096;

    const bool all_;
    ptrdiff_t count_;
    std::vector<int32_t> used_;
};

template <class T> class InvertedIndex {
  public:
    explicit InvertedIndex(const Machine &m)
        : order(packing_order(m, false, [&](ptrdiff_t i) { return squared_norm(m.sparse[i].values, m.sparse[i].count); })),
          panels((m.points_count + panel_width<T> - 1) / panel_width<T>),
          lane_offset(size_t(panels * panel_width<T>)),
          columns_(m.sparse.columns, entries(m), m.features),
          starts_(size_t(columns_.count()) + 1),
          entries_(size_t(entries(m))) {
        panel_sizes.resize(size_t(panels));
        for (ptrdiff_t i = 0; i < m.points_count; i++) measure(m, i);
        for (ptrdiff_t p = 0; p < panels; p++) panel_weights.emplace_back(m, order, p);
        list(m);
    }

    // Where the entries of a row's columns lie: room for `products`.
    struct Range {
        int64_t from, to;
        T x;
    };

    // Dot products of a row with all points, to `panels` whole panels; the points' coordinates are scaled. In two steps:
    // finding all columns first, one does not wait for the memory of another.
    void products(const SparseVector &row, std::vector<Range> &ranges, T *out) const {
        ranges.clear();
        for (ptrdiff_t k = 0; k < row.count; k++) {
            const ptrdiff_t number = columns_.number(row.columns[k]);
            if (number >= 0) ranges.push_back({starts_[size_t(number)], starts_[size_t(number) + 1], T(row.values[k])});
        }
        std::fill_n(out, panels * panel_width<T>, T(0));
        const Entry *entries = entries_.data();
        for (size_t k = 0; k < ranges.size(); k++) {
            if (k + ahead < ranges.size()) __builtin_prefetch(entries + ranges[k + ahead].from);
            const auto [from, to, x] = ranges[k];
            for (int64_t e = from; e < to; e++) out[entries[e].place] += x * entries[e].value;
        }
    }

    // Lanes of a panel that have points, in whole tiles.
    int lanes_of(ptrdiff_t panel) const {
        const ptrdiff_t left = ptrdiff_t(order.size()) - panel * panel_width<T>;
        return int(std::min<ptrdiff_t>(panel_width<T>, (left + tile_width<T> - 1) / tile_width<T> * tile_width<T>));
    }

    const std::vector<ptrdiff_t> order;  // which point of the machine is at each place
    const ptrdiff_t panels;
    Aligned<T> lane_offset;
    std::vector<PanelWeights<T>> panel_weights;
    std::vector<PointSizes> panel_sizes;  // the largest of each panel
    PointSizes sizes;                     // the largest of all
    ptrdiff_t longest = 0;                // the most non-zeros of a point
    double met = 0;                       // entries that a row meets whose columns are distributed as the points' are

  private:
    struct Entry {
        T value;
        int32_t place;
    };

    static constexpr size_t ahead = 8;  // columns: far enough for their entries to be there when they are needed

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
        for (size_t j = 1; j < starts_.size(); j++) {
            met += double(starts_[j]) * double(starts_[j]) / double(m.points_count);
            starts_[j] += starts_[j - 1];
        }
        std::vector<int64_t> next(starts_.begin(), starts_.end() - 1);
        for (ptrdiff_t i = 0; i < m.points_count; i++) {
            const SparseVector s = m.sparse[order[size_t(i)]];
            const double scale = lane_terms(m.kernel, squared_norm(s.values, s.count)).scale;
            for (ptrdiff_t k = 0; k < s.count; k++) {
                const int64_t at = next[size_t(columns_.number(s.columns[k]))]++;
                entries_[size_t(at)] = {T(s.values[k] * scale), int32_t(i)};
            }
        }
    }

    const UsedColumns columns_;
    std::vector<int64_t> starts_;  // of each column among the entries
    std::vector<Entry> entries_;
};

}  // namespace dormie
