// Threads that wait for work, shared by all calls of the process: they are made when first needed, and stay.
//
// A call borrows those that are idle, and works alone where none is: there are never more than the call with the most
// threads asks for, so that calls from many threads of a service do not crowd the processor. After a fork the child has
// none of its parent's threads, and makes its own.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace dormie {

// Whether this thread may throw from now on. The first throw of a thread takes a little memory for what the C++ library
// keeps for each thread, and glibc ends the process where there is none. So memory of about that size is asked for and
// given back, to a cache of this thread's own, before the thread is used.
bool can_throw();

class Pool {
  public:
    // What a borrowed thread does: task(context, number).
    using Task = void (*)(void *context, int number);

    // Borrowed threads at work on one task; join() waits for them and gives them back.
    class Lease {
      public:
        ~Lease() { join(); }
        // Starts up to `wanted` threads on task(context, 1), task(context, 2), ...; fewer where fewer are to be had.
        void start(int wanted, Task task, void *context);
        void join();

      private:
        struct Worker;
        friend class Pool;
        std::vector<Worker *> workers_;
    };

  private:
    using Worker = Lease::Worker;
    static Pool &shared();
    void take(int wanted, std::vector<Worker *> &workers);
    void give(const std::vector<Worker *> &workers);

    std::mutex mutex_;
    std::vector<Worker *> idle_;
    int made_ = 0;
};

}  // namespace dormie
