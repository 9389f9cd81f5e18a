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

// A matrix is fetched a part at a time, which stays in the first-level cache for several groups of rows.
constexpr int projected_columns = 64, projected_rows = 4, projected_groups = 8;
constexpr int projected_vectors = vector_bytes == 64 ? 4 : 2;

// The columns in which some of several rows have a number other than 0: products with 0 change no sum. -0 is one.
struct UsedColumns {
    int32_t numbers[projected_columns + 1];
    int count;

    template <int several> void find(const double *x, ptrdiff_t x_stride, int columns) {
        uint64_t any[projected_columns] = {};
        for (int r = 0; r < several; r++) {
            uint64_t bits[projected_columns];
            memcpy(bits, x + r * x_stride, size_t(columns) * sizeof *bits);
            for (int j = 0; j < columns; j++) any[j] |= bits[j];
        }
        count = 0;
        for (int j = 0; j < columns; j++) {
            numbers[count] = j;
            count += any[j] != 0;
        }
    }
};

// Several rows times `width` vectors of the columns of a matrix, added to what is there unless it is the first part.
// count: how many sums there are, if not as many as the vectors have.
template <int several, int width>
void project_some(const double *x, ptrdiff_t x_stride, const UsedColumns &used, const double *matrix, ptrdiff_t stride,
                  double *to, ptrdiff_t to_stride, ptrdiff_t count, bool first) {
    constexpr int N = lanes<double>;
    const bool whole = count == width * N;
    double room[several][width * N] = {};
    Vec<double> sums[several][width] = {};
    if (!first && !whole)
        for (int r = 0; r < several; r++)
            for (ptrdiff_t o = 0; o < count; o++) room[r][o] = to[r * to_stride + o];
    if (!first)
        for (int r = 0; r < several; r++)
            for (int v = 0; v < width; v++) sums[r][v] = load((whole ? to + r * to_stride : room[r]) + v * N);
    for (int i = 0; i < used.count; i++) {
        const double *row = matrix + used.numbers[i] * stride;
        Vec<double> weights[width];
        for (int v = 0; v < width; v++) weights[v] = load(row + v * N);
        for (int r = 0; r < several; r++)
            for (int v = 0; v < width; v++) sums[r][v] += all(x[r * x_stride + used.numbers[i]]) * weights[v];
    }
    for (int r = 0; r < several; r++)
        for (int v = 0; v < width; v++) store((whole ? to + r * to_stride : room[r]) + v * N, sums[r][v]);
    if (whole) return;
    for (int r = 0; r < several; r++)
        for (ptrdiff_t o = 0; o < count; o++) to[r * to_stride + o] = room[r][o];
}

typedef void (*ProjectSome)(const double *, ptrdiff_t, const UsedColumns &, const double *, ptrdiff_t, double *,
                            ptrdiff_t, ptrdiff_t, bool);
template <int several> inline ProjectSome project_width(ptrdiff_t vectors) {
    if constexpr (projected_vectors > 2) {
        if (vectors >= 4) return project_some<several, 4>;
        if (vectors == 3) return project_some<several, 3>;
    }
    return vectors >= 2 ? project_some<several, 2> : project_some<several, 1>;
}

void project_rows(const double *x, ptrdiff_t count, ptrdiff_t x_stride, ptrdiff_t columns, const double *matrix,
                  ptrdiff_t stride, ptrdiff_t result, double *to, ptrdiff_t to_stride) {
    constexpr int N = lanes<double>, several = projected_rows, most = several * projected_groups;
    for (; count > most; count -= most, x += most * x_stride, to += most * to_stride)
        project_rows(x, most, x_stride, columns, matrix, stride, result, to, to_stride);
    const int groups = int(count / several), rest = int(count % several);
    UsedColumns used[projected_groups + several];
    for (ptrdiff_t from = 0; from < columns; from += projected_columns) {
        const int here = columns - from < projected_columns ? int(columns - from) : projected_columns;
        for (int g = 0; g < groups; g++) used[g].find<several>(x + g * several * x_stride + from, x_stride, here);
        for (int r = 0; r < rest; r++)
            used[groups + r].find<1>(x + (groups * several + r) * x_stride + from, x_stride, here);
        ptrdiff_t vectors = 0;
        for (ptrdiff_t k = 0; k < result; k += vectors * N) {
            vectors = (result - k + N - 1) / N;
            if (vectors > projected_vectors) vectors = projected_vectors;
            const ptrdiff_t sums = result - k < vectors * N ? result - k : vectors * N;
            const double *part = matrix + from * stride + k;
            for (int g = 0; g < groups; g++)
                project_width<several>(vectors)(x + g * several * x_stride + from, x_stride, used[g], part, stride,
                                                to + g * several * to_stride + k, to_stride, sums, from == 0);
            for (int r = 0; r < rest; r++) {
                const ptrdiff_t row = groups * several + r;
                project_width<1>(vectors)(x + row * x_stride + from, x_stride, used[groups + r], part, stride,
                                          to + row * to_stride + k, to_stride, sums, from == 0);
            }
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

// The squares of a chunk of a row, lane by lane, and the negated number of its non-zeros.
struct Squares {
    typedef decltype(Vec<double>{} != 0) Count;
    Vec<double> sum = {};
    Count zeros = {};

    template <bool counting> void add(Vec<double> v) {
        sum += v * v;
        if constexpr (counting) zeros += v != 0;
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

// Four rows at a time, whose lanes are added up together: in the same order as those of one. In chunks, so that chains
// of roundings stay short.
template <class T>
inline void measure_four(const T *const *rows, int several, ptrdiff_t d, double *squares, int32_t *nonzeros) {
    double sums[4] = {}, part[4];
    Squares::Count counts[4] = {};
    for (ptrdiff_t from = 0; from < d; from += dormie::chunk) {
        const ptrdiff_t n = d - from < dormie::chunk ? d - from : dormie::chunk;
        Vec<double> sum[4];
        for (int k = 0; k < 4; k++) {
            const Squares found = squares_of<true>(rows[k] + from, n);
            counts[k] -= found.zeros;
            sum[k] = found.sum;
        }
        sum_lanes_of_four<double>(sum[0], sum[1], sum[2], sum[3], part);
        for (int k = 0; k < 4; k++) sums[k] += part[k];
    }
    for (int k = 0; k < several; k++) {
        squares[k] = sums[k];
        nonzeros[k] = 0;
        for (int lane = 0; lane < lanes<double>; lane++) nonzeros[k] += int32_t(counts[k][lane]);
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

// Every value is written, and what is 0 is written over by the next: no branch to mispredict.
template <class T> inline int list_each(const T *x, int from, int n, int32_t *index, T *value) {
    int at = 0;
    for (int k = from; k < n; k++) {
        index[at] = k;
        value[at] = x[k];
        at += x[k] != T(0);
    }
    return at;
}

#if defined(__AVX512VL__)
inline int compress(const float *x, int first, int32_t *index, float *value) {
    const __m512i places = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512 v = _mm512_loadu_ps(x + first);
    const __mmask16 kept = _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NEQ_UQ);
    _mm512_storeu_ps(value, _mm512_maskz_compress_ps(kept, v));
    _mm512_storeu_si512(index, _mm512_maskz_compress_epi32(kept, _mm512_add_epi32(places, _mm512_set1_epi32(first))));
    return __builtin_popcount(kept);
}

inline int compress(const double *x, int first, int32_t *index, double *value) {
    const __m256i places = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    const __m512d v = _mm512_loadu_pd(x + first);
    const __mmask8 kept = _mm512_cmp_pd_mask(v, _mm512_setzero_pd(), _CMP_NEQ_UQ);
    _mm512_storeu_pd(value, _mm512_maskz_compress_pd(kept, v));
    _mm256_storeu_epi32(index, _mm256_maskz_compress_epi32(kept, _mm256_add_epi32(places, _mm256_set1_epi32(first))));
    return __builtin_popcount(kept);
}

template <class T> int list_nonzeros(const T *x, int n, int32_t *index, T *value) {
    constexpr int N = lanes<T>;
    int at = 0, k = 0;
    for (; k + N <= n; k += N) at += compress(x, k, index + at, value + at);
    return at + list_each(x, k, n, index + at, value + at);
}
#else
template <class T> int list_nonzeros(const T *x, int n, int32_t *index, T *value) {
    return list_each(x, 0, n, index, value);
}
#endif

}  // namespace
