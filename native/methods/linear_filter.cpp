#include "methods/linear_filter.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "simd/ops.hpp"

namespace dormie {

namespace {

constexpr ptrdiff_t block_rows = 64;

}  // namespace

LinearFilter::LinearFilter(const Machine &machine, const double *vectors, const double *bias)
    : rule_(machine.rule),
      stride_(padded<double>(machine.features)),
      vectors_(size_t(machine.outputs * stride_)),
      bias_(bias, bias + machine.outputs),
      all_(machine.outputs) {
    std::iota(all_.begin(), all_.end(), 0);
    for (ptrdiff_t o = 0; o < machine.outputs; o++)
        std::copy_n(vectors + o * machine.features, machine.features, vectors_.get() + o * stride_);
}

template <class Finish> void LinearFilter::evaluate(const Rows &rows, Team &team, const Finish &finish) const {
    const int c = int(bias_.size());
    struct Space {
        Aligned<double> x;
        std::vector<double> g;
    };
    std::vector<Space> spaces(team.threads());
    auto prepare = [&](int worker) { spaces[worker] = {Aligned<double>(size_t(stride_)), std::vector<double>(c)}; };
    team.run((rows.n + block_rows - 1) / block_rows, prepare, [&](ptrdiff_t task, int worker) {
        if (rows.n > block_rows && team.should_stop()) return;
        auto &[x, g] = spaces[worker];
        for (ptrdiff_t i = task * block_rows; i < std::min(rows.n, (task + 1) * block_rows); i++) {
            const double *row = rows.row(i, x.get());
            if (row != x.get()) std::copy_n(row, rows.d, x.get());
            ops<double>().dots(x.get(), vectors_.get(), stride_, all_.data(), c, stride_, g.data());
            for (int o = 0; o < c; o++) g[o] += bias_[o];
            if (!std::all_of(g.begin(), g.end(), [](double v) { return std::isfinite(v); })) rows.require_finite(i);
            finish(i, g.data(), worker);
        }
    });
}

void LinearFilter::decide(const Rows &rows, const Thresholds &thresholds, Team &team, int64_t *answers) const {
    auto referees = for_each_thread<Referee>(team.threads(), rule_, ptrdiff_t(bias_.size()));
    evaluate(rows, team,
             [&](ptrdiff_t i, const double *g, int worker) { answers[i] = referees[worker].settle(g, thresholds); });
}

void LinearFilter::outputs(const Rows &rows, Team &team, double *out) const {
    evaluate(rows, team, [&](ptrdiff_t i, const double *g, int) { std::copy_n(g, bias_.size(), out + i * bias_.size()); });
}

}  // namespace dormie
