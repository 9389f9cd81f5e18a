// What the core asks of a system, and the little that differs between systems.
#pragma once
#include <bit>
#include <cfloat>
#include <limits>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace dormie {

static_assert(sizeof(void *) == 8 && sizeof(int) == 4, "dormie needs a 64-bit system: counts of terms are 64 bits");
static_assert(std::endian::native == std::endian::little, "dormie was never tried where the high byte comes first");
static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559 && FLT_EVAL_METHOD == 0,
              "the bounds on rounding are those of IEEE arithmetic, every operation rounded to its own type");

// For a loop that waits for another thread.
inline void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Has every child that is made by a fork call `child` first; nothing where there is no fork.
inline void in_each_fork([[maybe_unused]] void (*child)()) {
#if defined(__unix__) || defined(__APPLE__)
    pthread_atfork(nullptr, nullptr, child);
#endif
}

}  // namespace dormie
