#include "core/rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace dormie {

namespace {

// Apart from the loops, which stay small without the making of messages.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_indptr(ptrdiff_t row) {
    throw std::invalid_argument("row " + std::to_string(row) + ": the CSR indptr is not ascending within the data");
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_column(ptrdiff_t row, ptrdiff_t column, ptrdiff_t columns) {
    throw std::invalid_argument("row " + std::to_string(row) + ": CSR column index " + std::to_string(column) +
                                " is outside 0.." + std::to_string(columns - 1));
}

template <class Number> void convert(const Number *x, ptrdiff_t n, double *to) {
    row_ops().widen(number_type<Number>, x, n, to);
}

template <class Number> void convert(const Number *x, ptrdiff_t n, float *to) {
    row_ops().narrow(number_type<Number>, x, n, to);
}

}  // namespace

void Rows::require_finite(ptrdiff_t i) const {
    std::vector<double> room(d);
    const double *x = wide(i, 1, room.data());
    for (ptrdiff_t j = 0; j < d; j++)
        if (!std::isfinite(x[j])) throw NotFinite{i, j, x[j]};
}

template <class Number>
template <class T>
const T *StridedRows<Number>::as(ptrdiff_t from, ptrdiff_t count, T *room) const {
    const Number *x = data_ + from * row_stride_;
    const bool together = column_stride_ == 1 && (row_stride_ == d || n == 1);
    if constexpr (std::is_same_v<Number, T>)
        if (together) return x;
    if (together) {
        convert(x, count * d, room);
    } else if (column_stride_ == 1) {
        for (ptrdiff_t r = 0; r < count; r++) convert(x + r * row_stride_, d, room + r * d);
    } else {
        // Column by column: the bands of a raster lie so, each in one piece.
        for (ptrdiff_t j = 0; j < d; j++)
            for (ptrdiff_t r = 0; r < count; r++)
                room[r * d + j] = T(value_of(x[r * row_stride_ + j * column_stride_]));
    }
    return room;
}

template <class Number> const double *StridedRows<Number>::wide(ptrdiff_t from, ptrdiff_t count, double *room) const {
    return as<double>(from, count, room);
}

template <class Number> const float *StridedRows<Number>::narrow(ptrdiff_t from, ptrdiff_t count, float *room) const {
    return as<float>(from, count, room);
}

template <class T, class I> void CsrRows<T, I>::fill(ptrdiff_t i, double *row) const {
    const ptrdiff_t from = indptr_[i], to = indptr_[i + 1];
    if (from < 0 || to < from || to > stored_) refuse_indptr(i);
    std::fill_n(row, d, 0.0);
    for (ptrdiff_t k = from; k < to; k++) {
        const ptrdiff_t j = indices_[k];
        if (j < 0 || j >= d) refuse_column(i, j, d);
        row[j] += double(data_[k]);  // a column given twice counts twice, as in scipy
    }
}

template <class T, class I> const double *CsrRows<T, I>::wide(ptrdiff_t from, ptrdiff_t count, double *room) const {
    for (ptrdiff_t r = 0; r < count; r++) fill(from + r, room + r * d);
    return room;
}

template class StridedRows<float>;
template class StridedRows<double>;
template class StridedRows<Half>;
template class StridedRows<Flag>;
template class StridedRows<uint8_t>;
template class StridedRows<int8_t>;
template class StridedRows<uint16_t>;
template class StridedRows<int16_t>;
template class StridedRows<int32_t>;
template class CsrRows<float, int32_t>;
template class CsrRows<float, int64_t>;
template class CsrRows<double, int32_t>;
template class CsrRows<double, int64_t>;

}  // namespace dormie
