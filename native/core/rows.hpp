// Rows as they come: dense in any layout, or CSR, float or double. One row at a time is had in doubles.
//
// The classes are instantiated in rows.cpp for the types that Python passes.
#pragma once
#include <cstddef>

namespace dormie {

// Multiply-adds that take as long as reading one number of a row, about: for the choice of how many threads to use.
inline constexpr double reading_a_number = 12;

// A value that is NaN or infinite; the binding turns it into an error that names the first such place.
struct NotFinite {
    ptrdiff_t row, column;
    double value;
};

class Rows {
  public:
    Rows(ptrdiff_t n, ptrdiff_t d) : n(n), d(d) {}
    virtual ~Rows() = default;
    // Row i, of d numbers: where it lies, or written to `room`.
    virtual const double *row(ptrdiff_t i, double *room) const = 0;

    // Throws NotFinite where row i has such a value.
    void require_finite(ptrdiff_t i) const;

    const ptrdiff_t n, d;
};

// Some of the rows: those numbered which[from], which[from + 1], ..., or from, from + 1, ... where `which` is null.
struct RowRange {
    const Rows &rows;
    const ptrdiff_t *which;
    ptrdiff_t from;
    int count;

    ptrdiff_t number(int r) const { return which ? which[from + r] : from + r; }
};

template <class T> class StridedRows final : public Rows {
  public:
    StridedRows(const T *data, ptrdiff_t n, ptrdiff_t d, ptrdiff_t row_stride, ptrdiff_t column_stride)
        : Rows(n, d), data_(data), row_stride_(row_stride), column_stride_(column_stride) {}

    const double *row(ptrdiff_t i, double *room) const override;

  private:
    const T *data_;
    const ptrdiff_t row_stride_, column_stride_;
};

// Indices are checked as they are used: a malformed matrix is an error, never a stray write.
template <class T, class I> class CsrRows final : public Rows {
  public:
    CsrRows(const T *data, const I *indices, const I *indptr, ptrdiff_t n, ptrdiff_t d, ptrdiff_t stored)
        : Rows(n, d), data_(data), indices_(indices), indptr_(indptr), stored_(stored) {}

    const double *row(ptrdiff_t i, double *room) const override;

  private:
    const T *data_;
    const I *indices_;
    const I *indptr_;
    const ptrdiff_t stored_;
};

}  // namespace dormie
