// Memory for vectors: on a cache line boundary, and zeroed.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace dormie {

template <class T> class Aligned {
  public:
    Aligned() = default;
    explicit Aligned(size_t n) {
        const size_t bytes = (n * sizeof(T) + 63) / 64 * 64;
        data_.reset(static_cast<T *>(std::aligned_alloc(64, bytes ? bytes : 64)));
        if (!data_) throw std::bad_alloc();
        for (size_t i = 0; i < n; i++) data_[i] = T(0);
    }
    T *get() const { return data_.get(); }
    T &operator[](size_t i) const { return data_[i]; }

  private:
    struct Free {
        void operator()(T *p) const { std::free(p); }
    };
    std::unique_ptr<T[], Free> data_;
};

}  // namespace dormie
