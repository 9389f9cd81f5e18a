// Rows made ready for the stages, once: read, checked, mapped and measured, in the number types that stages read.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/aligned.hpp"
#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/sizes.hpp"
#include "core/sparse.hpp"

namespace dormie {

// The forms that a stage reads rows in: all coordinates in float or in double; or the non-zeros alone, which all stages
// of a machine with sparse points read, and no others. Rough: rows may be prepared so (numerics/rough.py).
struct Forms {
    bool narrow = false, wide = false, listed = false, rough = false;
};

// A block of rows, one below the other. Either consecutive ones, read from where they lie; or some that are left of
// other blocks, added one by one.
class LaidOut {
  public:
    LaidOut(const Machine &machine, int capacity, Forms forms);
    LaidOut(LaidOut &&) noexcept;
    ~LaidOut();

    // Rows from, from + 1, ... in place of those that were here. Throws NotFinite and Negative.
    void read(const Rows &rows, ptrdiff_t from, int count);

    // One more row, of another block.
    void add(const LaidOut &other, int r);
    void drop_last();
    void clear();

    int count() const { return count_; }
    int capacity() const { return capacity_; }
    bool full() const { return count_ == capacity_; }

    // Of row r: which of all rows it is, its size, and its mapped coordinates, rounded to T.
    ptrdiff_t number(int r) const { return numbers_[r]; }
    const RowTraits &traits(int r) const { return traits_[r]; }
    template <class T> const T *row(int r) const;
    // Its non-zeros, mapped: where they are listed.
    SparseVector nonzeros(int r) const { return lists_[r]; }

    // The rows that will be read after these, as many as have room.
    Ahead next() const { return next_; }

    // The rows that these are some of.
    const Rows &source() const { return *source_; }

  private:
    // Rows from + r, ... to places r, ...
    void read_narrow(ptrdiff_t from, int r, int count);
    void read_wide(ptrdiff_t from, int r, int count);
    void read_all(ptrdiff_t from, int count);
    void read_lists(ptrdiff_t from, int count);
    // Of rows from, ..., to - 1, once they are measured.
    void set_traits(int from, int to);
    void set_to_zero(int r);
    void require_no_negatives(int r) const;
    template <class T> void require_no_negatives(int r) const;
    bool lost(int r) const;
    // The most error of a projection in float.
    double most_rough() const { return forms_.rough ? machine_.most_rough_error : 0; }
    // Row r, of a block whose rows are prepared more roughly or less.
    void prepare_again(int r);
    // A row in double, read and mapped again.
    const double *read_again(ptrdiff_t number, double *room) const;
    // Rows in double before the input map: prepared, or where they lie, or in `room`.
    const double *before_map(const Rows &rows, ptrdiff_t from, int count, double *room) const;

    const Machine machine_;
    const int capacity_;
    const Forms forms_;
    const Rows *source_ = nullptr;
    Ahead next_;
    int count_ = 0;
    // Where rows lie: in the arrays below, or where they came from. Null where there are none in that type.
    const float *narrow_at_ = nullptr;
    const double *wide_at_ = nullptr;
    Aligned<float> narrow_;
    Aligned<double> wide_;
    SparseVectors lists_;
    std::vector<ptrdiff_t> numbers_;
    std::vector<RowTraits> traits_;
    std::vector<double> squares_, norms_;
    std::vector<int32_t> nonzeros_;
    std::vector<double> reaches_;  // of prepared rows
    struct Prepare;
    mutable std::unique_ptr<Prepare> prepare_;  // made when a row is first read: most blocks are filled from others
};

template <> inline const float *LaidOut::row<float>(int r) const { return narrow_at_ + r * machine_.features; }
template <> inline const double *LaidOut::row<double>(int r) const { return wide_at_ + r * machine_.features; }

}  // namespace dormie
