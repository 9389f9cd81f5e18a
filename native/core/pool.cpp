#include "core/pool.hpp"

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>
#include <thread>

#include "core/platform.hpp"
#include "core/signal.hpp"

namespace dormie {

namespace {

enum State : uint32_t { waiting, working };

constexpr int spins = 200;  // a few microseconds

}  // namespace

bool can_throw() {
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

// Never destroyed: a thread may still be on its way out of a task when the call that borrowed it has ended.
struct Pool::Lease::Worker {
    Signal state{waiting};
    Task task = nullptr;
    void *context = nullptr;
    int number = 0;

    void work(int its_number, Task its_task, void *its_context) {
        task = its_task, context = its_context, number = its_number;
        state.set(working);
    }

    // A task that is about to end is not worth sleeping for.
    void finish() {
        for (int i = 0; i < spins && state.is(working); i++) pause();
        state.wait_while(working);
    }

    [[noreturn]] void run() {
        const bool usable = can_throw();
        while (true) {
            state.wait_while(waiting);
            if (usable) task(context, number);
            state.set(waiting);
        }
    }
};

// Never destroyed either, and made anew in a child process: whatever the parent's threads held stays as it was.
static std::atomic<Pool *> the_pool{nullptr};

Pool &Pool::shared() {
    Pool *pool = the_pool.load(std::memory_order_acquire);
    if (pool) return *pool;
    static std::once_flag once;
    std::call_once(once, [] { in_each_fork([] { the_pool.store(nullptr); }); });
    auto made = std::make_unique<Pool>();
    if (the_pool.compare_exchange_strong(pool, made.get())) return *made.release();
    return *pool;
}

void Pool::take(int wanted, std::vector<Worker *> &workers) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (; int(workers.size()) < wanted && !idle_.empty(); idle_.pop_back()) workers.push_back(idle_.back());
    while (int(workers.size()) < wanted && made_ < wanted) {
        try {
            idle_.reserve(size_t(made_) + 1);  // so that giving it back never takes memory
            auto worker = std::make_unique<Worker>();
            std::thread([w = worker.get()] { w->run(); }).detach();
            workers.push_back(worker.release());
            made_++;
        } catch (const std::exception &) {
            return;  // no memory or no thread to be had: those there are do the work
        }
    }
}

void Pool::give(const std::vector<Worker *> &workers) {
    std::lock_guard<std::mutex> lock(mutex_);
    idle_.insert(idle_.end(), workers.begin(), workers.end());
}

void Pool::Lease::start(int wanted, Task task, void *context) {
    if (wanted < 1) return;
    workers_.reserve(size_t(wanted));
    Pool::shared().take(wanted, workers_);
    for (size_t i = 0; i < workers_.size(); i++) workers_[i]->work(int(i) + 1, task, context);
}

void Pool::Lease::join() {
    if (workers_.empty()) return;
    for (Worker *worker : workers_) worker->finish();
    Pool::shared().give(workers_);
    workers_.clear();
}

}  // namespace dormie
