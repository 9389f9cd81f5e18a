#include "core/rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "simd/ops.hpp"

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

}  // namespace

void Rows::require_finite(ptrdiff_t i) const {
    std::vector<double> room(d);
    const double *x = row(i, room.data());
    for (ptrdiff_t j = 0; j < d; j++)
        if (!std::isfinite(x[j])) throw NotFinite{i, j, x[j]};
}

template <class T> const double *StridedRows<T>::row(ptrdiff_t i, double *room) const {
    const T *row = data_ + i * row_stride_;
    if constexpr (std::is_same_v<T, double>)
        if (column_stride_ == 1) return row;
    if (column_stride_ == 1)
        ops<T>().widen(row, d, room);
    else
        for (ptrdiff_t j = 0; j < d; j++) room[j] = double(row[j * column_stride_]);
    return room;
}

template <class T, class I> const double *CsrRows<T, I>::row(ptrdiff_t i, double *room) const {
    const ptrdiff_t from = indptr_[i], to = indptr_[i + 1];
    if (from < 0 || to < from || to > stored_) refuse_indptr(i);
    std::fill_n(room, d, 0.0);
    for (ptrdiff_t k = from; k < to; k++) {
        const ptrdiff_t j = indices_[k];
        if (j < 0 || j >= d) refuse_column(i, j, d);
        room[j] += double(data_[k]);  // a column given twice counts twice, as in scipy
    }
    return room;
}

template class StridedRows<float>;
template class StridedRows<double>;
template class CsrRows<float, int32_t>;
template class CsrRows<float, int64_t>;
template class CsrRows<double, int32_t>;
template class CsrRows<double, int64_t>;

}  // namespace dormie
