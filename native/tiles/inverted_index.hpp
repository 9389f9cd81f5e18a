// Sparse points by their columns: a row's non-zeros meet only the points that have them.
//
// Scaled and ordered as in tiles (packed.hpp), with the same weights and sizes of panels. A column lists the places of
// its points and their coordinates. Columns that many points have, such as frequent words, lie in tiles: adding up the
// entries of a list one by one takes some thirty times as long as the same number of neighbours.
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
    static constexpr ptrdiff_t features_an_entry = 1, always_all = 4096;

    const bool all_;
    ptrdiff_t count_;
    std::vector<int32_t> used_;
};

template <class T> class InvertedIndex {
  public:
    explicit InvertedIndex(const Machine &m)
        : order(packing_order(m, false,
                              [&](ptrdiff_t i) { return squared_norm(m.sparse[i].values, m.sparse[i].count); })),
          panels((m.points_count + panel_width<T> - 1) / panel_width<T>),
          lane_offset(size_t(panels * panel_width<T>)),
          tiles_((m.points_count + tile_width<T> - 1) / tile_width<T>),
          numbers_(m.sparse.columns, entries(m), m.features),
          columns_(size_t(numbers_.count())) {
        panel_sizes.resize(size_t(panels));
        for (ptrdiff_t i = 0; i < m.points_count; i++) measure(m, i);
        for (ptrdiff_t p = 0; p < panels; p++) panel_weights.emplace_back(m, order, p);
        const ptrdiff_t count = entries(m);
        for (ptrdiff_t k = 0; k < count; k++) columns_[size_t(numbers_.number(m.sparse.columns[k]))].count++;
        choose_frequent(count);
        make_room();
        for (ptrdiff_t i = 0; i < m.points_count; i++) add(m, i);
    }

    // Room for what `products` finds of a row.
    struct Found {
        struct List {
            int64_t from;
            int32_t count;
            T x;
        };
        std::vector<List> lists;
        std::vector<int32_t> frequent;
        std::vector<T> values;
    };

    // Dot products of a row with all points, to `panels` whole panels; the points' coordinates are scaled. In two
    // steps: finding all columns first, one does not wait for the memory of another.
    void products(const SparseVector &row, Found &found, T *out) const {
        find(row, found);
        add_frequent(found, out);
        const Entry *entries = entries_.data();
        for (size_t k = 0; k < found.lists.size(); k++) {
            if (k + ahead < found.lists.size()) __builtin_prefetch(entries + found.lists[k + ahead].from);
            const auto [from, count, x] = found.lists[k];
            for (const Entry *e = entries + from; e < entries + from + count; e++) out[e->place] += x * e->value;
        }
    }

    // Lanes of a panel that have points, in whole tiles.
    int lanes_of(ptrdiff_t panel) const {
        return int(std::min<ptrdiff_t>(panel_width<T>, tiles_ * tile_width<T> - panel * panel_width<T>));
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

    // Of a column: its list, empty if it is frequent, and its number among the frequent ones, else -1.
    struct Column {
        int64_t from = 0;
        int32_t count = 0, frequent = -1;
    };

    static constexpr size_t ahead = 8;  // columns: far enough for their entries to be there when they are needed
    // A column in tiles pays from an eighth of the points on: with more of them tiles leave the cache (6,000 points,
    // 60,000 words); with a few points it gains nothing. Tiles have at most 8 numbers for each entry of all points.
    static constexpr ptrdiff_t frequent_share = 8, frequent_points = 8, numbers_an_entry = 8;

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

    // The columns that lie in tiles: those that most points have.
    void choose_frequent(ptrdiff_t count) {
        const ptrdiff_t padded = tiles_ * tile_width<T>;
        const ptrdiff_t least = std::max(frequent_points, padded / frequent_share);
        std::vector<int32_t> most;
        for (size_t j = 0; j < columns_.size(); j++)
            if (columns_[j].count >= least) most.push_back(int32_t(j));
        std::stable_sort(most.begin(), most.end(),
                         [&](int32_t a, int32_t b) { return columns_[size_t(a)].count > columns_[size_t(b)].count; });
        if (padded > 0) most.resize(std::min(most.size(), size_t(numbers_an_entry * count / padded)));
        for (size_t k = 0; k < most.size(); k++) columns_[size_t(most[k])].frequent = int32_t(k);
        tile_stride_ = ptrdiff_t(most.size()) * tile_width<T>;
        frequent_ = Aligned<T>(size_t(tiles_ * tile_stride_));
    }

    // For the entries of all columns; their counts begin anew.
    void make_room() {
        int64_t next = 0;
        for (Column &column : columns_) {
            met += double(column.count) * double(column.count) / double(order.size());
            column.from = next;
            if (column.frequent < 0) next += column.count;
            column.count = 0;
        }
        entries_.resize(size_t(next));
    }

    void add(const Machine &m, ptrdiff_t i) {
        const SparseVector s = m.sparse[order[size_t(i)]];
        const double scale = lane_terms(m.kernel, squared_norm(s.values, s.count)).scale;
        T *tile = frequent_.get() + i / tile_width<T> * tile_stride_ + i % tile_width<T>;
        for (ptrdiff_t k = 0; k < s.count; k++) {
            Column &column = columns_[size_t(numbers_.number(s.columns[k]))];
            const T value = T(s.values[k] * scale);
            if (column.frequent >= 0)
                tile[column.frequent * tile_width<T>] = value;
            else
                entries_[size_t(column.from + column.count++)] = {value, int32_t(i)};
        }
    }

    void find(const SparseVector &row, Found &found) const {
        found.lists.clear();
        found.frequent.clear();
        found.values.clear();
        for (ptrdiff_t k = 0; k < row.count; k++) {
            const ptrdiff_t number = numbers_.number(row.columns[k]);
            if (number < 0) continue;
            const Column &column = columns_[size_t(number)];
            const T x = T(row.values[k]);
            if (column.frequent >= 0) {
                found.frequent.push_back(column.frequent);
                found.values.push_back(x);
            } else if (column.count > 0) {
                found.lists.push_back({column.from, column.count, x});
            }
        }
    }

    // Writes all products: sums over the frequent columns.
    void add_frequent(const Found &found, T *out) const {
        if (found.frequent.empty()) return (void)std::fill_n(out, panels * panel_width<T>, T(0));
        const auto &op = ops<T>();
        const int32_t bounds[] = {0, int32_t(found.frequent.size())};
        const Nonzeros<T> row{1, found.frequent.data(), found.values.data(), bounds, 1};
        for (ptrdiff_t t = 0; t < tiles_; t += op.list_tiles) {
            const int tiles = int(std::min<ptrdiff_t>(op.list_tiles, tiles_ - t));
            op.list_products(row, {frequent_.get() + t * tile_stride_, nullptr, tile_stride_, tiles},
                             out + t * tile_width<T>, 0, false);
        }
    }

    const ptrdiff_t tiles_;
    const UsedColumns numbers_;
    std::vector<Column> columns_;
    std::vector<Entry> entries_;
    Aligned<T> frequent_;  // tiles of the frequent columns
    ptrdiff_t tile_stride_ = 0;
};

}  // namespace dormie
