// Something costly to make, kept from one call to the next: whoever takes it has it alone.
#pragma once
#include <memory>
#include <mutex>

namespace dormie {

template <class T> class Idle {
  public:
    std::unique_ptr<T> take() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return std::move(kept_);
    }
    void give(std::unique_ptr<T> thing) const {
        std::lock_guard<std::mutex> lock(mutex_);
        kept_ = std::move(thing);
    }

  private:
    mutable std::mutex mutex_;
    mutable std::unique_ptr<T> kept_;
};

}  // namespace dormie
