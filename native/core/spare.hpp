// One workspace kept from one call to the next: for a single row, making a workspace can be half the work.
#pragma once
#include <memory>
#include <mutex>

namespace dormie {

// Safe to share between threads: whoever takes the workspace has it alone.
template <class T> class Spare {
  public:
    // The workspace, or null where there is none or another call has it.
    std::unique_ptr<T> take() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return std::move(kept_);
    }
    void give(std::unique_ptr<T> workspace) const {
        std::lock_guard<std::mutex> lock(mutex_);
        kept_ = std::move(workspace);
    }

  private:
    mutable std::mutex mutex_;
    mutable std::unique_ptr<T> kept_;
};

}  // namespace dormie
