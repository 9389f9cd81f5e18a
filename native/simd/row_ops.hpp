// How rows are read and measured, as a table of function pointers like those of ops.hpp: with few vectors this takes
// longer than their products.
#pragma once
#include <cstddef>
#include <cstdint>

namespace dormie {

// A number of 16 bits, of which 5 are the exponent and 10 the fraction; and a truth value of one byte.
struct Half {
    uint16_t bits;
};
struct Flag {
    uint8_t byte;
};

enum class NumberType : int { float32, float64, float16, flag, uint8, int8, uint16, int16, int32 };
template <class Number> inline constexpr NumberType number_type = NumberType::float64;
template <> inline constexpr NumberType number_type<float> = NumberType::float32;
template <> inline constexpr NumberType number_type<Half> = NumberType::float16;
template <> inline constexpr NumberType number_type<Flag> = NumberType::flag;
template <> inline constexpr NumberType number_type<uint8_t> = NumberType::uint8;
template <> inline constexpr NumberType number_type<int8_t> = NumberType::int8;
template <> inline constexpr NumberType number_type<uint16_t> = NumberType::uint16;
template <> inline constexpr NumberType number_type<int16_t> = NumberType::int16;
template <> inline constexpr NumberType number_type<int32_t> = NumberType::int32;

// Whether float has every number of the type.
template <class Number>
inline constexpr bool is_in_float =
    number_type<Number> != NumberType::float64 && number_type<Number> != NumberType::int32;

// Always inlined, and without the C++ library: every instruction set has code of its own (see vec.hpp).
template <class Number> [[gnu::always_inline]] inline Number value_of(Number x) { return x; }
[[gnu::always_inline]] inline float value_of(Flag x) { return x.byte != 0; }
// Exponent and fraction where float has them, times 2^112 for the difference in bias, which small numbers need too; the
// exponent of infinity and NaN is all ones.
[[gnu::always_inline]] inline float value_of(Half x) {
    const uint32_t magnitude = uint32_t(x.bits & 0x7fff) << 13, sign = uint32_t(x.bits & 0x8000) << 16;
    const uint32_t special = (x.bits & 0x7c00) == 0x7c00 ? 0x7f800000u : 0u;
    const float scaled = __builtin_bit_cast(float, magnitude) * 0x1p112f;
    return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, scaled) | special | sign);
}

struct RowOps {
    // n numbers of a type in double, or in float: exact, except that float64 and int32 are rounded to float.
    void (*widen)(NumberType type, const void *x, ptrdiff_t n, double *to);
    void (*narrow)(NumberType type, const void *x, ptrdiff_t n, float *to);

    // Rows through the input map: (x - center) * inverse; or, where inverse is null, (x - center) / scale.
    void (*map)(const double *x, ptrdiff_t count, ptrdiff_t d, const double *center, const double *scale,
                const double *inverse, double *to);

    // Rows times a matrix, in double or in float: sums one below the other, with the matrix's stride, a multiple of the
    // lanes of every instruction set. In chunks of projected_columns, whatever the rows beside it. Rows begin x_stride
    // apart.
    void (*project)(const double *x, ptrdiff_t count, ptrdiff_t x_stride, const int32_t *nonzeros, ptrdiff_t columns,
                    const double *matrix, ptrdiff_t stride, double *to);
    void (*project_narrow)(const double *x, ptrdiff_t count, ptrdiff_t x_stride, const int32_t *nonzeros,
                           ptrdiff_t columns, const float *matrix, ptrdiff_t stride, float *to);

    // Of each row, one below the other: the sum of squares in double, summed in chunks, and its non-zeros. Of rows of a
    // few features these are not counted: all count as such.
    void (*measure_wide)(const double *x, ptrdiff_t count, ptrdiff_t d, double *squares, int32_t *nonzeros);
    void (*measure_narrow)(const float *x, ptrdiff_t count, ptrdiff_t d, double *squares, int32_t *nonzeros);
};

// Columns whose products are added up before they are added to those of others.
inline constexpr int projected_columns = 128;

// Features up to which the non-zeros of a row are not worth counting: skipping zeros would not pay.
inline constexpr ptrdiff_t features_not_counted = 12;

const RowOps &row_ops();

}  // namespace dormie
