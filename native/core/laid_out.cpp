#include "core/laid_out.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kernel.hpp"
#include "core/norm.hpp"

namespace dormie {

namespace {

constexpr ptrdiff_t numbers_at_once = 2048;      // 16 KiB of doubles
constexpr ptrdiff_t numbers_prepared = 1 << 15;  // the same of rows that meet a matrix, which is fetched for all

// Sums as the instruction set has them.
struct Fast {
    static void project(const PreparationStep &step, bool rough, const double *x, ptrdiff_t count, ptrdiff_t x_stride,
                        const int32_t *nonzeros, const ProjectionSums &sums, double *to, ptrdiff_t to_stride) {
        if (rough)
            row_ops().project_narrow(x, count, x_stride, nonzeros, step.columns, step.in_float, step.float_stride,
                                     sums.narrow.get());
        else
            row_ops().project(x, count, x_stride, nonzeros, step.columns, step.values, step.stride, sums.wide.get());
        for (ptrdiff_t r = 0; r < count; r++, to += to_stride) {
            if (rough)
                std::copy_n(sums.narrow.get() + r * step.float_stride, step.result, to);
            else
                std::copy_n(sums.wide.get() + r * step.stride, step.result, to);
        }
    }
    static void measure(const double *x, ptrdiff_t count, ptrdiff_t d, double *squares, int32_t *nonzeros) {
        row_ops().measure_wide(x, count, d, squares, nonzeros);
    }
    static double norm(RowNorm norm, const double *x, ptrdiff_t n) {
        double sum = 0;
        for (ptrdiff_t j = 0; j < n; j++) {
            const double size = std::abs(x[j]);
            sum = norm == RowNorm::max ? std::fmax(sum, size) : sum + (norm == RowNorm::l1 ? size : size * size);
        }
        return norm == RowNorm::l2 ? std::sqrt(sum) : sum;
    }
};

// How many rows are read, mapped and measured together.
int several_rows(const Machine &machine, int capacity) {
    const ptrdiff_t width = std::max(machine.columns(), machine.features);
    const ptrdiff_t numbers = machine.preparation ? numbers_prepared : numbers_at_once;
    const ptrdiff_t least = width > numbers_prepared ? 1 : 4;
    return int(std::clamp<ptrdiff_t>(numbers / width, least, std::max<ptrdiff_t>(least, capacity)));
}

}  // namespace

struct LaidOut::Prepare {
    explicit Prepare(const Preparation &preparation, int most)
        : room(size_t(most * preparation.columns)), steps(preparation, most) {}
    std::vector<double> room;
    Preparing<Fast> steps;
};

LaidOut::LaidOut(LaidOut &&) noexcept = default;
LaidOut::~LaidOut() = default;

LaidOut::LaidOut(const Machine &machine, int capacity, Forms forms)
    : machine_(machine),
      capacity_(capacity),
      forms_(forms),
      narrow_(Aligned<float>::unwritten(forms.listed ? 0 : size_t(capacity * machine.features))),
      wide_(Aligned<double>::unwritten(forms.listed ? 0 : size_t(capacity * machine.features))),
      numbers_(size_t(capacity)),
      traits_(size_t(capacity)),
      squares_(size_t(capacity)),
      norms_(size_t(capacity)),
      nonzeros_(size_t(capacity)) {
    if (machine.preparation) reaches_.resize(size_t(capacity));
}

void LaidOut::read(const Rows &rows, ptrdiff_t from, int count) {
    source_ = &rows;
    count_ = count;
    next_ = rows.place(from + count, std::min<ptrdiff_t>(count, rows.n - from - count));
    if (forms_.listed) {
        read_lists(from, count);
    } else {
        read_all(from, count);
    }
    for (int r = 0; r < count; r++) {
        numbers_[r] = from + r;
        if (!machine_.preparation && !(squares_[r] <= std::numeric_limits<double>::max()))
            rows.require_finite(from + r);
    }
    for (int r = 0; r < count && needs_shares(machine_.kernel); r++) require_no_negatives(r);
    set_traits(0, count);
}

void LaidOut::require_no_negatives(int r) const {
    wide_at_ ? require_no_negatives<double>(r) : require_no_negatives<float>(r);
}

template <class T> void LaidOut::require_no_negatives(int r) const {
    const T *x = row<T>(r);
    for (ptrdiff_t j = 0; j < machine_.features; j++)
        if (x[j] < 0) throw Negative{number(r), j, double(x[j])};
}

void LaidOut::read_all(ptrdiff_t from, int count) {
    // A few rows at a time: what is done to them one after the other is done in the first-level cache.
    const int several = several_rows(machine_, capacity_);
    const bool narrow = source_->in_float() && !machine_.center && !machine_.preparation;
    const auto read_part = narrow ? &LaidOut::read_narrow : &LaidOut::read_wide;
    for (int r = 0; r < count; r += several) (this->*read_part)(from, r, std::min(several, count - r));
}

// The input map keeps zeros: a machine with sparse points has no other.
void LaidOut::read_lists(ptrdiff_t from, int count) {
    lists_.clear();
    for (int r = 0; r < count; r++) {
        source_->list(from + r, lists_);
        const SparseVector x = lists_[r];
        double *values = lists_.values_of(r);
        for (ptrdiff_t k = 0; machine_.center && k < x.count; k++) {
            const int32_t j = x.columns[k];
            values[k] = machine_.inverse ? values[k] * machine_.inverse[j] : values[k] / machine_.scale[j];
        }
        squares_[r] = squared_norm(values, x.count);
        nonzeros_[r] = int32_t(x.count);
    }
}

// Numbers that float has, and that are not mapped: most often no double is needed.
void LaidOut::read_narrow(ptrdiff_t from, int r, int count) {
    const ptrdiff_t d = machine_.features, at = r * d;
    const float *x = source_->narrow(from + r, count, narrow_.get() + at);
    narrow_at_ = x - at;
    wide_at_ = forms_.wide ? source_->wide(from + r, count, wide_.get() + at) - at : nullptr;
    row_ops().measure_narrow(x, count, d, squares_.data() + r, nonzeros_.data() + r);
}

void LaidOut::read_wide(ptrdiff_t from, int r, int count) {
    const ptrdiff_t d = machine_.features, at = r * d;
    const double *x = before_map(*source_, from + r, count, wide_.get() + at);
    for (int k = 0; machine_.preparation && k < count; k++) reaches_[r + k] = prepare_->steps.errors(k);
    if (machine_.center) {
        row_ops().map(x, count, d, machine_.center, machine_.scale, machine_.inverse, wide_.get() + at);
        x = wide_.get() + at;
    }
    if (machine_.preparation && x != wide_.get() + at) {
        std::copy_n(x, count * d, wide_.get() + at);
        x = wide_.get() + at;
    }
    wide_at_ = x - at;
    row_ops().measure_wide(x, count, d, squares_.data() + r, nonzeros_.data() + r);
    narrow_at_ = forms_.narrow ? narrow_.get() : nullptr;
    if (forms_.narrow) row_ops().narrow(NumberType::float64, x, count * d, narrow_.get() + at);
}

void LaidOut::set_traits(int from, int to) {
    const Kernel &kernel = machine_.kernel;
    bool any_far = false;
    for (int r = from; r < to; r++) norms_[r] = std::sqrt(squares_[r]);  // apart: several at once
    for (int r = from; r < to; r++) {
        const ScaleOffset terms = row_terms(kernel, squares_[r]);
        const bool far = far_out(kernel, squares_[r]);
        traits_[r] = {norms_[r], nonzeros_[r], terms.scale, terms.offset, far, false};
        if (machine_.preparation) traits_[r].reach = machine_.preparation->reach(norms_[r], reaches_[r]);
        any_far |= far;
    }
    for (int r = from; (any_far || kernel.normalized) && r < to; r++) {
        if (kernel.normalized) traits_[r].lost = lost(r);
        if (traits_[r].far) set_to_zero(r);
    }
}

bool LaidOut::lost(int r) const {
    const Kernel &kernel = machine_.kernel;
    if (forms_.listed) return norm_lost(kernel, lists_[r].values, lists_[r].count, squares_[r]);
    return wide_at_ ? norm_lost(kernel, row<double>(r), machine_.features, squares_[r])
                    : norm_lost(kernel, row<float>(r), machine_.features, squares_[r]);
}

// In arrays of our own: where rows are read in place, the block is copied first.
void LaidOut::set_to_zero(int r) {
    const ptrdiff_t d = machine_.features;
    traits_[r].nonzeros = 0;
    if (forms_.listed) return lists_.forget(r);
    if (narrow_at_ && narrow_at_ != narrow_.get()) std::copy_n(narrow_at_, count_ * d, narrow_.get());
    if (wide_at_ && wide_at_ != wide_.get()) std::copy_n(wide_at_, count_ * d, wide_.get());
    if (narrow_at_) narrow_at_ = narrow_.get();
    if (wide_at_) wide_at_ = wide_.get();
    std::fill_n(narrow_.get() + r * d, d, 0.0f);
    std::fill_n(wide_.get() + r * d, d, 0.0);
}

const double *LaidOut::before_map(const Rows &rows, ptrdiff_t from, int count, double *room) const {
    if (!machine_.preparation) return rows.wide(from, count, room);
    if (!prepare_) prepare_ = std::make_unique<Prepare>(*machine_.preparation, several_rows(machine_, capacity_));
    return prepare_->steps.run(rows.wide(from, count, prepare_->room.data()), count, from, false, most_rough());
}

const double *LaidOut::read_again(ptrdiff_t number, double *room) const {
    const double *x = before_map(*source_, number, 1, room);
    if (!machine_.center) return x;
    row_ops().map(x, 1, machine_.features, machine_.center, machine_.scale, machine_.inverse, room);
    return room;
}

void LaidOut::prepare_again(int r) {
    read_wide(numbers_[r] - r, r, 1);
    set_traits(r, r + 1);
}

void LaidOut::drop_last() {
    count_--;
    if (forms_.listed) lists_.drop_last();
}

void LaidOut::clear() {
    count_ = 0;
    if (forms_.listed) lists_.clear();
}

void LaidOut::add(const LaidOut &other, int r) {
    const ptrdiff_t d = machine_.features;
    const int at = count_++;
    source_ = other.source_;
    numbers_[at] = other.numbers_[r];
    traits_[at] = other.traits_[r];
    if (most_rough() != other.most_rough()) return prepare_again(at);
    if (forms_.listed) return lists_.append(other.lists_[r]);
    narrow_at_ = forms_.narrow ? narrow_.get() : nullptr;
    wide_at_ = forms_.wide ? wide_.get() : nullptr;
    if (traits_[at].far) return set_to_zero(at);
    const bool copied = forms_.narrow && other.narrow_at_;
    if (copied) std::copy_n(other.row<float>(r), d, narrow_.get() + at * d);
    if (copied && !forms_.wide) return;
    double *room = wide_.get() + at * d;
    const double *x = other.wide_at_ ? other.row<double>(r) : read_again(numbers_[at], room);
    if (x != room) std::copy_n(x, d, room);
    if (forms_.narrow && !copied) row_ops().narrow(NumberType::float64, room, d, narrow_.get() + at * d);
}

}  // namespace dormie
