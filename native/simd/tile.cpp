// The inner loops, compiled once for each instruction set (DORMIE_ISA names it). No library calls and no shared
// inline functions in here: see vec.hpp.
#include "simd/exp.hpp"
#include "simd/layout.hpp"
#include "simd/log.hpp"
#include "simd/ops.hpp"
#include "simd/vec.hpp"

namespace {

using dormie::ByteChunk;
using dormie::FewPoints;
using dormie::FewRows;
using dormie::KernelKind;
using dormie::Nonzeros;
using dormie::RowTerms;
using dormie::tile_width;
using dormie::TileChunk;

static_assert(group_rows_ <= dormie::most_group_rows);

// Terms of a sum over coordinates.
struct Product {
    template <class T> static Vec<T> of(Vec<T> x, Vec<T> s) { return x * s; }
};
struct Square {
    template <class T> static Vec<T> of(Vec<T> x, Vec<T> s) { return (x - s) * (x - s); }
};
struct Absolute {
    template <class T> static Vec<T> of(Vec<T> x, Vec<T> s) {
        const Vec<T> difference = x - s;
        return difference < T(0) ? -difference : difference;
    }
};
// A quotient of at most 1 first: a square may underflow.
struct Share {
    template <class T> static Vec<T> of(Vec<T> x, Vec<T> s) {
        const Vec<T> difference = x - s, sum = x + s;
        return difference * (difference / (sum > T(0) ? sum : all<T>(1)));
    }
};

template <class T, class Term>
inline void sum_groups(const T *rows, const T *tile, ptrdiff_t length, T *out, ptrdiff_t stride, bool add) {
    constexpr int R = group_rows_, V = column_vectors, W = tile_width<T>, N = lanes<T>;
    for (int column = 0; column < W; column += V * N) {
        Vec<T> sum[R][V] = {};
        const T *t = tile + column;
        for (ptrdiff_t j = 0; j < length; j++) {
            Vec<T> s[V];
            for (int v = 0; v < V; v++) s[v] = load(t + j * W + v * N);
            for (int r = 0; r < R; r++) {
                const Vec<T> x = all(rows[j * R + r]);
                for (int v = 0; v < V; v++) sum[r][v] += Term::template of<T>(x, s[v]);
            }
        }
        for (int r = 0; r < R; r++)
            for (int v = 0; v < V; v++) {
                T *to = out + r * stride + column + v * N;
                store(to, add ? load(to) + sum[r][v] : sum[r][v]);
            }
    }
}

template <class T>
void group_products(const T *rows, const T *tile, ptrdiff_t length, T *out, ptrdiff_t stride, bool add) {
    sum_groups<T, Product>(rows, tile, length, out, stride, add);
}

template <class T>
void group_distances(const T *rows, const T *tile, ptrdiff_t length, T *out, ptrdiff_t stride, bool add) {
    sum_groups<T, Square>(rows, tile, length, out, stride, add);
}

template <class T>
void group_absolutes(const T *rows, const T *tile, ptrdiff_t length, T *out, ptrdiff_t stride, bool add) {
    sum_groups<T, Absolute>(rows, tile, length, out, stride, add);
}

template <class T>
void group_shares(const T *rows, const T *tile, ptrdiff_t length, T *out, ptrdiff_t stride, bool add) {
    sum_groups<T, Share>(rows, tile, length, out, stride, add);
}

// Rows r of n fetch their share of the next chunk.
template <class T, int tiles> inline void fetch_next(const TileChunk<T> &at, int r, int n) {
    constexpr int lines = dormie::chunk * tile_width<T> * sizeof(T) / 64;
    for (int line = lines * r / n; line < lines * (r + 1) / n; line++)
        for (int m = 0; m < tiles; m++) __builtin_prefetch(at.next + m * at.tile_stride + line * (64 / sizeof(T)));
}

// What a single non-zero meets in the next chunk.
template <class T, int tiles> inline void fetch_points(const TileChunk<T> &at, int32_t feature) {
    const T *t = at.next + ptrdiff_t(feature) * tile_width<T>;
    for (int m = 0; m < tiles; m++, t += at.tile_stride)
        for (int line = 0; line < tile_width<T> * int(sizeof(T)); line += 64)
            __builtin_prefetch(t + line / int(sizeof(T)), 0, 2);
}

template <class T, int tiles>
void list_products_of(const Nonzeros<T> &rows, const TileChunk<T> &at, T *out, ptrdiff_t stride, bool add) {
    constexpr int W = tile_width<T>, N = lanes<T>, V = W / N;
    const bool few = rows.count < dormie::few_listed_rows;
    for (int r = 0; r < rows.count; r++) {
        if (at.next && !few) fetch_next<T, tiles>(at, r, rows.count);
        const int32_t from = rows.bounds[r * rows.bounds_stride], to = rows.bounds[r * rows.bounds_stride + 1];
        for (int line = 0; line < rows.lines_ahead; line++)
            __builtin_prefetch(rows.ahead + 64 * (ptrdiff_t(r) * rows.lines_ahead + line), 0, 2);
        if (add && from == to) continue;
        Vec<T> sum[tiles][V] = {};
        for (int32_t i = from; i < to; i++) {
            const T *t = at.points + ptrdiff_t(rows.index[i]) * W;
            const Vec<T> x = all(rows.value[i]);
            for (int m = 0; m < tiles; m++)
                for (int v = 0; v < V; v++) sum[m][v] += x * load(t + m * at.tile_stride + v * N);
            if (at.next && few) fetch_points<T, tiles>(at, rows.index[i]);
        }
        for (int m = 0; m < tiles; m++)
            for (int v = 0; v < V; v++) {
                T *lane = out + r * stride + m * W + v * N;
                store(lane, add ? load(lane) + sum[m][v] : sum[m][v]);
            }
    }
}

template <class T>
void list_products(const Nonzeros<T> &rows, const TileChunk<T> &at, T *out, ptrdiff_t stride, bool add) {
    if (at.tiles == list_tiles_) return list_products_of<T, list_tiles_>(rows, at, out, stride, add);
    for (int m = 0, some; m < at.tiles; m += some) {
        some = at.tiles - m >= 2 ? 2 : 1;
        const TileChunk<T> few{at.points + m * at.tile_stride, nullptr, at.tile_stride, some};
        T *to = out + m * tile_width<T>;
        some == 2 ? list_products_of<T, 2>(rows, few, to, stride, add)
                  : list_products_of<T, 1>(rows, few, to, stride, add);
    }
}

// What a single non-zero meets in the tiles after these.
template <int tiles> inline void fetch_bytes(const ByteChunk &at, ptrdiff_t from) {
    for (int m = 0; m < tiles; m++) __builtin_prefetch(at.next + m * at.tile_stride + from, 0, 2);
}

template <class T, int tiles>
void list_byte_products_of(const Nonzeros<T> &rows, const ByteChunk &at, T *out, ptrdiff_t stride, bool add) {
    constexpr int W = tile_width<T>, N = lanes<T>, V = W / N;
    for (int r = 0; r < rows.count; r++) {
        const int32_t from = rows.bounds[r * rows.bounds_stride], to = rows.bounds[r * rows.bounds_stride + 1];
        if (add && from == to) continue;
        Vec<T> sum[tiles][V] = {};
        for (int32_t i = from; i < to; i++) {
            const ptrdiff_t place = ptrdiff_t(rows.index[i]) * W;
            const Vec<T> x = all(rows.value[i]);
            for (int m = 0; m < tiles; m++)
                for (int v = 0; v < V; v++)
                    sum[m][v] += x * load_bytes<T>(at.points + m * at.tile_stride + place + v * N);
            if (at.next) fetch_bytes<tiles>(at, place);
        }
        for (int m = 0; m < tiles; m++)
            for (int v = 0; v < V; v++) {
                T *lane = out + r * stride + m * W + v * N;
                store(lane, add ? load(lane) + sum[m][v] : sum[m][v]);
            }
    }
}

template <class T>
void list_byte_products(const Nonzeros<T> &rows, const ByteChunk &at, T *out, ptrdiff_t stride, bool add) {
    if (at.tiles == list_tiles_) return list_byte_products_of<T, list_tiles_>(rows, at, out, stride, add);
    for (int m = 0; m < at.tiles; m++) {
        const ByteChunk one{at.points + m * at.tile_stride, nullptr, at.tile_stride, 1};
        list_byte_products_of<T, 1>(rows, one, out + m * tile_width<T>, stride, add);
    }
}

template <class T> void widen(const uint8_t *points, ptrdiff_t count, T *to, const uint8_t *next) {
    constexpr int W = tile_width<T>, N = lanes<T>;
    for (ptrdiff_t i = 0; i < count * W; i += N) {
        if (next && i % 64 == 0) __builtin_prefetch(next + i);
        store(to + i, load_bytes<T>(points + i));
    }
}

template <class T> inline Vec<T> power(Vec<T> base, int degree) {
    Vec<T> result = all<T>(1);
    for (; degree > 0; degree >>= 1, base *= base)
        if (degree & 1) result *= base;
    return result;
}

// One loop for each kernel: `apply` turns v into K and, where it differs, the size of the term's error.
template <class T, class Apply> inline void each(RowTerms<T> row, const T *lane_offset, T *values, int n, Apply apply) {
    for (int i = 0; i < n; i += lanes<T>) apply(i, (load(values + i) + load(lane_offset + i)) * row.scale + row.offset);
}

template <class T>
void kernel_values(KernelKind kind, int degree, RowTerms<T> row, const T *lane_offset, T *values, T *errors, int n) {
    switch (kind) {
        case KernelKind::linear:
        case KernelKind::additive_chi2:
            return each(row, lane_offset, values, n, [&](int i, Vec<T> v) { store(values + i, v); });
        case KernelKind::rbf:
        case KernelKind::laplacian:
        case KernelKind::chi2:
            return each(row, lane_offset, values, n,
                        [&](int i, Vec<T> v) { store(values + i, exp2_nonpositive<T>(v)); });
        case KernelKind::sigmoid:
            return each(row, lane_offset, values, n, [&](int i, Vec<T> v) { store(values + i, tanh_scaled<T>(v)); });
        case KernelKind::matern12:
            return each(row, lane_offset, values, n, [&](int i, Vec<T> v) {
                store(values + i, exp2_nonpositive<T>(square_root<T>(v) * T(-log2e)));
            });
        case KernelKind::matern32:
            return each(row, lane_offset, values, n, [&](int i, Vec<T> v) {
                const Vec<T> z = square_root<T>(v);
                store(values + i, (z + T(1)) * exp2_nonpositive<T>(z * T(-log2e)));
            });
        case KernelKind::matern52:
            return each(row, lane_offset, values, n, [&](int i, Vec<T> v) {
                const Vec<T> z = square_root<T>(v);
                store(values + i, (z * (z * T(1.0 / 3) + T(1)) + T(1)) * exp2_nonpositive<T>(z * T(-log2e)));
            });
        case KernelKind::rational_quadratic:
            return each(row, lane_offset, values, n, [&](int i, Vec<T> v) {
                const Vec<T> t = v < T(0) ? -v : all<T>(0);
                store(values + i, exp2_nonpositive<T>(log2_from_one<T>(t + T(1)) * -row.exponent));
            });
        case KernelKind::polynomial:
            return each(row, lane_offset, values, n, [&](int i, Vec<T> v) {
                store(values + i, power<T>(v, degree));
                if (errors) store(errors + i, power<T>((v < T(0) ? -v : v) + row.slack, degree - 1));
            });
    }
}

// A few outputs at a time, so that a value is loaded once for all of them.
template <class T, int several> inline void weigh_some(const T *values, const T *weights, int n, double *out) {
    constexpr int N = lanes<T>, W = dormie::panel_width<T>;
    Vec<T> even[several] = {}, odd[several] = {};
    for (int i = 0; i < n; i += 2 * N) {
        const Vec<T> first = load(values + i), second = load(values + i + N);
        for (int o = 0; o < several; o++) {
            even[o] += first * load(weights + o * W + i);
            odd[o] += second * load(weights + o * W + i + N);
        }
    }
    for (int o = 0; o < several; o++) even[o] += odd[o];
    if constexpr (several == 4) return sum_lanes_of_four<T>(even[0], even[1], even[2], even[3], out);
    for (int o = 0; o < several; o++) out[o] = double(sum_lanes<T>(even[o]));
}

template <class T>
void weigh(const T *values, const T *weights, int n, const int32_t *which, int outputs, double *sums) {
    double out[4];
    for (int o = 0, some; o < outputs; o += some) {
        const T *from = weights + ptrdiff_t(o) * dormie::panel_width<T>;
        some = outputs - o >= 4 ? 4 : outputs - o >= 2 ? 2 : 1;
        if (some == 4) weigh_some<T, 4>(values, from, n, out);
        if (some == 2) weigh_some<T, 2>(values, from, n, out);
        if (some == 1) weigh_some<T, 1>(values, from, n, out);
        for (int k = 0; k < some; k++) sums[which[o + k]] += out[k];
    }
}

// Some adjacent vectors of outputs, the first of which weights and sums begin with.
template <class T, int V>
inline void weigh_vectors_across(const T *values, int n, const T *weights, ptrdiff_t stride, T *sums) {
    constexpr int N = lanes<T>, parts = 4;
    Vec<T> sum[parts][V] = {};
    for (int i = 0; i < n; i += parts)
        for (int k = 0; k < parts; k++)
            for (int v = 0; v < V; v++) sum[k][v] += all(values[i + k]) * load(weights + (i + k) * stride + v * N);
    for (int v = 0; v < V; v++) {
        T *to = sums + v * N;
        store(to, load(to) + ((sum[0][v] + sum[1][v]) + (sum[2][v] + sum[3][v])));
    }
}

template <class T> void weigh_across(const T *values, int n, const T *weights, int outputs, T *sums) {
    constexpr int N = lanes<T>;
    int o = 0;
    for (; o + 2 * N <= outputs; o += 2 * N) weigh_vectors_across<T, 2>(values, n, weights + o, outputs, sums + o);
    for (; o < outputs; o += N) weigh_vectors_across<T, 1>(values, n, weights + o, outputs, sums + o);
}

// Weighted sums of the rbf values of one row, vector after vector: even ones and odd ones apart, as in weigh_some.
template <class T, int several> struct RbfSums {
    Vec<T> even[several] = {}, odd[several] = {};

    // v: products with the vector of lanes that begins at `lane`.
    void add(const FewPoints<T> &points, int lane, Vec<T> v, T row_offset) {
        const Vec<T> values = exp2_nonpositive<T>(v + load(points.lane_offset + lane) + row_offset);
        const bool is_odd = lane / lanes<T> % 2;
        for (int k = 0; k < several; k++)
            (is_odd ? odd : even)[k] += values * load((k == 0 ? points.weights : points.largest) + lane);
    }
};

// Adds the lanes up, those of four vectors at a time.
template <class T, int count, class Sum> inline void add_lanes(double *out, const Sum &sum) {
    written_out<(count + 3) / 4>([&](int i) __attribute__((always_inline)) {
        const int r = 4 * i;
        double four[4];
        sum_lanes_of_four<T>(sum(r), sum(r + 1 < count ? r + 1 : r), sum(r + 2 < count ? r + 2 : r),
                             sum(r + 3 < count ? r + 3 : r), four);
        for (int k = 0; k < 4 && r + k < count; k++) out[r + k] += four[k];
    });
}

// R rows share every vector of points, `tiles` of which are in registers at once.
template <class T, int several, int R, int tiles>
[[gnu::always_inline]] inline void rbf_sums_of(const FewRows<T> &rows, int first, const FewPoints<T> &points, int from,
                                               RbfSums<T, several> *sum) {
    constexpr int V = column_vectors, W = tile_width<T>, N = lanes<T>;
    const T *row = rows.rows + first * rows.d;
    for (int column = 0; column < W; column += V * N) {
        const T *t = points.points + from * points.tile_stride + column;
        // The first feature sets the products: GCC 12 would zero them in memory for the loop, 11 % of the time.
        Vec<T> product[tiles][R][V];
        for (int r = 0; r < R; r++) {
            const Vec<T> x = all(row[r * rows.d]);
            for (int m = 0; m < tiles; m++)
                for (int v = 0; v < V; v++) product[m][r][v] = x * load(t + m * points.tile_stride + v * N);
        }
        for (ptrdiff_t j = 1; j < rows.d; j++)
            for (int r = 0; r < R; r++) {
                const Vec<T> x = all(row[r * rows.d + j]);
                for (int m = 0; m < tiles; m++)
                    for (int v = 0; v < V; v++)
                        product[m][r][v] += x * load(t + m * points.tile_stride + j * W + v * N);
            }
        for (int m = 0; m < tiles; m++)
            written_out<R>([&](int r) __attribute__((always_inline)) {
                for (int v = 0; v < V; v++)
                    sum[r].add(points, (from + m) * W + column + v * N, product[m][r][v], rows.offset[first + r]);
            });
    }
}

// The columns of a tile must come in order: the lanes of one vector after those of the one before.
template <class T> constexpr bool one_column = column_vectors * lanes<T> == tile_width<T>;

template <class T, int several, int R>
inline void rbf_sums_of_rows(const FewRows<T> &rows, int first, const FewPoints<T> &points, double *sums,
                             double *errors) {
    constexpr int together = one_column<T> && R <= 2 ? 4 : 1;  // few rows leave registers for more points
    const auto add_all = [&](const RbfSums<T, several> *sum) __attribute__((always_inline)) {
        for (int k = 0; k < several; k++)
            add_lanes<T, R>((k == 0 ? sums : errors) + first,
                            [&](int r) __attribute__((always_inline)) { return sum[r].even[k] + sum[r].odd[k]; });
    };
    if (one_column<T> && points.tiles == 1) {  // apart: sums of a single tile never leave the registers
        RbfSums<T, several> sum[R];
        rbf_sums_of<T, several, R, 1>(rows, first, points, 0, sum);
        return add_all(sum);
    }
    RbfSums<T, several> sum[R];
    int tile = 0;
    for (; tile + together <= points.tiles; tile += together)
        rbf_sums_of<T, several, R, together>(rows, first, points, tile, sum);
    for (; tile < points.tiles; tile++) rbf_sums_of<T, several, R, 1>(rows, first, points, tile, sum);
    add_all(sum);
}

template <class T, int several>
inline void rbf_sums_of_all(const FewRows<T> &rows, const FewPoints<T> &points, double *sums, double *errors) {
    constexpr int R = group_rows_;
    int r = 0;
    for (; r + R <= rows.count; r += R) {
        const dormie::Ahead next = rows.next.part(r / R, (rows.count + R - 1) / R);
        for (ptrdiff_t at = 0; at < next.bytes; at += 64) __builtin_prefetch(next.begin + at);
        rbf_sums_of_rows<T, several, R>(rows, r, points, sums, errors);
    }
    if (r + R / 2 <= rows.count) rbf_sums_of_rows<T, several, R / 2>(rows, r, points, sums, errors), r += R / 2;
    for (; r < rows.count; r++) rbf_sums_of_rows<T, several, 1>(rows, r, points, sums, errors);
}

template <class T> void rbf_sums(const FewRows<T> &rows, const FewPoints<T> &points, double *sums, double *errors) {
    errors ? rbf_sums_of_all<T, 2>(rows, points, sums, errors) : rbf_sums_of_all<T, 1>(rows, points, sums, errors);
}

// Two sums for each point, so that no addition waits for the one before.
template <class T, int several>
inline void dots_of(const T *x, const T *points, ptrdiff_t stride, const int32_t *which, ptrdiff_t length, T *out) {
    constexpr int N = lanes<T>;
    const T *s[several];
    for (int k = 0; k < several; k++) s[k] = points + which[k] * stride;
    Vec<T> even[several] = {}, odd[several] = {};
    ptrdiff_t j = 0;
    for (; j + 2 * N <= length; j += 2 * N)
        for (int k = 0; k < several; k++) {
            even[k] += load(x + j) * load(s[k] + j);
            odd[k] += load(x + j + N) * load(s[k] + j + N);
        }
    if (j < length)
        for (int k = 0; k < several; k++) even[k] += load(x + j) * load(s[k] + j);
    for (int k = 0; k < several; k++) even[k] += odd[k];
    if constexpr (several == 4) {
        double sums[4];
        sum_lanes_of_four<T>(even[0], even[1], even[2], even[3], sums);
        for (int k = 0; k < 4; k++) out[k] = T(sums[k]);
    } else {
        for (int k = 0; k < several; k++) out[k] = sum_lanes<T>(even[k]);
    }
}

template <class T>
void dots(const T *x, const T *points, ptrdiff_t stride, const int32_t *which, int n, ptrdiff_t length, T *out) {
    int k = 0;
    for (; k + 4 <= n; k += 4) dots_of<T, 4>(x, points, stride, which + k, length, out + k);
    for (; k < n; k++) dots_of<T, 1>(x, points, stride, which + k, length, out + k);
}

template <class T> void solve(const T *values, const T *product, ptrdiff_t stride, const T *block, T *q) {
    constexpr int R = group_rows_, W = tile_width<T>;
    T rest[W][R];
    for (int r = 0; r < R; r++)
        for (int i = 0; i < W; i++) rest[i][r] = values[r * stride + i] - product[r * stride + i];
    for (int i = 0; i < W; i++) {
        T *now = q + i * R;
        for (int r = 0; r < R; r++) now[r] = rest[i][r] * block[i * W + i];
        for (int k = i + 1; k < W; k++)
            for (int r = 0; r < R; r++) rest[k][r] -= block[k * W + i] * now[r];
    }
}

template <class T>
void project(const T *q, int n, const T *norms, const T *coordinates, int outputs, T *squares, T *sizes, T *sums) {
    constexpr int R = group_rows_;
    T square[R], size[R];
    for (int r = 0; r < R; r++) square[r] = squares[r], size[r] = sizes[r];
    for (int i = 0; i < n; i++)
        for (int r = 0; r < R; r++) {
            const T x = q[i * R + r];
            square[r] += x * x;
            size[r] += (x < 0 ? -x : x) * norms[i];
        }
    for (int r = 0; r < R; r++) squares[r] = square[r], sizes[r] = size[r];
    for (int o = 0; o < outputs; o++) {
        T sum[R];
        for (int r = 0; r < R; r++) sum[r] = sums[o * R + r];
        for (int i = 0; i < n; i++)
            for (int r = 0; r < R; r++) sum[r] += q[i * R + r] * coordinates[ptrdiff_t(i) * outputs + o];
        for (int r = 0; r < R; r++) sums[o * R + r] = sum[r];
    }
}

template <class T> void exp2_array(const T *x, T *y, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i += lanes<T>) {
        T buffer[lanes<T>] = {};
        const int m = n - i < lanes<T> ? int(n - i) : lanes<T>;
        for (int k = 0; k < m; k++) buffer[k] = x[i + k];
        store(buffer, exp2_nonpositive<T>(load(buffer)));
        for (int k = 0; k < m; k++) y[i + k] = buffer[k];
    }
}

template <class T> void log2_array(const T *x, T *y, ptrdiff_t n) {
    for (ptrdiff_t i = 0; i < n; i += lanes<T>) {
        T buffer[lanes<T>];
        const int m = n - i < lanes<T> ? int(n - i) : lanes<T>;
        for (int k = 0; k < lanes<T>; k++) buffer[k] = k < m ? x[i + k] : T(1);
        store(buffer, log2_from_one<T>(load(buffer)));
        for (int k = 0; k < m; k++) y[i + k] = buffer[k];
    }
}

template <class T> double peak(ptrdiff_t repeats) {
    constexpr int chains = 12;
    volatile T half = T(0.5), quarter = T(0.25);  // so that nothing is worked out beforehand
    const Vec<T> x = all<T>(half), y = all<T>(quarter);
    Vec<T> sum[chains];
    for (int k = 0; k < chains; k++) sum[k] = x * T(k);
    for (ptrdiff_t i = 0; i < repeats; i++)
        for (int k = 0; k < chains; k++) sum[k] = sum[k] * x + y;
    volatile T kept[chains];
    for (int k = 0; k < chains; k++) kept[k] = sum_lanes<T>(sum[k]);
    (void)kept;
    return 2.0 * chains * lanes<T> * double(repeats);
}

// Half the vectors of a panel one after the other, the two halves, the lanes in pairs; product and weight.
template <class T>
constexpr int weigh_roundings_ = dormie::panel_width<T> / lanes<T> / 2 + 1 + __builtin_ctz(lanes<T>) + 2;

template <class T> constexpr dormie::Ops<T> table(const char *name) {
    return {name,
            group_rows_,
            list_tiles_,
            weigh_roundings_<T>,
            list_nonzeros<T, T>,
            group<T>,
            group_products<T>,
            group_distances<T>,
            group_absolutes<T>,
            group_shares<T>,
            list_products<T>,
            list_byte_products<T>,
            widen<T>,
            kernel_values<T>,
            weigh<T>,
            weigh_across<T>,
            rbf_sums<T>,
            dots<T>,
            solve<T>,
            project<T>,
            exp2_array<T>,
            log2_array<T>,
            peak<T>};
}

constexpr dormie::RowOps row_table() {
    return {convert_type<double>, convert_type<float>, map_rows,      project_rows<double>,
            project_rows<float>,  measure<double>,     measure<float>};
}

}  // namespace

#define DORMIE_JOIN2(a, b) a##b
#define DORMIE_JOIN(a, b) DORMIE_JOIN2(a, b)
#define DORMIE_TEXT2(a) #a
#define DORMIE_TEXT(a) DORMIE_TEXT2(a)

namespace dormie {
extern const Ops<float> DORMIE_JOIN(float_ops_, DORMIE_ISA);
extern const Ops<double> DORMIE_JOIN(double_ops_, DORMIE_ISA);
extern const RowOps DORMIE_JOIN(row_ops_, DORMIE_ISA);
const RowOps DORMIE_JOIN(row_ops_, DORMIE_ISA) = row_table();
const Ops<float> DORMIE_JOIN(float_ops_, DORMIE_ISA) = table<float>(DORMIE_TEXT(DORMIE_ISA));
const Ops<double> DORMIE_JOIN(double_ops_, DORMIE_ISA) = table<double>(DORMIE_TEXT(DORMIE_ISA));
}  // namespace dormie
