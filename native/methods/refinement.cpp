#include "methods/refinement.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/blocks.hpp"
#include "simd/ops.hpp"
#include "tiles/block_sums.hpp"

namespace dormie {

namespace {

constexpr int block_rows = 128;

// An rbf machine with few features and one output of each set: Ops::rbf_sums has both sums in one pass.
bool in_one_pass(const Machine &sets) {
    return sets.kernel.kind == KernelKind::rbf && sets.outputs == 2 && sets.features <= chunk;
}

}  // namespace

// The outputs of both sets, for the rows of a block.
class Refinement::Sums {
  public:
    Sums(const Refinement &of, int rows)
        : of_{of.sets_, of.packed_}, sums_(of.sets_, rows), row_(size_t(of.sets_.outputs)) {
        if (!in_one_pass(of.sets_)) return;
        offset_.resize(size_t(rows));
        for (auto &sums : one_pass_) sums.resize(size_t(rows));
    }

    // False where the call is being given up.
    bool evaluate(const LaidOut &rows, Team &team) {
        in_one_pass_ = !offset_.empty() && team.threads() == 1;
        if (!in_one_pass_) return sums_.evaluate(of_, rows, team);
        add_in_one_pass(rows);
        return true;
    }

    const double *of(int r) {
        if (!in_one_pass_) return sums_.interval(r).middle;
        for (size_t o = 0; o < 2; o++) row_[o] = one_pass_[o][size_t(r)] + of_.machine.bias[o];
        return row_.data();
    }

  private:
    void add_in_one_pass(const LaidOut &rows) {
        const int n = rows.count();
        for (int r = 0; r < n; r++) offset_[size_t(r)] = float(rows.traits(r).offset);
        for (auto &sums : one_pass_) std::fill(sums.begin(), sums.end(), 0.0);
        const FewRows<float> few{rows.row<float>(0), offset_.data(), of_.machine.features, n};
        for (ptrdiff_t p = 0; p < of_.packed.panels; p++) {
            const LaneWeights<float> weights = of_.packed.panel_weights[size_t(p)].all();
            if (weights.outputs == 0) continue;  // all weights are 0
            const bool both = weights.outputs == 2;
            const ptrdiff_t at = p * panel_tiles;
            ops<float>().rbf_sums(few,
                                  {of_.packed.tile(at), of_.packed.tile_stride, of_.packed.tiles_of(p),
                                   of_.packed.lane_offset.get() + p * panel_width<float>, weights.weights,
                                   weights.weights + panel_width<float>},
                                  one_pass_[weights.slots[0]].data(),
                                  both ? one_pass_[weights.slots[1]].data() : nullptr);
        }
    }

    const Summand<float> of_;
    BlockSums<float, false> sums_;
    std::vector<float> offset_;
    std::vector<double> one_pass_[2], row_;
    bool in_one_pass_ = false;
};

class Refinement::Steps final : public Stage {
  public:
    Steps(const Refinement &of, double caution, std::shared_ptr<const void> owner)
        : of_(of), caution_(caution), owner_(std::move(owner)) {}

    const Machine &machine() const override { return of_.machine_; }
    Forms forms() const override { return {true, false}; }
    int rows_at_once() const override { return of_.rows_at_once(); }
    double work(ptrdiff_t rows) const override { return of_.work(rows); }
    std::unique_ptr<Pass> pass(int rows) const override { return std::make_unique<Walk>(*this, rows); }

  private:
    class Walk final : public Pass {
      public:
        Walk(const Steps &steps, int rows) : s_(steps), sums_(steps.of_, rows) {}

        void decide(const LaidOut &rows, Team &team, const Verdicts &verdicts) override {
            const ptrdiff_t c = s_.of_.machine_.outputs;
            std::fill_n(verdicts.evaluations, rows.count(), int32_t(s_.of_.sets_.points_count));
            if (!sums_.evaluate(rows, team)) return;
            for (int r = 0; r < rows.count(); r++) {
                const double *outputs = sums_.of(r);
                verdicts.answers[r] = s_.of_.settles(s_.caution_, outputs) ? 0 : unsettled;
                verdicts.keep(r, outputs + c, c);
            }
        }

      private:
        const Steps &s_;
        Sums sums_;
    };

    const Refinement &of_;
    const double caution_;
    const std::shared_ptr<const void> owner_;
};

std::shared_ptr<const Stage> Refinement::stage(double caution, std::shared_ptr<const void> owner) const {
    return std::make_shared<Steps>(*this, caution, std::move(owner));
}

void Refinement::outputs(const Rows &rows, Team &team, double *to) const {
    auto make = [&](int count) { return std::make_unique<Sums>(*this, count); };
    each_block(machine_, {true, false}, rows, rows_at_once(), team, make, [&](const LaidOut &block, Sums &sums) {
        Team alone = team.of(1);
        if (!sums.evaluate(block, alone)) return;
        for (int r = 0; r < block.count(); r++)
            std::copy_n(sums.of(r), sets_.outputs, to + block.number(r) * sets_.outputs);
    });
}

double Refinement::work(ptrdiff_t n) const {
    const double d = double(machine_.features), values = double(sets_.points_count);
    return double(n) * (values * (d + double(sets_.outputs) + 16) + d * reading_a_number);
}

int Refinement::rows_at_once() const {
    return rows_with_room(block_rows, std::max(sums_width(sets_), machine_.features));
}

// Outputs that are not finite leave the row open: a step that is infinite or NaN is never small.
bool Refinement::settles(double caution, const double *outputs) const {
    const ptrdiff_t c = machine_.outputs;
    double step = 0;
    for (ptrdiff_t o = 0; o < c; o++) {
        if (!std::isfinite(outputs[c + o])) return false;
        step = std::max(step, std::abs(outputs[c + o] - outputs[o]));
    }
    return caution * (slope_ * step + floor_) <= machine_.rule.tolerance;
}

}  // namespace dormie
