#include "methods/nearest/nearest.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "core/blocks.hpp"

namespace dormie {

class Nearest::Terms final : public Stage {
  public:
    Terms(const Nearest &nearest, const Thresholds &thresholds, std::shared_ptr<const void> owner)
        : n_(nearest), thresholds_(thresholds), owner_(std::move(owner)) {}

    const Machine &machine() const override { return n_.machine_; }
    Forms forms() const override { return {true, false}; }
    int rows_at_once() const override { return n_.rows_at_once(); }
    double work(ptrdiff_t rows) const override { return n_.work(rows); }
    std::unique_ptr<Pass> pass(int rows) const override { return std::make_unique<Walk>(*this, rows); }

  private:
    class Walk final : public Pass {
      public:
        Walk(const Terms &terms, int rows)
            : t_(terms),
              block_(t_.n_.block(rows)),
              referee_(in_pairs_, t_.n_.comparisons()),
              compared_(t_.n_.machine_.rule, t_.n_.machine_.outputs) {}

        void decide(const LaidOut &rows, Team &, const Verdicts &verdicts) override {
            const Nearest &n = t_.n_;
            std::fill_n(verdicts.answers, rows.count(), unsettled);
            std::fill_n(verdicts.evaluations, rows.count(), 0);
            block_->walk(rows, [&](int r, ptrdiff_t cell, ptrdiff_t step, const double *g) {
                const ptrdiff_t at = (step * n.cells_ + cell) * n.comparisons();
                verdicts.answers[r] =
                    referee_.settle(compared_(g), {t_.thresholds_.low + at, t_.thresholds_.high + at});
                verdicts.evaluations[r] = int32_t(n.steps_[step]);
                return verdicts.answers[r] != unsettled;
            });
        }

      private:
        const Terms &t_;
        const Rule in_pairs_ = in_pairs(t_.n_.machine_.rule);
        std::unique_ptr<Block> block_;
        Referee referee_;
        Comparison compared_;
    };

    const Nearest &n_;
    const Thresholds thresholds_;
    const std::shared_ptr<const void> owner_;
};

std::shared_ptr<const Stage> Nearest::stage(const Thresholds &thresholds, std::shared_ptr<const void> owner) const {
    return std::make_shared<Terms>(*this, thresholds, std::move(owner));
}

void Nearest::sums(const Rows &rows, Team &team, double *out, int64_t *cells) const {
    const ptrdiff_t c = machine_.outputs;
    std::fill_n(out, rows.n * steps() * c, std::numeric_limits<double>::quiet_NaN());
    std::fill_n(cells, rows.n, int64_t(0));
    auto make = [&](int count) { return block(count); };
    each_block(machine_, {true, false}, rows, rows_at_once(), team, make, [&](const LaidOut &laid_out, Block &block) {
        block.walk(laid_out, [&](int r, ptrdiff_t cell, ptrdiff_t step, const double *g) {
            const ptrdiff_t i = laid_out.number(r);
            std::copy_n(g, c, out + (i * steps() + step) * c);
            cells[i] = cell;
            return false;
        });
    });
}

bool Nearest::add_terms(const float *values, const int32_t *points, int count, Progress &at, double *g,
                        const Visit &visit) const {
    const ptrdiff_t c = machine_.outputs;
    for (int t = 0; t < count; t++) {
        const double *weights = machine_.weights + points[t] * c;
        for (ptrdiff_t o = 0; o < c; o++) g[o] += weights[o] * double(values[t]);
        if (++at.done == steps_[at.step] && visit(at.place, at.cell, at.step++, g)) return true;
    }
    return false;
}

}  // namespace dormie
