// A vote's reduced set that guesses, and the points of its classes or pairs: what champion.cpp and open_pairs.cpp
// share.
#pragma once
#include <algorithm>

#include "methods/members.hpp"
#include "methods/reduced_set.hpp"
#include "python/bind.hpp"

namespace dormie {

inline void require_members(bool fits) {
    if (!fits) throw nb::value_error("the arrays of a guess and its members do not fit the machine");
}

// A reduced set of one level. size: room for its number of vectors; rho: its half-widths.
inline Vectors checked_guess(const Machine &m, const Matrix &points, const Matrix &weights, const int64_t *size,
                             const double *rho) {
    require_members(m.rule.kind == RuleKind::vote && points.shape(0) >= 1 && weights.shape(0) == points.shape(0) &&
                    ptrdiff_t(points.shape(1)) == m.features && ptrdiff_t(weights.shape(1)) == m.outputs);
    return {ptrdiff_t(points.shape(0)), 1, points.data(), size, weights.data(), rho};
}

// Before anything reads the arrays, they are known to fit. That they name all the points that count, Python checks.
inline Members checked_members(const Machine &m, ptrdiff_t groups, const Counts &members, const Counts &starts) {
    const int64_t *first = starts.data(), *end = first + starts.shape(0);
    require_members(ptrdiff_t(starts.shape(0)) == groups + 1 && *first == 0 && std::is_sorted(first, end) &&
                    *(end - 1) == int64_t(members.shape(0)));
    require_members(std::all_of(members.data(), members.data() + members.shape(0),
                                [&](int64_t i) { return i >= 0 && i < int64_t(m.points_count); }));
    return {members.data(), first};
}

}  // namespace dormie
