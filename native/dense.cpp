#include "dense.hpp"

#include <algorithm>
#include <cmath>

#include "rounding.hpp"
#include "row_block.hpp"
#include "rules.hpp"

namespace dormie {

namespace {

constexpr int block_rows = 128;

// What one thread needs to evaluate a block.
template <class T> struct Workspace {
    Workspace(const Machine &m, int rows)
        : block(m, rows),
          values(size_t(rows + ops<T>().group_rows) * panel_stride<T>),
          errors(panel_width<T>),
          sums(size_t(rows) * 2 * m.outputs) {}
    RowBlock<T> block;
    Aligned<T> values, errors;
    std::vector<double> sums;
};

// Adds one panel's terms of one row: outputs to sums[0..outputs), and in float what rounding may have done to each to
// the numbers after them. The size of the errors is summed once for all outputs of a panel, by their largest weight:
// that costs one more output, not as many again, and outputs that a panel does not touch (most, in a one-vs-one
// machine) are not charged for it.
template <class T>
void add_row(const Machine &m, const Packed<T> &packed, ptrdiff_t panel, const RowTraits &row, T *values, T *errors,
             double *sums) {
    constexpr int width = panel_width<T>;
    constexpr bool screening = sizeof(T) == 4;  // double is what the promise is stated in
    const auto &op = ops<T>();
    const KernelKind kind = m.kernel.kind;
    const int lanes = packed.tiles_of(panel) * tile_width<T>;
    const ptrdiff_t from = panel * width;
    const auto &weights = packed.panel_weights[panel];
    const Rounding<T> rounding(m, packed.panel_sizes[panel], row);
    const bool own_sizes = screening && kind == KernelKind::polynomial;
    std::fill(values + lanes, values + width, T(0));
    if (own_sizes) std::fill(errors + lanes, errors + width, T(0));
    op.kernel_values(kind, m.kernel.degree, {T(row.scale), T(row.offset), own_sizes ? rounding.slack() : T(0)},
                     packed.lane_offset.get() + from, values, own_sizes ? errors : nullptr, lanes);
    op.weigh(values, weights.weights.get(), width, weights.outputs.data(), int(weights.outputs.size()), sums);
    if (!screening) return;
    const int32_t first = 0;
    double error_sum = 0;
    if (own_sizes || kind == KernelKind::rbf)
        op.weigh(own_sizes ? errors : values, packed.largest_weight.get() + from, width, &first, 1, &error_sum);
    else
        error_sum = weights.total;
    const double error = rounding.sum_error(error_sum, weights.total, lanes);
    for (const int32_t o : weights.outputs) sums[m.outputs + o] += error;
}

template <class T>
void add_panel(const Machine &m, const Packed<T> &packed, ptrdiff_t panel, Workspace<T> &space, double *sums) {
    space.block.products(packed, panel * panel_tiles, packed.tiles_of(panel), space.values.get());
    for (int r = 0; r < space.block.count(); r++)
        add_row(m, packed, panel, space.block.row(r), space.values.get() + ptrdiff_t(r) * panel_stride<T>,
                space.errors.get(), sums + r * 2 * m.outputs);
}

}  // namespace

template <> const Packed<float> &Dense::packed<float>() const {
    std::call_once(float_once_, [&] { float_ = std::make_unique<Packed<float>>(machine_); });
    return *float_;
}

template <> const Packed<double> &Dense::packed<double>() const {
    std::call_once(double_once_, [&] { double_ = std::make_unique<Packed<double>>(machine_); });
    return *double_;
}

template <class T, class Finish>
void Dense::evaluate(const Rows &rows, const std::vector<ptrdiff_t> *which, Team &team, const Finish &finish) const {
    const ptrdiff_t n = which ? ptrdiff_t(which->size()) : rows.n, width = 2 * machine_.outputs;
    if (n == 0) return;
    const Packed<T> &packed = this->packed<T>();
    const ptrdiff_t share = (n + team.threads() - 1) / team.threads();
    const int size = int(std::min<ptrdiff_t>(block_rows, share));
    std::vector<std::unique_ptr<Workspace<T>>> spaces(team.threads());
    auto space_of = [&](int worker) -> Workspace<T> & {
        if (!spaces[worker]) spaces[worker] = std::make_unique<Workspace<T>>(machine_, size);
        return *spaces[worker];
    };
    auto finish_block = [&](ptrdiff_t from, const Workspace<T> &space, double *sums, int worker) {
        for (int r = 0; r < space.block.count(); r++) {
            double *g = sums + r * width;
            for (ptrdiff_t o = 0; o < machine_.outputs; o++) {
                g[o] += machine_.bias[o];
                g[machine_.outputs + o] += Rounding<T>::bias_error(machine_.bias[o]);
            }
            finish(which ? (*which)[from + r] : from + r, g, g + machine_.outputs, worker);
        }
    };
    const ptrdiff_t blocks = (n + size - 1) / size;
    const ptrdiff_t *numbers = which ? which->data() : nullptr;
    if (blocks >= team.threads()) {
        team.run(blocks, [&](ptrdiff_t b, int worker) {
            Workspace<T> &space = space_of(worker);
            space.block.fill(rows, numbers, b * size, int(std::min<ptrdiff_t>(size, n - b * size)));
            std::fill(space.sums.begin(), space.sums.end(), 0.0);
            for (ptrdiff_t p = 0; p < packed.panels; p++) {
                if (team.should_stop()) return;
                add_panel(machine_, packed, p, space, space.sums.data());
            }
            finish_block(b * size, space, space.sums.data(), worker);
        });
        return;
    }
    // Fewer rows than threads: the panels are shared out. Each has its own sums, added up in order afterwards, so that
    // the result is the same as with one thread.
    for (ptrdiff_t b = 0; b < blocks; b++) {
        const int count = int(std::min<ptrdiff_t>(size, n - b * size));
        const ptrdiff_t step = count * width;
        std::vector<double> slots(size_t(packed.panels * step));
        for (int worker = 0; worker < team.threads(); worker++) space_of(worker).block.fill(rows, numbers, b * size, count);
        team.run(packed.panels, [&](ptrdiff_t p, int worker) {
            if (!team.should_stop()) add_panel(machine_, packed, p, space_of(worker), slots.data() + p * step);
        });
        std::vector<double> &sums = space_of(0).sums;
        std::fill(sums.begin(), sums.end(), 0.0);
        for (ptrdiff_t p = 0; p < packed.panels; p++)
            for (ptrdiff_t i = 0; i < step; i++) sums[i] += slots[p * step + i];
        finish_block(b * size, space_of(0), sums.data(), 0);
    }
}

void Dense::outputs(const Rows &rows, Team &team, double *out) const {
    evaluate<double>(rows, nullptr, team, [&](ptrdiff_t i, const double *g, const double *, int) {
        std::copy(g, g + machine_.outputs, out + i * machine_.outputs);
    });
}

void Dense::interval(const Rows &rows, Team &team, double *middle, double *radius) const {
    evaluate<float>(rows, nullptr, team, [&](ptrdiff_t i, const double *g, const double *r, int) {
        std::copy(g, g + machine_.outputs, middle + i * machine_.outputs);
        std::copy(r, r + machine_.outputs, radius + i * machine_.outputs);
    });
}

void Dense::decide(const Rows &rows, Team &team, int32_t *answers, bool *refined) const {
    std::vector<Judge> judges(team.threads(), Judge(machine_.rule));
    evaluate<float>(rows, nullptr, team, [&](ptrdiff_t i, const double *g, const double *radius, int worker) {
        answers[i] = judges[worker].settle(g, radius);
        refined[i] = answers[i] == unsettled;
    });
    std::vector<ptrdiff_t> open;
    for (ptrdiff_t i = 0; i < rows.n; i++)
        if (refined[i]) open.push_back(i);
    evaluate<double>(rows, &open, team,
                     [&](ptrdiff_t i, const double *g, const double *, int worker) { answers[i] = judges[worker].answer(g); });
}

}  // namespace dormie
