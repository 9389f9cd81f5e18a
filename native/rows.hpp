// Rows as they come: dense in any layout, or CSR, float or double. One row at a time is read into doubles.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

namespace dormie {

// A value that is NaN or infinite; the binding turns it into an error that names the first such place.
struct NotFinite {
    ptrdiff_t row, column;
    double value;
};

class Rows {
  public:
    Rows(ptrdiff_t n, ptrdiff_t d) : n(n), d(d) {}
    virtual ~Rows() = default;
    // Writes row i to out[0..d); throws NotFinite.
    virtual void read(ptrdiff_t i, double *out) const = 0;
    const ptrdiff_t n, d;
};

template <class T> class StridedRows final : public Rows {
  public:
    StridedRows(const T *data, ptrdiff_t n, ptrdiff_t d, ptrdiff_t row_stride, ptrdiff_t column_stride)
        : Rows(n, d), data_(data), row_stride_(row_stride), column_stride_(column_stride) {}

    void read(ptrdiff_t i, double *out) const override {
        const T *row = data_ + i * row_stride_;
        if (column_stride_ == 1)  // said apart, so that the compiler may use whole vectors
            for (ptrdiff_t j = 0; j < d; j++) out[j] = double(row[j]);
        else
            for (ptrdiff_t j = 0; j < d; j++) out[j] = double(row[j * column_stride_]);
        int wrong = 0;
        for (ptrdiff_t j = 0; j < d; j++) wrong |= !(std::abs(out[j]) <= std::numeric_limits<double>::max());
        if (!wrong) return;
        for (ptrdiff_t j = 0; j < d; j++)
            if (!std::isfinite(out[j])) throw NotFinite{i, j, out[j]};
    }

  private:
    const T *data_;
    const ptrdiff_t row_stride_, column_stride_;
};

// Indices are checked as they are used: a malformed matrix is an error, never a stray write.
template <class T, class I> class CsrRows final : public Rows {
  public:
    CsrRows(const T *data, const I *indices, const I *indptr, ptrdiff_t n, ptrdiff_t d, ptrdiff_t stored)
        : Rows(n, d), data_(data), indices_(indices), indptr_(indptr), stored_(stored) {}

    void read(ptrdiff_t i, double *out) const override {
        const ptrdiff_t from = indptr_[i], to = indptr_[i + 1];
        if (from < 0 || to < from || to > stored_)
            throw std::invalid_argument("row " + std::to_string(i) + ": the CSR indptr is not ascending within the data");
        for (ptrdiff_t j = 0; j < d; j++) out[j] = 0;
        for (ptrdiff_t k = from; k < to; k++) {
            const ptrdiff_t j = indices_[k];
            if (j < 0 || j >= d)
                throw std::invalid_argument("row " + std::to_string(i) + ": CSR column index " + std::to_string(j) +
                                            " is outside 0.." + std::to_string(d - 1));
            out[j] += double(data_[k]);  // a column given twice counts twice, as in scipy
            if (!std::isfinite(out[j])) throw NotFinite{i, j, out[j]};
        }
    }

  private:
    const T *data_;
    const I *indices_;
    const I *indptr_;
    const ptrdiff_t stored_;
};

}  // namespace dormie
