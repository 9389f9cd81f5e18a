#include "methods/linear_filter.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "core/blocks.hpp"
#include "simd/ops.hpp"

namespace dormie {

namespace {

constexpr ptrdiff_t block_rows = 64;

}  // namespace

// The row at hand and its outputs.
class LinearFilter::Block {
  public:
    explicit Block(const LinearFilter &filter) : f_(filter), x_(size_t(f_.stride_)), g_(f_.bias_.size()) {}

    void fill(const RowRange &) {}  // each row is read when its turn comes, and judged while its numbers are at hand

    const double *outputs(const Rows &rows, ptrdiff_t i) {
        const int c = int(g_.size());
        const double *row = rows.row(i, x_.get());
        if (row != x_.get()) std::copy_n(row, rows.d, x_.get());
        ops<double>().dots(x_.get(), f_.vectors_.get(), f_.stride_, f_.all_.data(), c, f_.stride_, g_.data());
        for (int o = 0; o < c; o++) g_[o] += f_.bias_[o];
        if (!std::all_of(g_.begin(), g_.end(), [](double v) { return std::isfinite(v); })) rows.require_finite(i);
        return g_.data();
    }

  private:
    const LinearFilter &f_;
    Aligned<double> x_;
    std::vector<double> g_;
};

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

LinearFilter::~LinearFilter() = default;

template <class Finish> void LinearFilter::evaluate(const Rows &rows, Team &team, const Finish &finish) const {
    const EqualBlocks blocks(rows, block_rows, team.threads());
    auto make = [&](int) { return std::make_unique<Block>(*this); };
    each_block(blocks, spare_, team, make, [&](Block &block, const RowRange &range, int worker) {
        for (int r = 0; r < range.count; r++) finish(range.number(r), block.outputs(rows, range.number(r)), worker);
    });
}

void LinearFilter::decide(const Rows &rows, const Thresholds &thresholds, Team &team, int64_t *answers) const {
    auto referees = for_each_thread<Referee>(team.threads(), rule_, ptrdiff_t(bias_.size()));
    evaluate(rows, team,
             [&](ptrdiff_t i, const double *g, int worker) { answers[i] = referees[worker].settle(g, thresholds); });
}

void LinearFilter::outputs(const Rows &rows, Team &team, double *out) const {
    evaluate(rows, team,
             [&](ptrdiff_t i, const double *g, int) { std::copy_n(g, bias_.size(), out + i * bias_.size()); });
}

}  // namespace dormie
