// All terms of a machine for a block of rows, panel after panel.
#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "core/interval.hpp"
#include "core/laid_out.hpp"
#include "core/machine.hpp"
#include "core/rounding.hpp"
#include "core/team.hpp"
#include "tiles/packed.hpp"
#include "tiles/panel.hpp"
#include "tiles/row_block.hpp"

namespace dormie {

// How the arguments of a kernel are worked out: by inner products, or (rbf alone) by differences.
enum class ArgumentForm { products, differences };

// A machine and its points in tiles; both outlive this.
template <class T> struct Summand {
    const Machine &machine;
    const Packed<T> &packed;
};

// The outputs and, with `radii`, what rounding may have done to each.
template <class T, bool radii, ArgumentForm form = ArgumentForm::products> class BlockSums {
  public:
    // For machines with as many features as this one, and no more outputs.
    BlockSums(const Machine &machine, int capacity)
        : rows_(machine, capacity, form == ArgumentForm::differences),
          space_(capacity),
          sums_(size_t(capacity * sums_width(machine))) {}

    // Of all rows of a block, or of some. False where the call is being given up.
    bool evaluate(const Summand<T> &of, const LaidOut &rows, Team &team) {
        rows_.arrange(rows);
        return add_panels(of, team);
    }
    bool evaluate(const Summand<T> &of, const LaidOut &rows, const int *which, int count, Team &team) {
        rows_.arrange(rows, which, count);
        return add_panels(of, team);
    }

    int count() const { return rows_.count(); }
    // Which row of the block row r is.
    int place(int r) const { return rows_.place(r); }
    const RowTraits &row(int r) const { return rows_.row(r); }
    MiddleRadius interval(int r) const {
        const double *sums = sums_.data() + r * width_;
        return {sums, sums + outputs_};
    }

  private:
    static constexpr int ask_from = 8;  // rows: with fewer, a panel takes hardly longer than asking whether to stop

    bool add_panels(const Summand<T> &of, Team &team) {
        const double *bias = of.machine.bias;
        outputs_ = of.machine.outputs;
        width_ = sums_width(of.machine);
        std::fill_n(sums_.begin(), count() * width_, 0.0);
        if (team.threads() > 1 ? !share_panels(of, team) : !add_in_order(of, team)) return false;
        for (int r = 0; r < count(); r++)
            for (ptrdiff_t o = 0; o < outputs_; o++) {
                sums_[r * width_ + o] += bias[o];
                sums_[r * width_ + outputs_ + o] += Rounding<T>::bias_error(bias[o]);
            }
        return true;
    }

    bool add_in_order(const Summand<T> &of, Team &team) {
        for (ptrdiff_t p = 0; p < of.packed.panels; p++) {
            if (count() >= ask_from && team.should_stop()) return false;
            add(of, p, space_, sums_.data());
        }
        return true;
    }

    // For a few rows: every point is fetched by one thread. Each panel has sums of its own, added up in order
    // afterwards, so that the result is the same as with one thread.
    bool share_panels(const Summand<T> &of, Team &team) {
        const ptrdiff_t step = count() * width_;
        std::vector<double> panel_sums(size_t(of.packed.panels * step));
        const auto spaces = for_each_worker(team.threads(), [&] { return PanelValues<T>(count()); });
        team.of(int(spaces.size())).share(of.packed.panels, 1, [&](ptrdiff_t p, ptrdiff_t, int worker) {
            add(of, p, spaces[size_t(worker)], panel_sums.data() + p * step);
        });
        if (team.should_stop()) return false;
        for (ptrdiff_t p = 0; p < of.packed.panels; p++)
            for (ptrdiff_t i = 0; i < step; i++) sums_[i] += panel_sums[p * step + i];
        return true;
    }

    void add(const Summand<T> &of, ptrdiff_t panel, const PanelValues<T> &space, double *sums) const {
        if constexpr (form == ArgumentForm::differences)
            add_panel_by_distances<T, radii>(of.machine, of.packed, panel, rows_, space, sums);
        else
            add_panel<T, radii>(of.machine, of.packed, panel, rows_, space, sums);
    }

    RowBlock<T> rows_;
    const PanelValues<T> space_;
    std::vector<double> sums_;
    ptrdiff_t outputs_ = 0, width_ = 0;
};

}  // namespace dormie
