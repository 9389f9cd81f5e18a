// A word that one thread at a time waits for and another one changes.
#pragma once
#include <atomic>
#include <cstdint>
#if defined(__GLIBCXX__) && !defined(_GLIBCXX_HAVE_PLATFORM_WAIT)
#include <condition_variable>
#include <mutex>
#define DORMIE_WAITS_BY_LOCK
#endif

namespace dormie {

#ifdef DORMIE_WAITS_BY_LOCK

// GCC 12's library without futexes, as for Windows, looks at the word before it takes the lock that wakers take, and
// may then sleep on for ever.
class Signal {
  public:
    explicit Signal(uint32_t value) : value_(value) {}
    bool is(uint32_t value) const { return value_.load(std::memory_order_acquire) == value; }
    void set(uint32_t value) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            value_.store(value, std::memory_order_release);
        }
        changed_.notify_one();
    }
    void wait_while(uint32_t value) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return !is(value); });
    }

  private:
    std::atomic<uint32_t> value_;
    std::mutex mutex_;
    std::condition_variable changed_;
};

#else

class Signal {
  public:
    explicit Signal(uint32_t value) : value_(value) {}
    bool is(uint32_t value) const { return value_.load(std::memory_order_acquire) == value; }
    void set(uint32_t value) {
        value_.store(value);  // sequentially consistent: a weaker store may come after the look for waiters
        value_.notify_one();
    }
    void wait_while(uint32_t value) const {
        while (is(value)) value_.wait(value, std::memory_order_acquire);
    }

  private:
    std::atomic<uint32_t> value_;
};

#endif

}  // namespace dormie
