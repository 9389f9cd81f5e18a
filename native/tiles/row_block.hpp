// A few dozen rows made ready for the tiles: mapped, rounded to the number type, and laid out either in groups that
// share a pass over a tile, or as lists of non-zeros, whichever the block's zeros make cheaper. The two give the same
// bits, because a product with 0 leaves a sum as it is: so a row's outputs do not depend on its neighbours.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/rows.hpp"
#include "core/sizes.hpp"
#include "simd/ops.hpp"
#include "tiles/packed.hpp"

namespace dormie {

template <class T> class RowBlock {
  public:
    // grouped: whether rows are always laid out in groups, which distances need.
    RowBlock(const Machine &machine, int capacity, bool grouped = false)
        : machine_(machine),
          always_grouped_(grouped),
          chunks_((machine.features + chunk - 1) / chunk),
          wide_(machine.features),
          plain_(size_t(capacity) * machine.features),
          rows_(capacity) {}

    void fill(const RowRange &range) {
        count_ = range.count;
        for (int r = 0; r < count_; r++) fill_row(range.rows, range.number(r), r);
        lay_out();
    }

    // Only the rows numbered in `kept` (ascending) stay, closed up.
    void keep(const std::vector<int> &kept) {
        const ptrdiff_t d = machine_.features;
        for (int r = 0; r < int(kept.size()); r++) {
            if (kept[r] == r) continue;
            rows_[r] = rows_[kept[r]];
            std::copy_n(plain_.get() + kept[r] * d, d, plain_.get() + r * d);
        }
        count_ = int(kept.size());
        lay_out();
    }

    // Row r stays where it is, but its products are not wanted any more: as a list it costs nothing from now on.
    void drop(int r) {
        if (by_nonzeros_) std::fill_n(bounds_.begin() + r * (chunks_ + 1), chunks_ + 1, 0);
    }

    int count() const { return count_; }
    const RowTraits &row(int r) const { return rows_[r]; }
    // The row itself, mapped and rounded.
    const T *values(int r) const { return plain_.get() + r * machine_.features; }

    // Dot products of every row with every point of up to panel_tiles tiles, to out[row * panel_stride + lane].
    void products(const Packed<T> &packed, ptrdiff_t first, int tiles, T *out) const {
        if (by_nonzeros_)
            products_by_nonzeros(packed, first, tiles, out);
        else
            by_groups(ops<T>().group_products, packed, first, tiles, out);
    }

    // Squared distances of every row from every point, likewise; rows must be in groups.
    void distances(const Packed<T> &packed, ptrdiff_t first, int tiles, T *out) const {
        by_groups(ops<T>().group_distances, packed, first, tiles, out);
    }

    static int group_rows() { return ops<T>().group_rows; }
    int groups() const { return (count_ + group_rows() - 1) / group_rows(); }
    int padded_rows() const { return groups() * group_rows(); }

  private:
    // A multiply-add of the row form costs as much as this many of the group form: its tile comes from the second-level
    // cache, the group form's from registers.
    static constexpr double nonzeros_cost = 2;

    void lay_out() {
        size_t nonzeros = 0;
        for (int r = 0; r < count_; r++) nonzeros += size_t(rows_[r].nonzeros);
        by_nonzeros_ =
            !always_grouped_ && nonzeros_cost * double(nonzeros) < double(padded_rows()) * double(machine_.features);
        if (by_nonzeros_)
            list_nonzeros(nonzeros);
        else
            group();
    }

    void fill_row(const Rows &rows, ptrdiff_t i, int r) {
        const ptrdiff_t d = machine_.features;
        const double *x = rows.row(i, wide_.data());
        if (machine_.center) {
            ops<double>().map_row(x, machine_.center, machine_.scale, d, wide_.data());
            x = wide_.data();
        }
        RowTraits &row = rows_[r];
        T *to = plain_.get() + r * d;
        const double norm2 = ops<T>().round_row(x, d, to, &row.nonzeros);
        if (!(norm2 <= std::numeric_limits<double>::max())) rows.require_finite(i);
        row.norm = std::sqrt(norm2);
        row.far = far_out(machine_.kernel, norm2);
        row.lost = norm_lost(machine_.kernel, x, d, norm2);
        const ScaleOffset terms = row_terms(machine_.kernel, norm2);
        row.scale = terms.scale;
        row.offset = terms.offset;
        if (row.far) {
            std::fill_n(to, d, T(0));
            row.nonzeros = 0;
        }
    }

    void group() {
        const ptrdiff_t d = machine_.features;
        const int R = group_rows();
        const size_t needed = size_t(padded_rows()) * d;
        if (grouped_size_ < needed) grouped_ = Aligned<T>(grouped_size_ = needed);
        for (int r = 0; r < count_; r += R)
            ops<T>().group(plain_.get() + r * d, std::min(R, count_ - r), d, grouped_.get() + r * d);
    }

    void list_nonzeros(size_t nonzeros) {
        const ptrdiff_t d = machine_.features;
        constexpr size_t beyond = 64 / sizeof(T);  // see Ops::list_nonzeros
        if (index_.size() < nonzeros + beyond) index_.resize(nonzeros + beyond), value_.resize(nonzeros + beyond);
        bounds_.resize(size_t(count_) * (chunks_ + 1));
        int32_t *bound = bounds_.data(), at = 0;
        for (int r = 0; r < count_; r++) {
            const T *x = plain_.get() + r * d;
            *bound++ = at;
            for (ptrdiff_t j = 0; j < d; j += chunk) {
                const int length = d - j < chunk ? int(d - j) : chunk;
                at += ops<T>().list_nonzeros(x + j, length, index_.data() + at, value_.data() + at);
                *bound++ = at;
            }
        }
    }

    // Chunk by chunk, so that the tile's chunk stays in the first-level cache while the groups go by.
    template <class Sum> void by_groups(Sum sum, const Packed<T> &packed, ptrdiff_t first, int tiles, T *out) const {
        const ptrdiff_t d = machine_.features;
        const int R = group_rows();
        for (int t = 0; t < tiles; t++)
            for (ptrdiff_t j = 0; j < d; j += chunk)
                for (int g = 0; g < groups(); g++)
                    sum(grouped_.get() + (g * d + j) * R, packed.tile(first + t) + j * tile_width<T>,
                        d - j < chunk ? d - j : chunk, out + t * tile_width<T> + ptrdiff_t(g) * R * panel_stride<T>,
                        panel_stride<T>, j > 0);
    }

    void products_by_nonzeros(const Packed<T> &packed, ptrdiff_t first, int tiles, T *out) const {
        const int step = ops<T>().list_tiles;
        for (int t = 0; t < tiles; t += step)
            for (ptrdiff_t k = 0; k < chunks_; k++) {
                const Nonzeros<T> rows{count_, index_.data(), value_.data(), bounds_.data() + k, chunks_ + 1};
                const int together = tiles - t < step ? tiles - t : step;
                const TileChunk<T> at{chunk_of(packed, first + t, k), next_chunk(packed, first + t, k),
                                      packed.tile_stride, together};
                ops<T>().list_products(rows, at, out + t * tile_width<T>, panel_stride<T>, k > 0);
            }
    }

    static const T *chunk_of(const Packed<T> &packed, ptrdiff_t tile, ptrdiff_t k) {
        return packed.tile(tile) + k * chunk * tile_width<T>;
    }

    // A few rows use too little of a chunk to fetch the whole of it.
    const T *next_chunk(const Packed<T> &packed, ptrdiff_t tile, ptrdiff_t k) const {
        const int step = ops<T>().list_tiles;
        if (count_ < 16) return nullptr;
        if (k + 2 < chunks_) return chunk_of(packed, tile, k + 1);
        return k + 1 == chunks_ && tile + 2 * step < packed.tiles ? chunk_of(packed, tile + step, 0) : nullptr;
    }

    const Machine &machine_;
    const bool always_grouped_;
    const ptrdiff_t chunks_;
    int count_ = 0;
    bool by_nonzeros_ = false;
    std::vector<double> wide_;
    Aligned<T> plain_, grouped_;
    size_t grouped_size_ = 0;
    std::vector<RowTraits> rows_;
    std::vector<int32_t> index_, bounds_;  // bounds_: chunks + 1 a row
    std::vector<T> value_;
};

}  // namespace dormie
