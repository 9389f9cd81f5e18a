#include "core/rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
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

template <class Number> void convert(const Number *x, ptrdiff_t n, double *to) {
    row_ops().widen(number_type<Number>, x, n, to);
}

template <class Number> void convert(const Number *x, ptrdiff_t n, float *to) {
    row_ops().narrow(number_type<Number>, x, n, to);
}

// The vector that is not closed yet, its columns in ascending order: entries of one column are added up as they came,
// which is what a dense row has there.
void add_up(SparseVectors &to) {
    const ptrdiff_t from = to.begun(), count = ptrdiff_t(to.values.size()) - from;
    std::vector<std::pair<int32_t, double>> entries;
    entries.reserve(size_t(count));
    for (ptrdiff_t k = from; k < from + count; k++) entries.emplace_back(to.columns[k], to.values[k]);
    std::stable_sort(entries.begin(), entries.end(), [](auto &a, auto &b) { return a.first < b.first; });
    to.columns.resize(size_t(from));
    to.values.resize(size_t(from));
    for (size_t k = 0; k < entries.size();) {
        const int32_t column = entries[k].first;
        double sum = 0;
        for (; k < entries.size() && entries[k].first == column; k++) sum += entries[k].second;
        if (sum != 0) to.push(column, sum);
    }
}

}  // namespace

void Rows::require_finite(ptrdiff_t i) const {
    if (d <= most_sparse_columns) {
        SparseVectors found;
        list(i, found);
        const SparseVector x = found[0];
        for (ptrdiff_t k = 0; k < x.count; k++)
            if (!std::isfinite(x.values[k])) throw NotFinite{i, x.columns[k], x.values[k]};
        return;
    }
    std::vector<double> room(d);
    const double *x = wide(i, 1, room.data());
    for (ptrdiff_t j = 0; j < d; j++)
        if (!std::isfinite(x[j])) throw NotFinite{i, j, x[j]};
}

template <class Number>
template <class T>
const T *StridedRows<Number>::as(ptrdiff_t from, ptrdiff_t count, T *room) const {
    const Number *x = data_ + from * row_stride_;
    if constexpr (std::is_same_v<Number, T>)
        if (together()) return x;
    if (together()) {
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

// By a part of a row at a time, which stays in the first-level cache.
template <class Number> void StridedRows<Number>::list(ptrdiff_t i, SparseVectors &to) const {
    constexpr ptrdiff_t part = 1024, spare = 16;
    const double *x = wide_row(i, to.room);
    for (ptrdiff_t from = 0; from < d; from += part) {
        const size_t listed = to.values.size();
        to.columns.resize(listed + part + spare);
        to.values.resize(listed + part + spare);
        const int n = int(std::min<ptrdiff_t>(part, d - from));
        const int found =
            ops<double>().list_nonzeros(x + from, n, to.columns.data() + listed, to.values.data() + listed);
        for (int k = 0; k < found; k++) to.columns[listed + size_t(k)] += int32_t(from);
        to.columns.resize(listed + size_t(found));
        to.values.resize(listed + size_t(found));
    }
    to.close();
}

template <class Number> const double *StridedRows<Number>::wide_row(ptrdiff_t i, std::vector<double> &room) const {
    room.resize(size_t(d));
    return wide(i, 1, room.data());
}

template <class T, class I> typename CsrRows<T, I>::Range CsrRows<T, I>::range(ptrdiff_t i) const {
    const ptrdiff_t from = indptr_[i], to = indptr_[i + 1];
    if (from < 0 || to < from || to > stored_) refuse_indptr(i);
    return {from, to};
}

template <class T, class I> ptrdiff_t CsrRows<T, I>::column(ptrdiff_t i, ptrdiff_t entry) const {
    const ptrdiff_t j = indices_[entry];
    if (j < 0 || j >= d) refuse_column(i, j, d);
    return j;
}

template <class T, class I> void CsrRows<T, I>::fill(ptrdiff_t i, double *row) const {
    const auto [from, to] = range(i);
    std::fill_n(row, d, 0.0);
    for (ptrdiff_t k = from; k < to; k++) row[column(i, k)] += double(data_[k]);  // given twice it counts twice
}

template <class T, class I> void CsrRows<T, I>::list(ptrdiff_t i, SparseVectors &to) const {
    const auto [from, end] = range(i);
    bool ascending = true;
    ptrdiff_t before = -1;
    for (ptrdiff_t k = from; k < end; k++) {
        const ptrdiff_t j = column(i, k);
        ascending &= j > before;
        before = j;
        if (data_[k] != 0) to.push(int32_t(j), double(data_[k]));
    }
    if (!ascending) add_up(to);
    to.close();
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
