// Work shared by a few threads that live for one call: nothing is left running afterwards, so a forked process never
// inherits a pool whose threads are gone. The calling thread works too, and asks now and then whether to stop.
#pragma once
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dormie {

// Thrown in the calling thread when `interrupted` said so.
struct Interrupted {};

class Team {
  public:
    // interrupted: called from the calling thread only, about ten times a second; true means stop.
    Team(int threads, std::function<bool()> interrupted)
        : threads_(threads), interrupted_(std::move(interrupted)), caller_(std::this_thread::get_id()) {}

    // Runs work(task, worker) for every task below `tasks`, each once, in any order; worker < threads() tells the
    // threads apart. The first exception is thrown again here.
    template <class Work> void run(ptrdiff_t tasks, const Work &work) {
        next_ = 0;
        auto share = [&](int worker) {
            try {
                for (ptrdiff_t task = next_++; task < tasks && !stop_; task = next_++) work(task, worker);
            } catch (...) {
                fail(std::current_exception());
            }
        };
        std::vector<std::thread> others;
        others.reserve(size_t(threads_));  // no growth, which might throw, once threads are running
        for (int worker = 1; worker < threads_ && worker < tasks; worker++) {
            try {
                others.emplace_back(share, worker);
            } catch (const std::exception &) {
                break;  // no thread to be had: those there are do the work
            }
        }
        share(0);
        for (auto &thread : others) thread.join();
        if (failure_) std::rethrow_exception(failure_);
    }

    // To be called often inside long tasks. True: leave the task, the call is being given up.
    bool should_stop() {
        if (std::this_thread::get_id() == caller_) ask();
        return stop_;
    }

    int threads() const { return threads_; }

  private:
    void ask() {
        const auto now = std::chrono::steady_clock::now();
        if (now - asked_ < std::chrono::milliseconds(100)) return;
        asked_ = now;
        if (interrupted_()) fail(std::make_exception_ptr(Interrupted{}));
    }

    void fail(std::exception_ptr failure) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!failure_) failure_ = failure;
        stop_ = true;
    }

    const int threads_;
    const std::function<bool()> interrupted_;
    const std::thread::id caller_;
    std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
    std::atomic<ptrdiff_t> next_{0};
    std::atomic<bool> stop_{false};
    std::mutex mutex_;
    std::exception_ptr failure_;
};

}  // namespace dormie
