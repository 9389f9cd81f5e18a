// Workspaces kept from one call to the next: for a single row, making a workspace can be most of the work.
#pragma once
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace dormie {

// Safe to share between threads, whoever takes a workspace has it alone; and safe in a child process, where a lock that
// another thread of the parent held is never opened: nobody waits for it.
template <class T> class Spares {
  public:
    // A workspace, or null where there is none to spare.
    std::unique_ptr<T> take() const {
        const std::unique_lock<std::mutex> lock = tried();
        if (!lock || kept_.empty()) return nullptr;
        std::unique_ptr<T> workspace = std::move(kept_.back());
        kept_.pop_back();
        return workspace;
    }
    void give(std::unique_ptr<T> workspace) const noexcept try {
        const std::unique_lock<std::mutex> lock = tried();
        if (lock) kept_.push_back(std::move(workspace));
    } catch (const std::bad_alloc &) {  // then it is not kept
    }

  private:
    static constexpr int tries = 100;  // far more than it takes another thread to open the lock again

    std::unique_lock<std::mutex> tried() const {
        std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        for (int i = 0; i < tries && !lock; i++) lock.try_lock();
        return lock;
    }

    mutable std::mutex mutex_;
    mutable std::vector<std::unique_ptr<T>> kept_;
};

}  // namespace dormie
