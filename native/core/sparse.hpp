// Vectors by their non-zeros: rows and points that have few of them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace dormie {

// Columns in ascending order, none twice; no value is 0. The arrays are the owner's.
struct SparseVector {
    const int32_t *columns;
    const double *values;
    ptrdiff_t count;
};

// More columns than this have no number among int32.
inline constexpr ptrdiff_t most_sparse_columns = std::numeric_limits<int32_t>::max();

// Several such vectors, each a list of its own.
class SparseVectors {
  public:
    // What is pushed until the next `close` is one more vector.
    void push(int32_t column, double value) {
        columns.push_back(column);
        values.push_back(value);
    }
    void close() {
        places_.push_back({begun_, ptrdiff_t(values.size()) - begun_});
        begun_ = ptrdiff_t(values.size());
    }

    void append(const SparseVector &vector) {
        columns.insert(columns.end(), vector.columns, vector.columns + vector.count);
        values.insert(values.end(), vector.values, vector.values + vector.count);
        close();
    }

    SparseVector operator[](ptrdiff_t i) const {
        const auto [from, count] = places_[size_t(i)];
        return {columns.data() + from, values.data() + from, count};
    }
    double *values_of(ptrdiff_t i) { return values.data() + places_[size_t(i)].from; }

    // Vector i becomes 0.
    void forget(ptrdiff_t i) { places_[size_t(i)].count = 0; }

    void drop_last() {
        begun_ = places_.back().from;
        places_.pop_back();
        columns.resize(size_t(begun_));
        values.resize(size_t(begun_));
    }
    void clear() {
        begun_ = 0;
        places_.clear();
        columns.clear();
        values.clear();
    }

    // Of the vector that is not closed yet: where it begins.
    ptrdiff_t begun() const { return begun_; }

    std::vector<int32_t> columns;
    std::vector<double> values;
    std::vector<double> room;  // of those who fill this

  private:
    struct Place {
        ptrdiff_t from, count;
    };
    std::vector<Place> places_;
    ptrdiff_t begun_ = 0;
};

}  // namespace dormie
