// Rows of a block arranged for the tiles: either in groups that share a pass over a tile, or as lists of non-zeros,
// whichever their zeros make cheaper. The two give the same bits, because a product with 0 leaves a sum as it is: so a
// row's outputs do not depend on its neighbours.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "core/laid_out.hpp"
#include "core/sizes.hpp"
#include "simd/ops.hpp"
#include "tiles/packed.hpp"

namespace dormie {

template <class T> class RowBlock {
  public:
    // grouped: whether rows are always in groups, which distances need, and kernels that are worked out by differences.
    RowBlock(const Machine &machine, int capacity, bool grouped = false)
        : features_(machine.features),
          sum_(summed_by(ops<T>(), machine.kernel.kind)),
          always_grouped_(grouped || by_differences(machine.kernel.kind)),
          chunks_((machine.features + chunk - 1) / chunk),
          which_(size_t(capacity)) {}

    // All rows of a block, or some of them.
    void arrange(const LaidOut &rows) {
        std::iota(which_.begin(), which_.begin() + rows.count(), 0);
        arrange(rows, rows.count());
    }
    void arrange(const LaidOut &rows, const int *which, int count) {
        std::copy_n(which, count, which_.begin());
        arrange(rows, count);
    }

    // Only the rows numbered in `kept` (ascending) stay, closed up.
    void keep(const std::vector<int> &kept) {
        for (size_t r = 0; r < kept.size(); r++) which_[r] = which_[kept[r]];
        arrange(*rows_, int(kept.size()));
    }

    // Row r stays where it is, but its products are not wanted any more: as a list it costs nothing from now on.
    void drop(int r) {
        if (by_nonzeros_) std::fill_n(bounds_.begin() + r * (chunks_ + 1), chunks_ + 1, 0);
    }

    int count() const { return count_; }
    // Which row of the block is row r.
    int place(int r) const { return which_[r]; }
    const RowTraits &row(int r) const { return rows_->traits(which_[r]); }
    // The row itself, mapped and rounded.
    const T *values(int r) const { return rows_->template row<T>(which_[r]); }

    // Dot products of every row with every point of up to panel_tiles tiles, to out[row * panel_stride + lane]; or the
    // sums of differences that stand in their place (kernel.hpp).
    void products(const Packed<T> &packed, ptrdiff_t first, int tiles, T *out) const {
        if (by_nonzeros_ && packed.in_bytes() && count_ < few_rows_of_bytes)
            products_with_bytes(packed, first, tiles, out);
        else if (by_nonzeros_)
            products_by_nonzeros(packed, first, tiles, out);
        else
            by_groups(sum_, packed, first, tiles, out);
    }

    // Squared distances of every row from every point, likewise; rows must be in groups.
    void distances(const Packed<T> &packed, ptrdiff_t first, int tiles, T *out) const {
        by_groups(ops<T>().group_distances, packed, first, tiles, out);
    }

    static int group_rows() { return ops<T>().group_rows; }
    int groups() const { return (count_ + group_rows() - 1) / group_rows(); }
    int padded_rows() const { return groups() * group_rows(); }

    // A multiply-add of the row form costs as much as this many of the group form: its tile comes from the second-level
    // cache, the group form's from registers.
    static constexpr double nonzeros_cost = 2;

  private:
    // The first `count` of which_.
    void arrange(const LaidOut &rows, int count) {
        rows_ = &rows;
        count_ = count;
        size_t nonzeros = 0;
        for (int r = 0; r < count_; r++) nonzeros += size_t(row(r).nonzeros);
        by_nonzeros_ = !always_grouped_ && nonzeros_cost * double(nonzeros) < double(padded_rows()) * double(features_);
        if (by_nonzeros_)
            list_nonzeros(nonzeros);
        else
            group();
    }

    void group() {
        const int R = group_rows();
        const size_t needed = size_t(padded_rows() * features_);
        if (grouped_size_ < needed) grouped_ = Aligned<T>::unwritten(grouped_size_ = needed);
        for (int first = 0; first < count_; first += R) {
            const T *some[most_group_rows];
            const int several = std::min(R, count_ - first);
            for (int r = 0; r < several; r++) some[r] = values(first + r);
            ops<T>().group(some, several, features_, grouped_.get() + first * features_);
        }
    }

    void list_nonzeros(size_t nonzeros) {
        constexpr size_t beyond = 64 / sizeof(T);  // see Ops::list_nonzeros
        if (index_.size() < nonzeros + beyond) index_.resize(nonzeros + beyond), value_.resize(nonzeros + beyond);
        bounds_.resize(size_t(count_) * (chunks_ + 1));
        int32_t *bound = bounds_.data(), at = 0;
        for (int r = 0; r < count_; r++) {
            const T *x = values(r);
            *bound++ = at;
            for (ptrdiff_t j = 0; j < features_; j += chunk) {
                const int length = features_ - j < chunk ? int(features_ - j) : chunk;
                at += ops<T>().list_nonzeros(x + j, length, index_.data() + at, value_.data() + at);
                *bound++ = at;
            }
        }
    }

    // Chunk by chunk, so that the tile's chunk stays in the first-level cache while the groups go by.
    template <class Sum> void by_groups(Sum sum, const Packed<T> &packed, ptrdiff_t first, int tiles, T *out) const {
        const ptrdiff_t d = features_;
        const int R = group_rows();
        for (int t = 0; t < tiles; t++)
            for (ptrdiff_t j = 0; j < d; j += chunk) {
                const ptrdiff_t length = d - j < chunk ? d - j : chunk;
                const T *points = packed.in_bytes() ? widened(packed, first + t, 1, j / chunk)
                                                    : packed.tile(first + t) + j * tile_width<T>;
                for (int g = 0; g < groups(); g++)
                    sum(grouped_.get() + (g * d + j) * R, points, length,
                        out + t * tile_width<T> + ptrdiff_t(g) * R * panel_stride<T>, panel_stride<T>, j > 0);
            }
    }

    void products_by_nonzeros(const Packed<T> &packed, ptrdiff_t first, int tiles, T *out) const {
        const int step = ops<T>().list_tiles;
        for (int t = 0; t < tiles; t += step)
            for (ptrdiff_t k = 0; k < chunks_; k++) {
                Nonzeros<T> rows{count_, index_.data(), value_.data(), bounds_.data() + k, chunks_ + 1};
                if (first + t == 0) fetch_next_rows(k, rows);
                const int together = tiles - t < step ? tiles - t : step;
                const TileChunk<T> at =
                    packed.in_bytes()
                        ? TileChunk<T>{widened(packed, first + t, together, k), nullptr, chunk_numbers, together}
                        : TileChunk<T>{chunk_of(packed, first + t, k), next_chunk(packed, first + t, k),
                                       packed.tile_stride, together};
                ops<T>().list_products(rows, at, out + t * tile_width<T>, panel_stride<T>, k > 0);
            }
    }

    // The rows that will be read after these come from memory while these meet the first tiles, a part with each chunk.
    void fetch_next_rows(ptrdiff_t k, Nonzeros<T> &rows) const {
        const Ahead part = rows_->next().part(k, chunks_);
        rows.ahead = part.begin;
        rows.lines_ahead = int((part.bytes / 64 + count_ - 1) / count_);
    }

    // A few rows: the bytes that they need, as they are.
    void products_with_bytes(const Packed<T> &packed, ptrdiff_t first, int tiles, T *out) const {
        const int step = ops<T>().list_tiles;
        for (int t = 0; t < tiles; t += step) {
            const bool more = first + t + 2 * step <= packed.tiles;
            for (ptrdiff_t k = 0; k < chunks_; k++) {
                const Nonzeros<T> rows{count_, index_.data(), value_.data(), bounds_.data() + k, chunks_ + 1};
                const ByteChunk at{bytes_of(packed, first + t, k),
                                   more ? bytes_of(packed, first + t + step, k) : nullptr, packed.tile_stride,
                                   tiles - t < step ? tiles - t : step};
                ops<T>().list_byte_products(rows, at, out + t * tile_width<T>, panel_stride<T>, k > 0);
            }
        }
    }

    // A chunk of adjacent tiles as numbers, one tile below the other.
    const T *widened(const Packed<T> &packed, ptrdiff_t tile, int tiles, ptrdiff_t k) const {
        if (!widened_.get()) widened_ = Aligned<T>::unwritten(size_t(panel_tiles * chunk_numbers));
        const ptrdiff_t length = std::min<ptrdiff_t>(features_ - k * chunk, chunk);
        for (int t = 0; t < tiles; t++)
            ops<T>().widen(bytes_of(packed, tile + t, k), length, widened_.get() + t * chunk_numbers,
                           k + 2 < chunks_ ? bytes_of(packed, tile + t, k + 1) : nullptr);
        return widened_.get();
    }

    static const uint8_t *bytes_of(const Packed<T> &packed, ptrdiff_t tile, ptrdiff_t k) {
        return packed.byte_tile(tile) + k * chunk_numbers;
    }

    static const T *chunk_of(const Packed<T> &packed, ptrdiff_t tile, ptrdiff_t k) {
        return packed.tile(tile) + k * chunk * tile_width<T>;
    }

    // A few rows use too little of a chunk to fetch the whole of it: see TileChunk.
    const T *next_chunk(const Packed<T> &packed, ptrdiff_t tile, ptrdiff_t k) const {
        const int step = ops<T>().list_tiles;
        if (count_ < few_listed_rows)
            return tile + 2 * step <= packed.tiles ? chunk_of(packed, tile + step, k) : nullptr;
        if (k + 2 < chunks_) return chunk_of(packed, tile, k + 1);
        return k + 1 == chunks_ && tile + 2 * step < packed.tiles ? chunk_of(packed, tile + step, 0) : nullptr;
    }

    // With more rows, making a chunk of bytes numbers once takes less than making those that each row needs.
    static constexpr int few_rows_of_bytes = 6;
    static constexpr ptrdiff_t chunk_numbers = ptrdiff_t(chunk) * tile_width<T>;

    const LaidOut *rows_ = nullptr;
    const ptrdiff_t features_;
    const decltype(Ops<T>::group_products) sum_;
    const bool always_grouped_;
    const ptrdiff_t chunks_;
    std::vector<int> which_;
    int count_ = 0;
    bool by_nonzeros_ = false;
    Aligned<T> grouped_;
    size_t grouped_size_ = 0;
    std::vector<int32_t> index_, bounds_;  // bounds_: chunks + 1 a row
    std::vector<T> value_;
    mutable Aligned<T> widened_;  // made when points in bytes are met
};

}  // namespace dormie
