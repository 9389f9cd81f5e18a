// The few inner loops everything native rests on, as tables of function pointers: one table for each instruction
// set and number type, chosen once at run time. tile.cpp is compiled once for each instruction set and fills them.
#pragma once
#include <cstddef>
#include <cstdint>

namespace dormie {

enum class KernelKind : int {
    linear,
    polynomial,
    rbf,
    sigmoid,
    matern12,
    matern32,
    matern52,
    rational_quadratic,
    laplacian,
    chi2,
    additive_chi2
};

constexpr bool is_radial_but_rbf(KernelKind kind) {
    return kind == KernelKind::matern12 || kind == KernelKind::matern32 || kind == KernelKind::matern52 ||
           kind == KernelKind::rational_quadratic;
}

// Whether a kernel is worked out from differences of coordinates, not from inner products: see core/kernel.hpp.
constexpr bool by_differences(KernelKind kind) {
    return kind == KernelKind::matern12 || kind == KernelKind::laplacian || kind == KernelKind::chi2 ||
           kind == KernelKind::additive_chi2;
}

// Points are stored in tiles: for each feature, `tile_width` points side by side (128 bytes, whatever the type).
template <class T> inline constexpr int tile_width = 128 / sizeof(T);
// A panel is the unit of summation: its terms are added in T, panels are added in double.
inline constexpr int panel_tiles = 8;
template <class T> inline constexpr int panel_width = panel_tiles * tile_width<T>;
// No instruction set has more rows in a group: see Ops::group_rows.
inline constexpr int most_group_rows = 8;
// What the length of a vector is rounded up to: no instruction set has longer registers than 64 bytes.
template <class T> constexpr ptrdiff_t padded(ptrdiff_t n) {
    constexpr ptrdiff_t whole = 64 / sizeof(T);
    return (n + whole - 1) / whole * whole;
}
// Rows of kernel values lie this far apart: not a power of two, which would crowd them into a few cache sets.
template <class T> inline constexpr int panel_stride = panel_width<T> + tile_width<T>;
// A dot product is summed in chunks of features, and the chunks are then added: the length of a chain of roundings is
// chunk + d / chunk rather than d. The chunk of a tile (8 KiB) also stays in the first-level cache.
inline constexpr int chunk = 64;

// v = row_scale * (dot + lane_offset) + row_offset is what a kernel function is applied to.
template <class T> struct RowTerms {
    T scale;
    T offset;
    T slack;         // bound on the error of v; widens the polynomial's error terms
    T exponent = 0;  // of a rational quadratic kernel
};

// The non-zeros of several rows within one chunk: those of row r are bounds[r * bounds_stride] to the one after it.
// While they are at work, `lines_ahead` cache lines a row are fetched of what will be wanted next, if there are any.
template <class T> struct Nonzeros {
    int count;
    const int32_t *index;  // feature, counted from the start of the chunk
    const T *value;
    const int32_t *bounds;
    ptrdiff_t bounds_stride;
    const char *ahead = nullptr;
    int lines_ahead = 0;
};

// Adjacent tiles at one chunk, and the chunk that will be wanted next (or null): its fetching is spread over the rows.
// Of fewer than `few_listed_rows` rows that is the chunk of the tiles after these, and only what they need of it is
// fetched.
inline constexpr int few_listed_rows = 16;
template <class T> struct TileChunk {
    const T *points;
    const T *next;
    ptrdiff_t tile_stride;
    int tiles;
};

// The same of points in bytes. next: as for fewer than few_listed_rows rows.
struct ByteChunk {
    const uint8_t *points;
    const uint8_t *next;
    ptrdiff_t tile_stride;
    int tiles;
};

// Memory that will be wanted next, or none: its fetching is spread over other work, part after part.
struct Ahead {
    const char *begin = nullptr;
    ptrdiff_t bytes = 0;

    Ahead part(ptrdiff_t k, ptrdiff_t parts) const {
        constexpr ptrdiff_t line = 64;
        const ptrdiff_t from = bytes * k / parts / line * line, to = bytes * (k + 1) / parts / line * line;
        return {begin + from, to - from};
    }
};

// A few rows as they lie one below the other, with their offsets; and the points of a panel, their weights for the one
// output, and the sizes of those, rounded up.
template <class T> struct FewRows {
    const T *rows;
    const T *offset;
    ptrdiff_t d;
    int count;
    Ahead next = {};
};
template <class T> struct FewPoints {
    const T *points;
    ptrdiff_t tile_stride;
    int tiles;
    const T *lane_offset, *weights, *largest;
};

template <class T> struct Ops {
    const char *name;
    int group_rows;       // rows that share one pass over a tile
    int list_tiles;       // tiles that share one pass over a row's non-zeros
    int weigh_roundings;  // the longest chain of roundings in one weighted panel sum, weights' own included

    // Place and value of the non-zeros among x[0..n); returns how many. Up to a vector more may be written over.
    int (*list_nonzeros)(const T *x, int n, int32_t *index, T *value);

    // A group of rows side by side, as group_products reads it: to[j * group_rows + r] = rows[r][j] for r < count; the
    // first row stands for the rest of the group
    void (*group)(const T *const *rows, int count, ptrdiff_t d, T *to);

    // out[r * stride + lane] (+)= sum_j rows[j * group_rows + r] * tile[j * tile_width + lane], j < length <= chunk
    void (*group_products)(const T *rows, const T *tile, ptrdiff_t length, T *out, ptrdiff_t stride, bool add);

    // The same for squared distances: sum_j (rows[j * group_rows + r] - tile[j * tile_width + lane])^2
    void (*group_distances)(const T *rows, const T *tile, ptrdiff_t length, T *out, ptrdiff_t stride, bool add);

    // The same for sum_j |x_j - s_j|, and for sum_j (x_j - s_j)^2 / (x_j + s_j), where 0 / 0 counts as 0
    void (*group_absolutes)(const T *rows, const T *tile, ptrdiff_t length, T *out, ptrdiff_t stride, bool add);
    void (*group_shares)(const T *rows, const T *tile, ptrdiff_t length, T *out, ptrdiff_t stride, bool add);

    // The sum of products over the non-zeros alone, for rows.count rows and up to list_tiles tiles
    void (*list_products)(const Nonzeros<T> &rows, const TileChunk<T> &chunk, T *out, ptrdiff_t stride, bool add);

    // The same for points in bytes, of which a single row that is listed needs few; and bytes as numbers, for many
    // rows: `count` features of a tile, while the next tiles' are fetched (or none).
    void (*list_byte_products)(const Nonzeros<T> &rows, const ByteChunk &chunk, T *out, ptrdiff_t stride, bool add);
    void (*widen)(const uint8_t *points, ptrdiff_t count, T *to, const uint8_t *next);

    // values: dot products in, kernel values out; errors: what each term's error is proportional to (may be values)
    void (*kernel_values)(KernelKind kind, int degree, RowTerms<T> row, const T *lane_offset, T *values, T *errors,
                          int n);

    // sums[which[o]] += values . weights[o], rows of weights panel_width apart; each dot product is summed in T, over n
    // values (whole tiles), and added in double
    void (*weigh)(const T *values, const T *weights, int n, const int32_t *which, int outputs, double *sums);

    // The same with the outputs side by side: sums[o] += sum_i values[i] weights[i * outputs + o] for o < outputs,
    // half tiles; i < n, whole tiles. Four sums for each output, in T; at most n / 4 + 2 roundings after a product
    void (*weigh_across)(const T *values, int n, const T *weights, int outputs, T *sums);

    // sums[r] += sum_i weights[i] 2^(rows[r] . points[i] + lane_offset[i] + row_offset[r]), for rows of d <= chunk
    // features and one panel of points; errors[r] likewise with the weights `largest`, unless it is null. The products,
    // kernel values and weighted sums of the functions above in one, with the same bits. Skipping zeros would not pay:
    // of 54 features with 12 non-zeros it took twice as long
    void (*rbf_sums)(const FewRows<T> &rows, const FewPoints<T> &points, double *sums, double *errors);

    // out[k] = x . points[which[k] * stride ...] for k < n; both are padded with zeros to `length`, whole vectors
    void (*dots)(const T *x, const T *points, ptrdiff_t stride, const int32_t *which, int n, ptrdiff_t length, T *out);

    // Forward substitution with one tile of a triangular matrix, for a group of rows: q[i * group_rows + r] solves
    // sum_k block[i][k] q_k = values[r * stride + i] - product[r * stride + i]; block is tile_width square, with the
    // inverse of the diagonal in place of the diagonal.
    void (*solve)(const T *values, const T *product, ptrdiff_t stride, const T *block, T *q);

    // For each row r of a group: squares[r] += sum_i q_i^2, sizes[r] += sum_i |q_i| norms[i], and for each output o
    // sums[o * group_rows + r] += sum_i q_i coordinates[i * outputs + o]; i runs over n <= tile_width
    void (*project)(const T *q, int n, const T *norms, const T *coordinates, int outputs, T *squares, T *sizes,
                    T *sums);

    // exp2 and log2 over an array, for the tests of their stated errors
    void (*exp2)(const T *x, T *y, ptrdiff_t n);
    void (*log2)(const T *x, T *y, ptrdiff_t n);

    // Multiply-adds done at peak rate, with nothing to load: what the tile is measured against.
    double (*peak)(ptrdiff_t repeats);
};

// What is added up for each coordinate of a row and a point.
template <class T> auto summed_by(const Ops<T> &ops, KernelKind kind) {
    switch (kind) {
        case KernelKind::matern12: return ops.group_distances;
        case KernelKind::laplacian: return ops.group_absolutes;
        case KernelKind::chi2:
        case KernelKind::additive_chi2: return ops.group_shares;
        default: return ops.group_products;
    }
}

// The relative error of exp2 for arguments in [least, 0], in units of the rounding unit; below `least` it is 0.
inline constexpr double exp2_error_units = 4;
// The relative error of log2 for arguments from 1 on.
inline constexpr double log2_error_units = 10;
template <class T> inline constexpr T exp2_least = sizeof(T) == 4 ? T(-126) : T(-1022);
// The tables for the best instruction set this processor has, or the one the environment variable DORMIE_ISA names.
template <class T> const Ops<T> &ops();

}  // namespace dormie
