// What this processor can run, for build_info and the tests; ops() itself is declared in ops.hpp.
#pragma once
#include <string>
#include <vector>

namespace dormie {
std::vector<std::string> supported_instruction_sets();
}
