#include "methods/nearest/nearest.hpp"

#include <algorithm>
#include <limits>

namespace dormie {

void Nearest::decide(const Rows &rows, const Thresholds &thresholds, Team &team, int64_t *answers,
                     int64_t *terms) const {
    const ptrdiff_t c = comparisons();
    const Rule rule = in_pairs(machine_.rule);
    auto referees = for_each_thread<Referee>(team.threads(), rule, c);
    auto compared = for_each_thread<Comparison>(team.threads(), machine_.rule, machine_.outputs);
    std::fill_n(answers, rows.n, int64_t(unsettled));
    std::fill_n(terms, rows.n, int64_t(0));
    walk(rows, team, [&](ptrdiff_t i, ptrdiff_t cell, ptrdiff_t step, const double *g, int worker) {
        const ptrdiff_t at = (step * cells_ + cell) * c;
        answers[i] = referees[worker].settle(compared[worker](g), {thresholds.low + at, thresholds.high + at});
        terms[i] = steps_[step];
        return answers[i] != unsettled;
    });
}

void Nearest::sums(const Rows &rows, Team &team, double *out, int64_t *cells) const {
    const ptrdiff_t c = machine_.outputs;
    std::fill_n(out, rows.n * steps() * c, std::numeric_limits<double>::quiet_NaN());
    std::fill_n(cells, rows.n, int64_t(0));
    walk(rows, team, [&](ptrdiff_t i, ptrdiff_t cell, ptrdiff_t step, const double *g, int) {
        std::copy_n(g, c, out + (i * steps() + step) * c);
        cells[i] = cell;
        return false;
    });
}

bool Nearest::add_terms(const float *values, const int32_t *points, int count, Progress &at, double *g,
                        const Visit &visit, int worker) const {
    const ptrdiff_t c = machine_.outputs;
    for (int t = 0; t < count; t++) {
        const double *weights = machine_.weights + points[t] * c;
        for (ptrdiff_t o = 0; o < c; o++) g[o] += weights[o] * double(values[t]);
        if (++at.done == steps_[at.step] && visit(at.number, at.cell, at.step++, g, worker)) return true;
    }
    return false;
}

}  // namespace dormie
