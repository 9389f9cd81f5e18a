// The dense stage: every term of every row, in float with a rigorous radius, then in double for what that leaves open,
// and for rbf, whose exponents cancel far from the origin, by differences. What even that leaves open is for the
// source's own sum to decide (source_sum.hpp).
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "core/blocks.hpp"
#include "core/machine.hpp"
#include "core/rows.hpp"
#include "core/spare.hpp"
#include "core/threads.hpp"
#include "tiles/packed.hpp"
#include "tiles/panel.hpp"

namespace dormie {

class Dense {
  public:
    explicit Dense(const Machine &machine) : machine_(machine) {}

    const Machine &machine() const { return machine_; }

    // Lays the points out for both number types, which the first call that needs them would do.
    void prepare() const;

    // G of every row and output in double, rows x outputs. Returns the rows whose numbers leave the range of doubles:
    // nothing is known of those.
    std::vector<ptrdiff_t> outputs(const Rows &rows, Team &team, double *out) const;

    // G in T and a radius that reaches the real value, each rows x outputs.
    template <class T> void interval(const Rows &rows, Team &team, double *middle, double *radius) const;

    struct Decided {
        std::vector<uint8_t> passes;  // how often each row was evaluated; empty where all were once
        std::vector<ptrdiff_t> open;  // rows that are still `unsettled`
    };

    // The answer of every row, that of float alone unless it is to be certified. Where the outputs are the answer they
    // are in `values`, rows x outputs; else it may be null.
    Decided decide(const Rows &rows, bool certified, Team &team, int64_t *answers, double *values) const;

    // Multiply-adds of the whole call, as if no row had zeros: for the choice of how many threads to use.
    double work(ptrdiff_t n) const { return double(n) * machine_.points_count * (machine_.features + 16); }

  private:
    // How the arguments of a kernel are worked out: by inner products, or (rbf alone) by differences.
    enum class Form { products, differences };

    // The points as one form in one number type has them, laid out when first needed; and a workspace for single rows.
    template <class T> struct Layout {
        std::once_flag once;
        std::unique_ptr<Packed<T>> packed;
        Spare<Workspace<T>> spare;
    };

    // Calls finish(row number, outputs, radii, traits of the row, worker) once for each row, from the threads of the
    // team; the radii are only worked out where they are wanted.
    template <class T, bool radii, Form form = Form::products, class Finish>
    void evaluate(const Rows &rows, const std::vector<ptrdiff_t> *which, Team &team, const Finish &finish) const;
    // The two ways to share the work: blocks of rows, or the panels of points.
    template <class T, bool radii, Form form, class FinishBlock>
    void share_rows(const EqualBlocks &blocks, Team &team, const FinishBlock &finish) const;
    template <class T, bool radii, Form form, class FinishBlock>
    void share_panels(const EqualBlocks &blocks, Team &team, const FinishBlock &finish) const;
    template <class T, bool radii, Form form>
    void add(const Packed<T> &packed, ptrdiff_t panel, Workspace<T> &space, double *sums) const;
    template <class T, Form form> std::unique_ptr<Workspace<T>> make_space(int rows) const {
        return std::make_unique<Workspace<T>>(machine_, rows, form == Form::differences);
    }
    template <class T, Form form> Layout<T> &layout() const;
    template <class T, Form form> const Packed<T> &packed() const { return *layout<T, form>().packed; }

    // Whether inner products in T tell nothing of most points: of an rbf row as far out as they are, rounding may turn
    // any kernel value into any other.
    template <class T> bool points_cancel() const;
    // Whether a row's inner products lose so much that they will not do: for rbf, more than differences do; else, all.
    bool cancels(const RowTraits &row) const;
    bool is_rbf() const { return machine_.kernel.kind == KernelKind::rbf; }

    const Machine machine_;
    mutable Layout<float> float_;
    mutable Layout<double> double_, differences_;
};

}  // namespace dormie
