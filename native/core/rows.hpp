// Rows as they come: dense in any layout and of many number types, or CSR. Blocks of them are had in double or float.
//
// The classes are instantiated in rows.cpp for the types that Python passes.
#pragma once
#include <cstddef>
#include <vector>

#include "core/sparse.hpp"
#include "simd/ops.hpp"
#include "simd/row_ops.hpp"

namespace dormie {

// Multiply-adds that take as long as reading one number of a row, about: for the choice of how many threads to use.
inline constexpr double reading_a_number = 4;

// A value that is NaN or infinite; the binding turns it into an error that names the first such place.
struct NotFinite {
    ptrdiff_t row, column;
    double value;
};

// A negative coordinate, in a row of a kernel that takes none; the binding names the first.
struct Negative {
    ptrdiff_t row, column;
    double value;  // as it is after the input map
};

class Rows {
  public:
    Rows(ptrdiff_t n, ptrdiff_t d) : n(n), d(d) {}
    virtual ~Rows() = default;

    // Rows from, from + 1, ... in double, one below the other: where they lie, all rows alike, or written to `room`.
    virtual const double *wide(ptrdiff_t from, ptrdiff_t count, double *room) const = 0;

    // The same in float. Only where every number is one that float has.
    virtual const float *narrow(ptrdiff_t from, ptrdiff_t count, float *room) const = 0;
    virtual bool in_float() const = 0;

    // Where so many rows lie in memory, if one below the other.
    virtual Ahead place(ptrdiff_t, ptrdiff_t) const { return {}; }

    // One more vector of `to`: the non-zeros of row i. Of rows with at most `most_sparse_columns`.
    virtual void list(ptrdiff_t i, SparseVectors &to) const = 0;

    // Throws NotFinite where row i has such a value.
    void require_finite(ptrdiff_t i) const;

    const ptrdiff_t n, d;
};

// Of numbers that lie in memory as `Number` (row_ops.hpp).
template <class Number> class StridedRows final : public Rows {
  public:
    StridedRows(const Number *data, ptrdiff_t n, ptrdiff_t d, ptrdiff_t row_stride, ptrdiff_t column_stride)
        : Rows(n, d), data_(data), row_stride_(row_stride), column_stride_(column_stride) {}

    const double *wide(ptrdiff_t from, ptrdiff_t count, double *room) const override;
    const float *narrow(ptrdiff_t from, ptrdiff_t count, float *room) const override;
    bool in_float() const override { return is_in_float<Number>; }
    Ahead place(ptrdiff_t from, ptrdiff_t count) const override {
        if (!together()) return {};
        return {reinterpret_cast<const char *>(data_ + from * row_stride_),
                count * row_stride_ * ptrdiff_t(sizeof(Number))};
    }
    void list(ptrdiff_t i, SparseVectors &to) const override;

  private:
    bool together() const { return column_stride_ == 1 && (row_stride_ == d || n == 1); }
    template <class T> const T *as(ptrdiff_t from, ptrdiff_t count, T *room) const;
    const double *wide_row(ptrdiff_t i, std::vector<double> &room) const;

    const Number *data_;
    const ptrdiff_t row_stride_, column_stride_;
};

// Indices are checked as they are used: a malformed matrix is an error, never a stray write.
template <class T, class I> class CsrRows final : public Rows {
  public:
    CsrRows(const T *data, const I *indices, const I *indptr, ptrdiff_t n, ptrdiff_t d, ptrdiff_t stored)
        : Rows(n, d), data_(data), indices_(indices), indptr_(indptr), stored_(stored) {}

    const double *wide(ptrdiff_t from, ptrdiff_t count, double *room) const override;
    // A column given twice may add up to a number that float has not.
    const float *narrow(ptrdiff_t, ptrdiff_t, float *) const override { return nullptr; }
    bool in_float() const override { return false; }
    void list(ptrdiff_t i, SparseVectors &to) const override;

  private:
    // Where row i is among the data; checked.
    struct Range {
        ptrdiff_t from, to;
    };
    Range range(ptrdiff_t i) const;
    // The column of an entry of row i; checked.
    ptrdiff_t column(ptrdiff_t i, ptrdiff_t entry) const;
    void fill(ptrdiff_t i, double *row) const;

    const T *data_;
    const I *indices_;
    const I *indptr_;
    const ptrdiff_t stored_;
};

}  // namespace dormie
