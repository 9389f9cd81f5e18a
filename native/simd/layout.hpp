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

// The same for rows of few features, without counting: one product after the other, since with so few of them the
// adding up of lanes takes longer.
template <class T>
inline void measure_four_short(const T *const *rows, int several, ptrdiff_t d, double *squares, int32_t *nonzeros) {
    double sums[4] = {};
    for (ptrdiff_t j = 0; j < d; j++)
        for (int k = 0; k < 4; k++) sums[k] += double(rows[k][j]) * double(rows[k][j]);
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
