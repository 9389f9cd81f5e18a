// How a row is made ready, compiled with tile.cpp for each instruction set: with few vectors this takes longer than
// their products.
#pragma once
#include "simd/ops.hpp"
#include "simd/vec.hpp"
#if defined(__AVX512VL__)
#include <immintrin.h>
#endif

namespace {

template <class T> void widen(const T *x, ptrdiff_t d, double *to) {
    for (ptrdiff_t j = 0; j < d; j++) to[j] = double(x[j]);
}

template <class T> void map_row(const T *x, const T *center, const T *scale, ptrdiff_t d, T *to) {
    for (ptrdiff_t j = 0; j < d; j++) to[j] = (x[j] - center[j]) / scale[j];
}

// In chunks, as squared_norm of norm.hpp, so that chains of roundings stay short.
inline double sum_of_squares(const double *x, ptrdiff_t d) {
    constexpr int N = lanes<double>;
    double sum = 0;
    for (ptrdiff_t from = 0; from < d; from += dormie::chunk) {
        const ptrdiff_t to = d - from < dormie::chunk ? d : from + dormie::chunk;
        Vec<double> part = {};
        ptrdiff_t j = from;
        for (; j + N <= to; j += N) part += load(x + j) * load(x + j);
        double rest[N] = {};
        for (int k = 0; j < to; j++, k++) rest[k] = x[j];
        part += load(rest) * load(rest);
        sum += sum_lanes<double>(part);
    }
    return sum;
}

template <class T> double round_row(const double *x, ptrdiff_t d, T *to, ptrdiff_t *nonzeros) {
    int32_t count = 0;
    for (ptrdiff_t j = 0; j < d; j++) {
        to[j] = T(x[j]);
        count += to[j] != T(0);
    }
    *nonzeros = count;
    return sum_of_squares(x, d);
}

template <class T, bool whole> inline void group_of(const T *rows, int count, ptrdiff_t d, T *to) {
    constexpr int R = group_rows_;
    for (ptrdiff_t j = 0; j < d; j++)
        for (int r = 0; r < R; r++) to[j * R + r] = whole || r < count ? rows[r * d + j] : T(0);
}

template <class T> void group(const T *rows, int count, ptrdiff_t d, T *to) {
    if (count >= group_rows_)
        group_of<T, true>(rows, count, d, to);
    else
        group_of<T, false>(rows, count, d, to);
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
