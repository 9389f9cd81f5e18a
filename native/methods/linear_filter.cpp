#include "methods/linear_filter.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/blocks.hpp"
#include "simd/ops.hpp"

namespace dormie {

namespace {

constexpr int block_rows = 128;

int rows_at_once(const Machine &m) { return rows_with_room(block_rows, m.features); }

}  // namespace

// The row at hand and its outputs.
class LinearFilter::Block {
  public:
    explicit Block(const LinearFilter &filter) : f_(filter), x_(size_t(f_.stride_)), g_(f_.bias_.size()) {}

    const double *outputs(const LaidOut &rows, int r) {
        const int c = int(g_.size());
        std::copy_n(rows.row<double>(r), f_.machine_.features, x_.get());
        ops<double>().dots(x_.get(), f_.vectors_.get(), f_.stride_, f_.all_.data(), c, f_.stride_, g_.data());
        for (int o = 0; o < c; o++) g_[o] += f_.bias_[o];
        return g_.data();
    }

  private:
    const LinearFilter &f_;
    Aligned<double> x_;
    std::vector<double> g_;
};

// What the input map does to rows is taken back in the vectors.
LinearFilter::LinearFilter(const Machine &machine, const double *vectors, const double *bias)
    : machine_(machine),
      stride_(padded<double>(machine.features)),
      vectors_(size_t(machine.outputs * stride_)),
      bias_(bias, bias + machine.outputs),
      all_(machine.outputs) {
    std::iota(all_.begin(), all_.end(), 0);
    for (ptrdiff_t o = 0; o < machine.outputs; o++)
        for (ptrdiff_t j = 0; j < machine.features; j++) {
            const double weight = vectors[o * machine.features + j];
            vectors_[o * stride_ + j] = machine.center ? weight * machine.scale[j] : weight;
            if (machine.center) bias_[o] += weight * machine.center[j];
        }
}

class LinearFilter::Filter final : public Stage {
  public:
    Filter(const LinearFilter &filter, const Thresholds &thresholds, std::shared_ptr<const void> owner)
        : f_(filter), thresholds_(thresholds), owner_(std::move(owner)) {}

    const Machine &machine() const override { return f_.machine_; }
    Forms forms() const override { return {false, true}; }
    int rows_at_once() const override { return dormie::rows_at_once(f_.machine_); }
    double work(ptrdiff_t rows) const override { return f_.work(rows); }
    std::unique_ptr<Pass> pass(int) const override { return std::make_unique<Signs>(*this); }

  private:
    class Signs final : public Pass {
      public:
        explicit Signs(const Filter &filter)
            : f_(filter), block_(f_.f_), referee_(f_.f_.machine_.rule, f_.f_.machine_.outputs) {}

        void decide(const LaidOut &rows, Team &, const Verdicts &verdicts) override {
            std::fill_n(verdicts.evaluations, rows.count(), int32_t(f_.f_.machine_.outputs));
            for (int r = 0; r < rows.count(); r++) {
                const bool known = !rows.traits(r).far;  // of a row so far out no coordinates are kept
                verdicts.answers[r] = known ? referee_.settle(block_.outputs(rows, r), f_.thresholds_) : unsettled;
            }
        }

      private:
        const Filter &f_;
        Block block_;
        Referee referee_;
    };

    const LinearFilter &f_;
    const Thresholds thresholds_;
    const std::shared_ptr<const void> owner_;
};

std::shared_ptr<const Stage> LinearFilter::stage(const Thresholds &thresholds,
                                                 std::shared_ptr<const void> owner) const {
    return std::make_shared<Filter>(*this, thresholds, std::move(owner));
}

void LinearFilter::outputs(const Rows &rows, Team &team, double *out) const {
    const ptrdiff_t c = machine_.outputs;
    auto make = [&](int) { return std::make_unique<Block>(*this); };
    each_block(machine_, {false, true}, rows, rows_at_once(machine_), team, make,
               [&](const LaidOut &laid_out, Block &block) {
                   for (int r = 0; r < laid_out.count(); r++)
                       std::copy_n(block.outputs(laid_out, r), c, out + laid_out.number(r) * c);
               });
}

}  // namespace dormie
