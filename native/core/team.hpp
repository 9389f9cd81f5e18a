// One call into the core: its threads, and whether it is to stop.
//
// Where memory is short there are fewer threads, and in the end std::bad_alloc in the calling thread: never an abort.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "core/pool.hpp"

namespace dormie {

// A multiply-add takes about 20 ps: below this many for each thread, waking another costs more than it saves.
inline constexpr double work_per_thread = 1e6;

// Thrown in the calling thread when `interrupted` said so.
struct Interrupted {};

// Whether a call is to stop, and why. One for each call; its threads share it.
class Call {
  public:
    // interrupted: called from the calling thread only, at most ten times a second; true means stop.
    explicit Call(bool (*interrupted)()) : interrupted_(interrupted), caller_(std::this_thread::get_id()) {}

    // To be called often inside long tasks. True: leave the task, the call is being given up.
    bool should_stop() {
        if (std::this_thread::get_id() == caller_ && ++times_ % every == 0) ask();
        return stop_.load(std::memory_order_relaxed);
    }

    // Notes the exception that is being handled: the first is thrown again by `rethrow`.
    void fail(std::exception_ptr failure) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!failure_) failure_ = failure;
        stop_ = true;
    }

    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    void ask() {
        const auto now = std::chrono::steady_clock::now();
        const bool first = times_ == every;
        if (!first && now - asked_ < std::chrono::milliseconds(100)) return;
        asked_ = now;
        if (!first && interrupted_()) fail(std::make_exception_ptr(Interrupted{}));
    }

    // How often to look at the clock: a row or two end before the first time, and looking takes a part of theirs.
    static constexpr unsigned every = 8;

    bool (*const interrupted_)();
    const std::thread::id caller_;
    unsigned times_ = 0;
    std::chrono::steady_clock::time_point asked_;  // when it was asked, or looked at first
    std::atomic<bool> stop_{false};
    std::mutex mutex_;
    std::exception_ptr failure_;
};

// Some threads at the work of a call. The calling thread is one of them.
class Team {
  public:
    Team(Call &call, int threads) : call_(call), threads_(threads) {}

    int threads() const { return threads_; }
    // How many of them are worth waking for so many multiply-adds.
    int threads_for(double multiply_adds) const {
        return std::max(1, int(std::min<double>(threads_, multiply_adds / work_per_thread)));
    }
    // A team of the first few.
    Team of(int threads) const { return {call_, threads}; }
    bool should_stop() const { return call_.should_stop(); }

    // Runs work(from, to, worker) for pieces of 0 .. count, in any order; worker < threads() tells the threads apart.
    // Then end(worker), once in each. The first exception is thrown again here. A piece is several times `unit`, at
    // most `most`; towards the end it is `unit`, so that no thread waits long for another.
    template <class Work, class End>
    void share(ptrdiff_t count, ptrdiff_t unit, ptrdiff_t most, const Work &work, const End &end) {
        std::atomic<ptrdiff_t> next{0};
        run(int(std::min<ptrdiff_t>(threads_, (count + unit - 1) / unit)), [&](int worker) {
            for (ptrdiff_t from = next.load(); from < count; from = next.load()) {
                const ptrdiff_t fair = (count - from) / (unit * threads_ * pieces_left);
                const ptrdiff_t to = std::min(from + unit * std::clamp<ptrdiff_t>(fair, 1, most / unit), count);
                if (!next.compare_exchange_weak(from, to)) continue;
                if (call_.should_stop()) return;
                work(from, to, worker);
            }
            end(worker);
        });
    }
    // In pieces of one size.
    template <class Work> void share(ptrdiff_t count, ptrdiff_t unit, const Work &work) {
        share(count, unit, unit, work, [](int) {});
    }

    // Runs work(worker) in up to so many threads at once.
    template <class Work> void run(int workers, const Work &work) {
        struct Context {
            Call &call;
            const Work &work;
        } context{call_, work};
        const Pool::Task task = [](void *data, int worker) {
            auto &[call, its_work] = *static_cast<Context *>(data);
            try {
                its_work(worker);
            } catch (...) {
                call.fail(std::current_exception());
            }
        };
        {
            Pool::Lease lease;
            lease.start(workers - 1, task, &context);
            task(&context, 0);
        }
        call_.rethrow();
    }

  private:
    static constexpr ptrdiff_t pieces_left = 2;  // for each thread: a piece is this part of what is left

    Call &call_;
    const int threads_;
};

// One for each of up to `most` workers, as far as there is memory: at least one, or std::bad_alloc. Made in the calling
// thread, so that no other runs out of memory.
template <class Make> auto for_each_worker(int most, const Make &make) {
    std::vector<decltype(make())> made;
    made.reserve(size_t(most));
    made.push_back(make());
    while (int(made.size()) < most) {
        try {
            made.push_back(make());
        } catch (const std::bad_alloc &) {
            break;
        }
    }
    return made;
}

}  // namespace dormie
