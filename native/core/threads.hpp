// Work shared by a few threads that live for one call: nothing is left running afterwards, so a forked process never
// inherits a pool whose threads are gone. The calling thread works too, and asks now and then whether to stop.
//
// Where memory is short there are fewer threads, and in the end std::bad_alloc in the calling thread: never an abort.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace dormie {

// Thrown in the calling thread when `interrupted` said so.
struct Interrupted {};

// Whether this thread may throw from now on. The first throw of a thread takes a little memory for what the C++ library
// keeps for each thread, and glibc ends the process where there is none. So memory of about that size is asked for and
// given back, to a cache of this thread's own, while a thread that gets none may still leave its work to the others.
inline bool can_throw() {
    constexpr size_t sizes = 16;
    void *volatile parts[sizes];  // volatile: a compiler may leave out memory that nobody uses
    bool all = true;
    for (size_t i = 0; i < sizes; i++) {
        parts[i] = std::malloc(16 * (i + 1));
        all = all && parts[i];
    }
    for (size_t i = 0; i < sizes; i++) std::free(parts[i]);
    return all && std::uncaught_exceptions() == 0;
}

// One for each thread, none of them copied.
template <class T, class... Args> std::vector<T> for_each_thread(int threads, const Args &...args) {
    std::vector<T> made;
    made.reserve(size_t(threads));
    for (int i = 0; i < threads; i++) made.emplace_back(args...);
    return made;
}

class Team {
  public:
    // interrupted: called from the calling thread only, about ten times a second; true means stop.
    Team(int threads, std::function<bool()> interrupted)
        : threads_(threads), interrupted_(std::move(interrupted)), caller_(std::this_thread::get_id()) {}

    // Runs work(task, worker) for every task below `tasks`, each once, in any order; worker < threads() tells the
    // threads apart. Before that, prepare(worker) makes the memory of each, in this thread: where there is too little
    // for all, fewer of them work. The first exception is thrown again here.
    template <class Prepare, class Work> void run(ptrdiff_t tasks, const Prepare &prepare, const Work &work) {
        const int workers = prepared(int(std::clamp<ptrdiff_t>(tasks, 1, threads_)), prepare);
        next_ = 0;
        auto share = [&](int worker) {
            if (worker > 0 && !can_throw()) return;
            try {
                for (ptrdiff_t task = next_++; task < tasks && !stop_; task = next_++) work(task, worker);
            } catch (...) {
                fail(std::current_exception());
            }
        };
        std::vector<std::thread> others;
        others.reserve(size_t(workers - 1));  // no growth, which might throw, once threads are running
        for (int worker = 1; worker < workers; worker++) {
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
    // How many workers there is memory for: at least one, or std::bad_alloc.
    template <class Prepare> static int prepared(int workers, const Prepare &prepare) {
        prepare(0);
        for (int worker = 1; worker < workers; worker++) {
            try {
                prepare(worker);
            } catch (const std::bad_alloc &) {
                return worker;
            }
        }
        return workers;
    }

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
