// Vectors of the instruction set this file is compiled for, by the compiler's vector extensions.
// Everything is in an unnamed namespace: the same source is compiled for several instruction sets, and a shared
// inline function would let the linker pick the one that this processor cannot run.
#pragma once
#include <cstdint>
#include <cstring>

namespace {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64, group_rows_ = 8, list_tiles_ = 4;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32, group_rows_ = 6, list_tiles_ = 2;
#else
constexpr int vector_bytes = 16, group_rows_ = 4, list_tiles_ = 1;
#endif

template <class T> struct VecTypes;
template <> struct VecTypes<float> {
    typedef float Vec __attribute__((vector_size(vector_bytes)));
    typedef uint32_t Bits __attribute__((vector_size(vector_bytes)));
};
template <> struct VecTypes<double> {
    typedef double Vec __attribute__((vector_size(vector_bytes)));
    typedef uint64_t Bits __attribute__((vector_size(vector_bytes)));
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
template <class T> inline Vec<T> all(T x) { return x - Vec<T>{}; }  // x - 0 is x, sign of zero included

// Added pairwise, in the same order whatever the batch.
template <class T> inline T sum_lanes(Vec<T> v) {
    T x[lanes<T>];
    store(x, v);
    for (int half = lanes<T> / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) x[i] += x[i + half];
    return x[0];
}

}  // namespace
