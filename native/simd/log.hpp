// log2(w) for w >= 1, with a relative error of at most log2_error_units rounding units, and square roots.
//
// w = 2^n m with n whole and m between sqrt(1/2) and sqrt(2); with s = (m - 1) / (m + 1), log2(m) = 2 / ln 2 (s + s^3 /
// 3 +
// ...), where |s| <= 0.172 and the terms left out are below 1e-9 (float) or 1e-18 (double) of it. Where n > 0 the sum
// is at least 1/2, so that nothing cancels: m - 1 is exact, and |log2(m)| no larger than the sum.
#pragma once
#include "simd/exp.hpp"
#include "simd/ops.hpp"
#include "simd/vec.hpp"

namespace {

constexpr double log2e = 1.4426950408889634074;

template <class T> inline Vec<T> log2_from_one(Vec<T> w) {
    using C = Exp2Constants<T>;
    constexpr int terms = sizeof(T) == 4 ? 6 : 12;
    const Bits<T> bits = (Bits<T>)w, one = (Bits<T>)all<T>(1);
    Bits<T> n = (bits >> C::mantissa) - C::bias;
    Vec<T> m = (Vec<T>)((bits << (8 * sizeof(T) - C::mantissa) >> (8 * sizeof(T) - C::mantissa)) | one);
    const Bits<T> halved = (Bits<T>)(m > T(1.4142135623730951));
    m = (Vec<T>)((halved & (Bits<T>)(m * T(0.5))) | (~halved & (Bits<T>)m));
    n -= halved;  // all bits set are -1
    const Vec<T> s = (m - T(1)) / (m + T(1)), square = s * s;
    Vec<T> sum = all<T>(T(2 * log2e / (2 * terms - 1)));
    for (int i = terms - 2; i >= 0; i--) sum = sum * square + T(2 * log2e / (2 * i + 1));
    const Vec<T> whole = (Vec<T>)((Bits<T>)all<T>(C::rounder) + n) - C::rounder;  // n >= 0, as w >= 1
    return whole + s * sum;
}

// sqrt(-v), and 0 where v is above 0, by rounding.
template <class T> inline Vec<T> square_root(Vec<T> v) {
    Vec<T> x = v < T(0) ? -v : all<T>(0);
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4)
        return (Vec<T>)_mm512_maskz_sqrt_ps(0xffff, (__m512)x);
    else
        return (Vec<T>)_mm512_maskz_sqrt_pd(0xff, (__m512d)x);
#else
    T lane[lanes<T>];
    store(lane, x);
    for (int i = 0; i < lanes<T>; i++)
        lane[i] = sizeof(T) == 4 ? T(__builtin_sqrtf(float(lane[i]))) : T(__builtin_sqrt(double(lane[i])));
    return load(lane);
#endif
}

}  // namespace
