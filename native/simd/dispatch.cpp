// Which instruction set: the best this processor has, or the one DORMIE_ISA names (so that tests reach each).
#include "simd/dispatch.hpp"

#include <cstdlib>
#include <stdexcept>

#include "simd/ops.hpp"
#include "simd/processor.hpp"
#include "simd/row_ops.hpp"

namespace dormie {

#define DORMIE_DECLARE(isa)                  \
    extern const RowOps row_ops_##isa;       \
    extern const Ops<float> float_ops_##isa; \
    extern const Ops<double> double_ops_##isa;
DORMIE_DECLARE(baseline)
#ifdef DORMIE_X86_64
DORMIE_DECLARE(v3)
DORMIE_DECLARE(v4)
#endif

namespace {

struct InstructionSet {
    const char *name;
    bool supported;
    const RowOps *row_ops;
    const Ops<float> *float_ops;
    const Ops<double> *double_ops;
};

// Worst to best.
std::vector<InstructionSet> instruction_sets() {
    std::vector<InstructionSet> sets = {
        {"baseline", true, &row_ops_baseline, &float_ops_baseline, &double_ops_baseline}};
#ifdef DORMIE_X86_64
    const Processor processor;
    sets.push_back({"v3", processor.has_v3(), &row_ops_v3, &float_ops_v3, &double_ops_v3});
    sets.push_back({"v4", processor.has_v4(), &row_ops_v4, &float_ops_v4, &double_ops_v4});
#endif
    return sets;
}

InstructionSet choose() {
    const auto sets = instruction_sets();
    if (const char *forced = std::getenv("DORMIE_ISA"); forced && *forced) {
        for (const auto &set : sets)
            if (set.supported && std::string(forced) == set.name) return set;
        throw std::runtime_error("DORMIE_ISA=" + std::string(forced) +
                                 " is not an instruction set of this build that this processor has");
    }
    InstructionSet best = sets.front();
    for (const auto &set : sets)
        if (set.supported) best = set;
    return best;
}

const InstructionSet &chosen() {
    static const InstructionSet set = choose();
    return set;
}

}  // namespace

const RowOps &row_ops() { return *chosen().row_ops; }
template <> const Ops<float> &ops<float>() { return *chosen().float_ops; }
template <> const Ops<double> &ops<double>() { return *chosen().double_ops; }

std::vector<std::string> supported_instruction_sets() {
    std::vector<std::string> names;
    for (const auto &set : instruction_sets())
        if (set.supported) names.push_back(set.name);
    return names;
}

}  // namespace dormie
