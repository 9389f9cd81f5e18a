// How rows are read, measured and made ready, compiled with tile.cpp for each instruction set.
#pragma once
#include "simd/ops.hpp"
#include "simd/row_ops.hpp"
#include "simd/vec.hpp"
#if defined(__AVX512VL__)
#include <immintrin.h>
#endif

namespace {

// The numbers of one type, one after the other.
template <class Number, class T> inline void convert(const void *x, ptrdiff_t n, T *to) {
    const Number *from = static_cast<const Number *>(x);
    for (ptrdiff_t i = 0; i < n; i++) to[i] = T(dormie::value_of(from[i]));
}

template <class T> void convert_type(dormie::NumberType type, const void *x, ptrdiff_t n, T *to) {
    switch (type) {
        case dormie::NumberType::float32: return convert<float>(x, n, to);
        case dormie::NumberType::float64: return convert<double>(x, n, to);
        case dormie::NumberType::float16: return convert<dormie::Half>(x, n, to);
        case dormie::NumberType::flag: return convert<dormie::Flag>(x, n, to);
        case dormie::NumberType::uint8: return convert<uint8_t>(x, n, to);
        case dormie::NumberType::int8: return convert<int8_t>(x, n, to);
        case dormie::NumberType::uint16: return convert<uint16_t>(x, n, to);
        case dormie::NumberType::int16: return convert<int16_t>(x, n, to);
        case dormie::NumberType::int32: return convert<int32_t>(x, n, to);
    }
}

void map_rows(const double *x, ptrdiff_t count, ptrdiff_t d, const double *center, const double *scale,
              const double *inverse, double *to) {
    for (ptrdiff_t r = 0; r < count; r++, x += d, to += d) {
        if (inverse)
            for (ptrdiff_t j = 0; j < d; j++) to[j] = (x[j] - center[j]) * inverse[j];
        else
            for (ptrdiff_t j = 0; j < d; j++) to[j] = (x[j] - center[j]) / scale[j];
    }
}

// Every value is written, and what is 0 is written over by the next: no branch to mispredict.
template <class S, class T> inline int list_each(const S *x, int from, int n, int32_t *index, T *value) {
    int at = 0;
    for (int k = from; k < n; k++) {
        index[at] = k;
        value[at] = T(x[k]);
        at += value[at] != T(0);
    }
    return at;
}

#if defined(__AVX512VL__)
inline int compress(__m512 v, int first, int32_t *index, float *value) {
    const __m512i places = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __mmask16 kept = _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    _mm512_storeu_ps(value, _mm512_maskz_compress_ps(kept, v));
    _mm512_storeu_si512(index, _mm512_maskz_compress_epi32(kept, _mm512_add_epi32(places, _mm512_set1_epi32(first))));
    return __builtin_popcount(kept);
}

inline int compress(const float *x, int first, int32_t *index, float *value) {
    return compress(_mm512_loadu_ps(x + first), first, index, value);
}

inline __m256 narrowed(const double *x) { return _mm512_maskz_cvtpd_ps(__mmask8(0xff), _mm512_loadu_pd(x)); }
inline int compress(const double *x, int first, int32_t *index, float *value) {
    const __m512 low = _mm512_castps256_ps512(narrowed(x + first));
    return compress(_mm512_insertf32x8(low, narrowed(x + first + 8), 1), first, index, value);
}

inline int compress(const double *x, int first, int32_t *index, double *value) {
    const __m256i places = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    const __m512d v = _mm512_loadu_pd(x + first);
    const __mmask8 kept = _mm512_cmp_pd_mask(v, _mm512_setzero_pd(), _CMP_NEQ_UQ);
    _mm512_storeu_pd(value, _mm512_maskz_compress_pd(kept, v));
    _mm256_storeu_epi32(index, _mm256_maskz_compress_epi32(kept, _mm256_add_epi32(places, _mm256_set1_epi32(first))));
    return __builtin_popcount(kept);
}

template <class S, class T> int list_nonzeros(const S *x, int n, int32_t *index, T *value) {
    constexpr int N = lanes<T>;
    int at = 0, k = 0;
    for (; k + N <= n; k += N) at += compress(x, k, index + at, value + at);
    return at + list_each(x, k, n, index + at, value + at);
}
#else
template <class S, class T> int list_nonzeros(const S *x, int n, int32_t *index, T *value) {
    return list_each(x, 0, n, index, value);
}
#endif

// Rows times a matrix, a part of the columns at a time: its rows stay in the first-level cache while those of `x` go
// by. A part's sums begin at 0, and are added to those of the parts before it. Products with 0 change no sum.
constexpr int projected_rows = 4, grouped_vectors = vector_bytes == 64 ? 4 : 2, listed_vectors = 8;

template <class T> struct MatrixPart {
    const T *rows;
    ptrdiff_t stride;
    int columns;
    bool first;

    template <int width> void keep(const Vec<T> *sums, T *to) const {
        constexpr int N = lanes<T>;
        for (int v = 0; v < width; v++) store(to + v * N, first ? sums[v] : load(to + v * N) + sums[v]);
    }
};

// Several rows, with each of `width` vectors of sums.
template <class T, int width> void project_group(const T *x, ptrdiff_t x_stride, const MatrixPart<T> &part, T *to) {
    constexpr int R = projected_rows, N = lanes<T>;
    Vec<T> sums[R][width] = {};
    for (int j = 0; j < part.columns; j++) {
        Vec<T> weights[width];
        for (int v = 0; v < width; v++) weights[v] = load(part.rows + j * part.stride + v * N);
        for (int r = 0; r < R; r++)
            for (int v = 0; v < width; v++) sums[r][v] += all(x[r * x_stride + j]) * weights[v];
    }
    for (int r = 0; r < R; r++) part.template keep<width>(sums[r], to + r * part.stride);
}

// One row, by its non-zeros.
template <class T, int width>
void project_list(const int32_t *index, const T *value, int count, const MatrixPart<T> &part, T *to) {
    constexpr int N = lanes<T>;
    Vec<T> sums[width] = {};
    for (int i = 0; i < count; i++) {
        const T *weights = part.rows + index[i] * part.stride;
        for (int v = 0; v < width; v++) sums[v] += all(value[i]) * load(weights + v * N);
    }
    part.template keep<width>(sums, to);
}

// With as many vectors of sums as there are, up to `most`: body(width) for the constant `width`.
template <int most, class Body> [[gnu::always_inline]] inline void of_width(ptrdiff_t vectors, const Body &body) {
    if constexpr (most > 1) {
        if (vectors < most) return of_width<most - 1>(vectors, body);
    }
    body(std::integral_constant<int, most>());
}

template <class T, int most, class Body> inline void each_width(MatrixPart<T> part, T *to, const Body &body) {
    constexpr int N = lanes<T>;
    for (ptrdiff_t k = 0; k < part.stride; k += most * N, part.rows += most * N)
        of_width<most>((part.stride - k) / N, [&](auto width) { body(width, part, to + k); });
}

// The numbers as T: where they are, or in `room`. Rows begin `step` apart then.
inline const double *numbers_as(const double *x, ptrdiff_t, int, double *, ptrdiff_t &) { return x; }
inline const float *numbers_as(const double *x, ptrdiff_t x_stride, int n, float *room, ptrdiff_t &step) {
    step = dormie::projected_columns;
    for (int r = 0; r < projected_rows; r++)
        for (int j = 0; j < n; j++) room[r * step + j] = float(x[r * x_stride + j]);
    return room;
}

template <class T> void project_group_of(const double *x, ptrdiff_t x_stride, const MatrixPart<T> &part, T *to) {
    T room[projected_rows * dormie::projected_columns];
    ptrdiff_t step = x_stride;
    const T *numbers = numbers_as(x, x_stride, part.columns, room, step);
    each_width<T, grouped_vectors>(part, to, [&](auto width, const MatrixPart<T> &some, T *sums) {
        project_group<T, width>(numbers, step, some, sums);
    });
}

template <class T> void project_row(const double *x, const MatrixPart<T> &part, T *to) {
    constexpr int spare = 16;  // see list_nonzeros
    T value[dormie::projected_columns + spare];
    int32_t index[dormie::projected_columns + spare];
    const int count = list_nonzeros(x, part.columns, index, value);
    if (count == 0 && !part.first) return;
    each_width<T, listed_vectors>(part, to, [&](auto width, const MatrixPart<T> &some, T *sums) {
        project_list<T, width>(index, value, count, some, sums);
    });
}

// By lists a product takes longer, so that they pay where a quarter of the numbers are 0.
inline bool lists_pay(const int32_t *nonzeros, ptrdiff_t columns) {
    ptrdiff_t all = 0;
    for (int r = 0; r < projected_rows; r++) all += nonzeros[r];
    return 4 * all < 3 * projected_rows * columns;
}

template <class T>
void project_rows(const double *x, ptrdiff_t count, ptrdiff_t x_stride, const int32_t *nonzeros, ptrdiff_t columns,
                  const T *matrix, ptrdiff_t stride, T *to) {
    constexpr int R = projected_rows, P = dormie::projected_columns;
    for (ptrdiff_t from = 0; from < columns; from += P) {
        const MatrixPart<T> part{matrix + from * stride, stride, columns - from < P ? int(columns - from) : P,
                                 from == 0};
        for (ptrdiff_t r = 0; r < count;) {
            const bool grouped = r + R <= count && !lists_pay(nonzeros + r, columns);
            if (grouped) project_group_of<T>(x + r * x_stride + from, x_stride, part, to + r * stride);
            for (const ptrdiff_t end = r + R <= count ? r + R : count; r < end; r++)
                if (!grouped) project_row<T>(x + r * x_stride + from, part, to + r * stride);
        }
    }
}

// As many doubles as a register has, of numbers of type T; of the first k only, and 0 for the rest.
template <class T> inline Vec<double> wide_load(const T *x) {
    typedef T Few __attribute__((vector_size(lanes<double> * sizeof(T))));
    Few few;
    memcpy(&few, x, sizeof few);
    return __builtin_convertvector(few, Vec<double>);
}
template <class T> inline Vec<double> wide_load(const T *x, int k) {
    T few[lanes<double>] = {};
    for (int i = 0; i < k; i++) few[i] = x[i];
    return wide_load<T>(few);
}
#if defined(__AVX512VL__)
template <> inline Vec<double> wide_load<double>(const double *x, int k) {
    return (Vec<double>)_mm512_maskz_loadu_pd(__mmask8((1u << k) - 1), x);
}
template <> inline Vec<double> wide_load<float>(const float *x, int k) {
    typedef float Few __attribute__((vector_size(lanes<double> * sizeof(float))));
    return __builtin_convertvector((Few)_mm256_maskz_loadu_ps(__mmask8((1u << k) - 1), x), Vec<double>);
}
#endif

// The squares of a chunk of a row, lane by lane, and its non-zeros.
struct Squares {
    typedef decltype(Vec<double>{} != 0) Count;
    Vec<double> sum = {};
    Count nonzero = {};  // -1 for each

    template <bool counting> void add(Vec<double> v) {
        sum += v * v;
        if constexpr (counting) nonzero += v != 0;
    }

    int32_t nonzeros() const {
        int32_t count = 0;
        for (int lane = 0; lane < lanes<double>; lane++) count -= int32_t(nonzero[lane]);
        return count;
    }
};

template <bool counting, class T> inline Squares squares_of(const T *x, ptrdiff_t n) {
    constexpr int N = lanes<double>;
    Squares squares;
    ptrdiff_t j = 0;
    for (; j + N <= n; j += N) squares.add<counting>(wide_load(x + j));
    if (j < n) squares.add<counting>(wide_load(x + j, int(n - j)));
    return squares;
}

// Four rows of one chunk at most, whose lanes are added up together: in the same order as those of one.
template <class T>
inline void measure_four(const T *const *rows, int several, ptrdiff_t d, double *squares, int32_t *nonzeros) {
    Squares found[4];
    for (int k = 0; k < 4; k++) found[k] = squares_of<true>(rows[k], d);
    double sums[4];
    sum_lanes_of_four<double>(found[0].sum, found[1].sum, found[2].sum, found[3].sum, sums);
    for (int k = 0; k < several; k++) squares[k] = sums[k], nonzeros[k] = found[k].nonzeros();
}

// A row of several chunks, so that chains of roundings stay short: four of them at a time. Memory is read in order.
template <class T> inline void measure_long(const T *x, ptrdiff_t d, double &square, int32_t &nonzeros) {
    square = 0, nonzeros = 0;
    for (ptrdiff_t from = 0; from < d;) {
        Squares found[4];
        for (int k = 0; k < 4 && from < d; k++, from += dormie::chunk) {
            found[k] = squares_of<true>(x + from, d - from < dormie::chunk ? d - from : dormie::chunk);
            nonzeros += found[k].nonzeros();
        }
        double part[4];
        sum_lanes_of_four<double>(found[0].sum, found[1].sum, found[2].sum, found[3].sum, part);
        for (int k = 0; k < 4; k++) square += part[k];
    }
}

// The same for rows of few features, without counting.
template <class T>
inline void measure_four_short(const T *const *rows, int several, ptrdiff_t d, double *squares, int32_t *nonzeros) {
#if defined(__AVX512VL__)
    constexpr int N = lanes<double>;
    Vec<double> sum[4];
    for (int k = 0; k < 4; k++) {
        const Vec<double> first = wide_load(rows[k], d < N ? int(d) : N);
        sum[k] = first * first;
    }
    for (int k = 0; d > N && k < 4; k++) {
        const Vec<double> rest = wide_load(rows[k] + N, int(d) - N);
        sum[k] += rest * rest;
    }
    double sums[4];
    sum_lanes_of_four<double>(sum[0], sum[1], sum[2], sum[3], sums);
#else
    // One product after the other: where a part of a register cannot be loaded, the rest of a row takes longer.
    double sums[4] = {};
    for (ptrdiff_t j = 0; j < d; j++)
        for (int k = 0; k < 4; k++) sums[k] += double(rows[k][j]) * double(rows[k][j]);
#endif
    for (int k = 0; k < several; k++) squares[k] = sums[k], nonzeros[k] = int32_t(d);
}

template <class T> void measure(const T *x, ptrdiff_t count, ptrdiff_t d, double *squares, int32_t *nonzeros) {
    if (d > dormie::chunk) {
        for (ptrdiff_t r = 0; r < count; r++) measure_long(x + r * d, d, squares[r], nonzeros[r]);
        return;
    }
    const auto measure_some = d <= dormie::features_not_counted ? measure_four_short<T> : measure_four<T>;
    for (ptrdiff_t r = 0; r < count; r += 4) {
        const int several = count - r < 4 ? int(count - r) : 4;
        const T *rows[4];
        for (int k = 0; k < 4; k++) rows[k] = x + (r + (k < several ? k : 0)) * d;
        measure_some(rows, several, d, squares + r, nonzeros + r);
    }
}

template <class T> void group(const T *const *rows, int count, ptrdiff_t d, T *to) {
    constexpr int R = group_rows_;
    const T *row[R];
    for (int r = 0; r < R; r++) row[r] = rows[r < count ? r : 0];
    for (ptrdiff_t j = 0; j < d; j++)
        for (int r = 0; r < R; r++) to[j * R + r] = row[r][j];
}

}  // namespace
