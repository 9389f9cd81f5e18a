// Some of a machine's points, for sums that need no others: those with a weight in the pairs of one class, or in one
// pair.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/machine.hpp"
#include "tiles/packed.hpp"

namespace dormie {

// For each group the points that count: members[starts[k]] to members[starts[k + 1]], ascending.
struct Members {
    const int64_t *members;
    const int64_t *starts;  // groups + 1

    const int64_t *of(ptrdiff_t k) const { return members + starts[k]; }
    ptrdiff_t count(ptrdiff_t k) const { return starts[k + 1] - starts[k]; }
};

// They alone, packed. part: a machine of as many points, but without points and weights; weights: theirs, points x
// outputs of the part.
inline std::unique_ptr<const Packed<float>> pack_members(const Machine &m, Machine part, const int64_t *members,
                                                         const std::vector<double> &weights) {
    std::vector<double> points(size_t(part.points_count * m.features));
    for (ptrdiff_t i = 0; i < part.points_count; i++)
        std::copy_n(m.points + members[i] * m.features, m.features, points.data() + i * m.features);
    part.points = points.data();
    part.weights = weights.data();
    return std::make_unique<const Packed<float>>(part, false, Storage::bytes_where_exact);
}

}  // namespace dormie
