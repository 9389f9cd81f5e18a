// Memory for vectors: on a cache line boundary, and zeroed, unless it will be written before it is read: then its pages
// belong to the thread that first writes them, and cost nothing if none does.
#pragma once
#include <cstddef>
#include <memory>
#include <new>

namespace dormie {

template <class T> class Aligned {
  public:
    Aligned() = default;
    explicit Aligned(size_t n) : Aligned(unwritten(n)) {
        for (size_t i = 0; i < n; i++) data_[i] = T(0);
    }
    static Aligned unwritten(size_t n) {
        const size_t bytes = (n * sizeof(T) + 63) / 64 * 64;
        Aligned made;
        made.data_.reset(static_cast<T *>(::operator new(bytes ? bytes : 64, line)));
        return made;
    }
    T *get() const { return data_.get(); }
    T &operator[](size_t i) const { return data_[i]; }

  private:
    static constexpr std::align_val_t line{64};
    struct Free {
        void operator()(T *p) const { ::operator delete(p, line); }
    };
    std::unique_ptr<T[], Free> data_;
};

}  // namespace dormie
