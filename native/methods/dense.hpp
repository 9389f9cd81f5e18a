// The dense stage: every term of every row, in float with a rigorous radius, then in double for what that leaves open,
// and for radial kernels, whose exponents cancel far from the origin, by differences. What even that leaves open is for
// the source's own sum to decide (source_sum.hpp).
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/stage.hpp"
#include "core/team.hpp"
#include "methods/full_sum.hpp"
#include "tiles/block_sums.hpp"
#include "tiles/packed.hpp"

namespace dormie {

class Dense {
  public:
    explicit Dense(const Machine &machine) : machine_(machine), values_(with_values(machine)) {}

    const Machine &machine() const { return machine_; }
    const Machine &values_machine() const { return values_; }

    // Lays the points out for both number types, which the first call that needs them would do.
    void prepare() const;

    // What decides rows, one after the other: certified in float, double and by differences; or by float alone; or in
    // double, with the outputs as answers whatever the rule is, for rows whose numbers stay in range. Those are the
    // answers of float, too, if `outputs` are asked for. They keep `owner`, which has this, alive.
    std::vector<std::shared_ptr<const Stage>> certified_stages(std::shared_ptr<const void> owner) const;
    std::vector<std::shared_ptr<const Stage>> float_stages(std::shared_ptr<const void> owner, bool outputs) const;
    std::vector<std::shared_ptr<const Stage>> output_stages(std::shared_ptr<const void> owner) const;

    // G in T and a radius that reaches the real value, each rows x outputs; in double, by differences where products
    // lose more than those.
    template <class T> void interval(const Rows &rows, Team &team, double *middle, double *radius) const;

    // Multiply-adds of the whole call, as if no row had zeros: for the choice of how many threads to use.
    double work(ptrdiff_t n) const {
        return double(n) * double(machine_.points_count) * double(machine_.features + 16);
    }

    // The points in tiles, as one form in one number type has them, laid out when first needed.
    template <class T, ArgumentForm form> const Packed<T> &packed() const;

    // Whether a row's inner products lose so much that they will not do: see products_cancel.
    bool cancels(const RowTraits &row) const;
    bool has_both_forms() const { return dormie::has_both_forms(machine_.kernel); }

  private:
    template <class T> struct Layout {
        std::once_flag once;
        std::unique_ptr<Packed<T>> packed;
    };

    // Whether inner products in T tell nothing of most points: of a row of a radial kernel as far out as they are,
    // rounding may turn any kernel value into any other.
    template <class T> bool points_cancel() const;

    const Machine machine_, values_;
    mutable Layout<float> float_;
    mutable Layout<double> double_, differences_;
};

}  // namespace dormie
