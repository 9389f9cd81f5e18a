// Vectors of the instruction set this file is compiled for, by the compiler's vector extensions.
// Everything is in an unnamed namespace: the same source is compiled for several instruction sets, and a shared
// inline function would let the linker pick the one that this processor cannot run.
#pragma once
#include <cstdint>
#include <cstring>
#include <utility>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

// column_vectors: vectors of a tile that are in registers at once in group_products.
#if defined(__AVX512F__)
constexpr int vector_bytes = 64, group_rows_ = 8, list_tiles_ = 4, column_vectors = 2;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32, group_rows_ = 6, list_tiles_ = 2, column_vectors = 2;
#elif defined(__aarch64__)
// NEON: 20 sums in 32 registers. Of the loop's instructions 69 % are multiply-adds under GCC 12, 67 % under Clang 19;
// with 8 x 2 sums 62 and 59 %, with 6 x 4 fewer registers than GCC wants.
constexpr int vector_bytes = 16, group_rows_ = 5, list_tiles_ = 2, column_vectors = 4;
#else
constexpr int vector_bytes = 16, group_rows_ = 4, list_tiles_ = 1, column_vectors = 2;
#endif

template <class T> struct VecTypes;
template <> struct VecTypes<float> {
    typedef float Vec __attribute__((vector_size(vector_bytes)));
    typedef uint32_t Bits __attribute__((vector_size(vector_bytes)));
    typedef uint8_t Bytes __attribute__((vector_size(vector_bytes / 4)));
    typedef int32_t Whole __attribute__((vector_size(vector_bytes)));
};
template <> struct VecTypes<double> {
    typedef double Vec __attribute__((vector_size(vector_bytes)));
    typedef uint64_t Bits __attribute__((vector_size(vector_bytes)));
    typedef uint8_t Bytes __attribute__((vector_size(vector_bytes / 8)));
    typedef int32_t Whole __attribute__((vector_size(vector_bytes / 2)));
};
template <class T> using Vec = typename VecTypes<T>::Vec;
template <class T> using Bits = typename VecTypes<T>::Bits;
template <class T> constexpr int lanes = vector_bytes / sizeof(T);

template <class T> inline Vec<T> load(const T *from) {
    Vec<T> v;
    memcpy(&v, from, sizeof v);
    return v;
}
template <class T> inline void store(T *to, Vec<T> v) { memcpy(to, &v, sizeof v); }
// Bytes, as many as a vector has lanes, as numbers.
template <class T> inline Vec<T> load_bytes(const uint8_t *from) {
    typename VecTypes<T>::Bytes bytes;
    memcpy(&bytes, from, sizeof bytes);
    return __builtin_convertvector(__builtin_convertvector(bytes, typename VecTypes<T>::Whole), Vec<T>);
}
// GCC 12 would move these byte by byte. (The masks keep it from finding something uninitialised in its own header.)
#if defined(__AVX512F__)
template <> inline Vec<float> load_bytes<float>(const uint8_t *from) {
    const __m512i whole = _mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128((const __m128i *)from));
    return __builtin_convertvector((VecTypes<float>::Whole)whole, Vec<float>);
}
#elif defined(__AVX2__)
template <> inline Vec<float> load_bytes<float>(const uint8_t *from) {
    const __m256i whole = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)from));
    return __builtin_convertvector((VecTypes<float>::Whole)whole, Vec<float>);
}
#endif
template <class T> inline Vec<T> all(T x) { return x - Vec<T>{}; }  // x - 0 is x, sign of zero included

// body(0), ..., body(n - 1), written out one after the other: what is in arrays meanwhile can then be in registers.
template <class Body, int... i>
[[gnu::always_inline]] inline void written_out(const Body &body, std::integer_sequence<int, i...>) {
    (body(i), ...);
}
template <int n, class Body> [[gnu::always_inline]] inline void written_out(const Body &body) {
    written_out(body, std::make_integer_sequence<int, n>());
}

// Added pairwise, in the same order whatever the batch.
template <class T> inline T sum_lanes(Vec<T> v) {
    T x[lanes<T>];
    store(x, v);
    for (int half = lanes<T> / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) x[i] += x[i + half];
    return x[0];
}

// Element i of the result is element from(i) of a and b in a row. Written out lane by lane, with places known when
// compiled, this is a shuffle to every compiler; their builtins for it differ.
template <class T, class From, int... lane>
inline Vec<T> picked(Vec<T> a, Vec<T> b, From from, std::integer_sequence<int, lane...>) {
    constexpr int N = lanes<T>;
    return Vec<T>{(from(lane) < N ? a : b)[from(lane) % N]...};
}
template <class T, class From> inline Vec<T> picked(Vec<T> a, Vec<T> b, From from) {
    return picked<T>(a, b, from, std::make_integer_sequence<int, lanes<T>>());
}

// Every group of 2 * half lanes is added up in its first.
template <class T, int half> inline Vec<T> folded(Vec<T> v) {
    if constexpr (half == 0) {
        return v;
    } else {
        return folded<T, half / 2>(v + picked<T>(v, v, [](int i) { return (i + half) % lanes<T>; }));
    }
}

// sum_lanes of four vectors, in the same order of additions, all of them folded at once.
template <class T> inline void sum_lanes_of_four(Vec<T> a, Vec<T> b, Vec<T> c, Vec<T> d, double *out) {
    constexpr int N = lanes<T>, H = N / 2, Q = N / 4;
    if constexpr (Q == 0) {
        out[0] = sum_lanes<T>(a), out[1] = sum_lanes<T>(b), out[2] = sum_lanes<T>(c), out[3] = sum_lanes<T>(d);
    } else {
        const auto low = [](int i) { return i < H ? i : i - H + N; };
        const auto high = [](int i) { return i < H ? i + H : i + N; };
        const auto first = [](int i) { return i / Q * H + i % Q; };
        const auto second = [](int i) { return i / Q * H + i % Q + Q; };
        const Vec<T> ab = picked<T>(a, b, low) + picked<T>(a, b, high);
        const Vec<T> cd = picked<T>(c, d, low) + picked<T>(c, d, high);
        const Vec<T> sums = folded<T, Q / 2>(picked<T>(ab, cd, first) + picked<T>(ab, cd, second));
        for (int k = 0; k < 4; k++) out[k] = double(sums[k * Q]);
    }
}

}  // namespace
