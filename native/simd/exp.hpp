// 2^y for y <= 0, with a relative error of at most exp2_error_units rounding units (checked over every float).
//
// y = n + f with n whole and |f| <= 1/2; 2^f = 1 + f q(f), q a minimax polynomial of relative error 3e-9 (float) or
// 1e-17 (double); 2^n is put together from its exponent bits.
#pragma once
#include "simd/ops.hpp"
#include "simd/vec.hpp"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace {

template <class T> struct Exp2Constants;
template <> struct Exp2Constants<float> {
    static constexpr float rounder = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
    static constexpr int mantissa = 23, bias = 127;
    static constexpr float q[] = {0.69314720670283259577f,   0.24022650922288758071f,  0.055503272266703020589f,
                                  0.0096180566785246380754f, 0.001340042817761583794f, 0.00015461444698569129083f};
};
template <> struct Exp2Constants<double> {
    static constexpr double rounder = 6755399441055744.0;  // 1.5 * 2^52
    static constexpr int mantissa = 52, bias = 1023;
    static constexpr double q[] = {0.69314718055994531137,     0.24022650695910116333,   0.055504108664821330761,
                                   0.0096181291075999579995,   0.0013333558146493238232, 0.00015403530449908671831,
                                   0.000015252733747386008672, 1.3215438802211746056e-6, 1.0178099728335211979e-7,
                                   7.0731896692951507844e-9,   4.4489907633213610648e-10};
};

// 2^n in `power` and 2^f - 1 in `excess`, for least <= y <= 0. Outside, neither means anything.
template <class T> inline void split_exp2(Vec<T> y, Vec<T> &power, Vec<T> &excess) {
    using C = Exp2Constants<T>;
    const Vec<T> shifted = y + C::rounder;
    const Vec<T> f = y - (shifted - C::rounder);
    constexpr int terms = sizeof(C::q) / sizeof(T);
    Vec<T> q = all<T>(C::q[terms - 1]);
    for (int i = terms - 2; i >= 0; i--) q = q * f + C::q[i];
    excess = f * q;
    const Bits<T> exponent = ((Bits<T>)shifted + C::bias) << C::mantissa;
    power = (Vec<T>)exponent;
}

#if defined(__AVX512F__)
// The instruction set has what takes the others several steps: rounding to a whole number, 2^n, and 0 where a lane is
// out of range. (With a mask of all lanes where any would do, since GCC warns of what it leaves undefined without one.)
inline __m512 whole(__m512 y) { return _mm512_maskz_roundscale_ps(0xffff, y, _MM_FROUND_TO_NEAREST_INT); }
inline __m512d whole(__m512d y) { return _mm512_maskz_roundscale_pd(0xff, y, _MM_FROUND_TO_NEAREST_INT); }
inline __m512 at_most_zero(__m512 y) { return _mm512_maskz_min_ps(0xffff, y, __m512{}); }
inline __m512d at_most_zero(__m512d y) { return _mm512_maskz_min_pd(0xff, y, __m512d{}); }
// x 2^n, and 0 unless y is at least `least`.
inline __m512 times_power(__m512 x, __m512 n, __m512 y, float least) {
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(y, _mm512_set1_ps(least), _CMP_GE_OQ), x, n);
}
inline __m512d times_power(__m512d x, __m512d n, __m512d y, double least) {
    return _mm512_maskz_scalef_pd(_mm512_cmp_pd_mask(y, _mm512_set1_pd(least), _CMP_GE_OQ), x, n);
}

// NaN, the difference of two infinite norms, gives 0: such points are far apart.
template <class T> inline Vec<T> exp2_nonpositive(Vec<T> v) {
    using C = Exp2Constants<T>;
    const Vec<T> y = (Vec<T>)at_most_zero(v), n = (Vec<T>)whole(y), f = y - n;
    constexpr int terms = sizeof(C::q) / sizeof(T);
    Vec<T> q = all<T>(C::q[terms - 1]);
    for (int i = terms - 2; i >= 0; i--) q = q * f + C::q[i];
    return (Vec<T>)times_power(q * f + T(1), n, v, dormie::exp2_least<T>);
}
#else
// NaN, the difference of two infinite norms, gives 0: such points are far apart.
template <class T> inline Vec<T> exp2_nonpositive(Vec<T> y) {
    const Bits<T> in_range = (Bits<T>)(y >= dormie::exp2_least<T>);
    y = y < T(0) ? y : all<T>(0);
    Vec<T> power, excess;
    split_exp2<T>(y, power, excess);
    return (Vec<T>)((Bits<T>)(power * excess + power) & in_range);
}
#endif

// tanh(v) = -m / (2 + m), m = exp(-2|v|) - 1: no cancellation near 0. v is given times 2 / ln 2.
template <class T> inline Vec<T> tanh_scaled(Vec<T> v) {
    const Vec<T> zero = all<T>(0);
    Vec<T> y = v < zero ? v : -v;
    y = y < T(-100) ? all<T>(-100) : y;
    Vec<T> power, excess;
    split_exp2<T>(y, power, excess);
    const Vec<T> m = power * excess + (power - T(1));
    const Vec<T> t = -m / (m + T(2));
    return v < zero ? -t : t;
}

}  // namespace
