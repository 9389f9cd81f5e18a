// Which levels of x86-64 this processor and its operating system have: as the psABI defines v3 and v4, since that is
// what tile.cpp is compiled for. Asked of the processor itself: the compilers' own tests need a library that Clang
// does not link on Windows.
#pragma once
#if defined(DORMIE_X86_64)
#include <cpuid.h>

#include <cstdint>

namespace dormie {

class Processor {
  public:
    Processor() {
        unsigned a, b, c, d;
        if (__get_cpuid(1, &a, &b, &c, &d)) features_ = c;
        if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) more_ = b;
        if (__get_cpuid(0x80000001, &a, &b, &c, &d)) extended_ = c;
        if (has(features_, {27})) saved_ = saved_registers();
    }

    // AVX, AVX2, FMA, F16C, MOVBE, BMI, BMI2, LZCNT; and their registers are kept when threads take turns.
    bool has_v3() const {
        return has(features_, {12, 22, 28, 29}) && has(more_, {3, 5, 8}) && has(extended_, {5}) && has(saved_, {1, 2});
    }
    // AVX-512 F, DQ, CD, BW, VL.
    bool has_v4() const { return has_v3() && has(more_, {16, 17, 28, 30, 31}) && has(saved_, {5, 6, 7}); }

  private:
    template <int n> static bool has(uint32_t word, const int (&bits)[n]) {
        for (const int bit : bits)
            if (!(word >> bit & 1)) return false;
        return true;
    }

    // Which registers the operating system saves.
    static uint32_t saved_registers() {
        uint32_t low, high;
        asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        return low;
    }

    uint32_t features_ = 0, more_ = 0, extended_ = 0, saved_ = 0;
};

}  // namespace dormie
#endif
