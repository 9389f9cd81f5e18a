#include "methods/dense.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/interval.hpp"
#include "core/rounding.hpp"
#include "core/rules.hpp"
#include "tiles/panel.hpp"

namespace dormie {

namespace {

constexpr int block_rows = 128;
constexpr int share_rows_from = 64;  // rows per thread: with fewer, fetching points takes longer than their products
constexpr double most_cancellation = 0x1p-40;  // in a kernel value of at most 1: then differences are worth their time
constexpr int ask_from = 8;  // rows: with fewer, a panel takes hardly longer than asking whether to stop

std::vector<ptrdiff_t> numbers_of(const std::vector<uint8_t> &marked) {
    std::vector<ptrdiff_t> numbers;
    for (size_t i = 0; i < marked.size(); i++)
        if (marked[i]) numbers.push_back(ptrdiff_t(i));
    return numbers;
}

}  // namespace

template <class T, Dense::Form form> Dense::Layout<T> &Dense::layout() const {
    auto made = [&](Layout<T> &layout, const Machine &machine) -> Layout<T> & {
        std::call_once(layout.once, [&] { layout.packed = std::make_unique<Packed<T>>(machine); });
        return layout;
    };
    if constexpr (form == Form::differences)
        return made(differences_, unscaled(machine_));
    else if constexpr (std::is_same_v<T, float>)
        return made(float_, machine_);
    else
        return made(double_, machine_);
}

void Dense::prepare() const {
    layout<float, Form::products>();
    layout<double, Form::products>();
}

template <class T, bool radii, Dense::Form form>
void Dense::add(const Packed<T> &packed, ptrdiff_t panel, Workspace<T> &space, double *sums) const {
    if constexpr (form == Form::differences)
        add_panel_by_distances<T, radii>(machine_, packed, panel, space, sums);
    else
        add_panel<T, radii>(machine_, packed, panel, space, sums);
}

template <class T, bool radii, Dense::Form form, class Finish>
void Dense::evaluate(const Rows &rows, const std::vector<ptrdiff_t> *which, Team &team, const Finish &finish) const {
    const ptrdiff_t n = which ? ptrdiff_t(which->size()) : rows.n, width = sums_width(machine_);
    const ptrdiff_t *numbers = which ? which->data() : nullptr;
    if (n == 0) return;
    auto finish_block = [&](const Workspace<T> &space, const RowRange &range, double *sums, int worker) {
        for (int r = 0; r < range.count; r++) {
            double *g = sums + r * width;
            for (ptrdiff_t o = 0; o < machine_.outputs; o++) {
                g[o] += machine_.bias[o];
                g[machine_.outputs + o] += Rounding<T>::bias_error(machine_.bias[o]);
            }
            finish(range.number(r), g, g + machine_.outputs, space.block.row(r), worker);
        }
    };
    if (team.threads() == 1 || n >= share_rows_from * team.threads()) {
        const EqualBlocks blocks(rows, numbers, n, rows_with_room(block_rows, width), team.threads());
        share_rows<T, radii, form>(blocks, team, finish_block);
    } else {
        const ptrdiff_t panels = packed<T, form>().panels;
        const EqualBlocks blocks(rows, numbers, n, rows_with_room(block_rows, panels * width), 1);
        share_panels<T, radii, form>(blocks, team, finish_block);
    }
}

template <class T, bool radii, Dense::Form form, class FinishBlock>
void Dense::share_rows(const EqualBlocks &blocks, Team &team, const FinishBlock &finish) const {
    const Layout<T> &layout = this->layout<T, form>();
    auto make = [&](int rows) { return make_space<T, form>(rows); };
    each_block(blocks, layout.spare, team, make, [&](Workspace<T> &space, const RowRange &range, int worker) {
        for (ptrdiff_t p = 0; p < layout.packed->panels; p++) {
            if (range.count >= ask_from && team.should_stop()) return;
            add<T, radii, form>(*layout.packed, p, space, space.sums.data());
        }
        finish(space, range, space.sums.data(), worker);
    });
}

// For a few rows: every point is fetched once. Each panel has sums of its own, added up in order afterwards, so that
// the result is the same as with one thread.
template <class T, bool radii, Dense::Form form, class FinishBlock>
void Dense::share_panels(const EqualBlocks &blocks, Team &team, const FinishBlock &finish) const {
    const Packed<T> &packed = this->packed<T, form>();
    std::vector<std::unique_ptr<Workspace<T>>> spaces(size_t(team.threads()));
    for (ptrdiff_t b = 0; b < blocks.count(); b++) {
        const RowRange range = blocks[b];
        const ptrdiff_t step = range.count * sums_width(machine_);
        std::vector<double> panel_sums(size_t(packed.panels * step));
        auto fill = [&](int worker) {
            if (!spaces[worker]) spaces[worker] = make_space<T, form>(blocks.largest());
            spaces[worker]->fill(range);
        };
        team.run(packed.panels, fill, [&](ptrdiff_t p, int worker) {
            if (!team.should_stop()) add<T, radii, form>(packed, p, *spaces[worker], panel_sums.data() + p * step);
        });
        std::vector<double> &sums = spaces[0]->sums;
        for (ptrdiff_t p = 0; p < packed.panels; p++)
            for (ptrdiff_t i = 0; i < step; i++) sums[i] += panel_sums[p * step + i];
        finish(*spaces[0], range, sums.data(), 0);
    }
}

template <class T> bool Dense::points_cancel() const {
    const Packed<T> &packed = this->packed<T, Form::products>();
    if (!is_rbf() || packed.panels == 0) return false;
    const PointSizes &sizes = packed.panel_sizes[packed.panels / 2];
    const double norm = sizes.norm / lane_terms(machine_.kernel, 0).scale;
    const ScaleOffset terms = row_terms(machine_.kernel, norm * norm);
    const RowTraits row{norm, machine_.features, terms.scale, terms.offset, false, false};
    return !(Rounding<T>(machine_, sizes, row).value_error() < 1);
}

bool Dense::cancels(const RowTraits &row) const {
    const double error = Rounding<double>(machine_, packed<double, Form::products>().sizes, row).value_error();
    return is_rbf() ? !(error < most_cancellation) : std::isinf(error);
}

std::vector<ptrdiff_t> Dense::outputs(const Rows &rows, Team &team, double *out) const {
    std::vector<uint8_t> poor(rows.n);
    evaluate<double, false>(rows, nullptr, team,
                            [&](ptrdiff_t i, const double *g, const double *, const RowTraits &row, int) {
                                std::copy_n(g, machine_.outputs, out + i * machine_.outputs);
                                poor[i] = cancels(row);
                            });
    std::vector<ptrdiff_t> lost = numbers_of(poor);
    if (!is_rbf()) return lost;
    evaluate<double, false, Form::differences>(
        rows, &lost, team, [&](ptrdiff_t i, const double *g, const double *, const RowTraits &row, int) {
            std::copy_n(g, machine_.outputs, out + i * machine_.outputs);
            poor[i] = row.far;
        });
    return numbers_of(poor);
}

template <class T> void Dense::interval(const Rows &rows, Team &team, double *middle, double *radius) const {
    std::vector<uint8_t> poor(rows.n);
    auto keep = [&](ptrdiff_t i, const double *g, const double *r) {
        for (ptrdiff_t o = 0; o < machine_.outputs; o++) {
            double &m = middle[i * machine_.outputs + o] = g[o], &reach = radius[i * machine_.outputs + o] = r[o];
            forget_unless_finite(m, reach);
        }
    };
    evaluate<T, true>(rows, nullptr, team,
                      [&](ptrdiff_t i, const double *g, const double *r, const RowTraits &row, int) {
                          keep(i, g, r);
                          poor[i] = std::is_same_v<T, double> && is_rbf() && !row.far && cancels(row);
                      });
    const std::vector<ptrdiff_t> again = numbers_of(poor);
    evaluate<double, true, Form::differences>(
        rows, &again, team,
        [&](ptrdiff_t i, const double *g, const double *r, const RowTraits &, int) { keep(i, g, r); });
}
template void Dense::interval<float>(const Rows &, Team &, double *, double *) const;
template void Dense::interval<double>(const Rows &, Team &, double *, double *) const;

Dense::Decided Dense::decide(const Rows &rows, bool certified, Team &team, int64_t *answers, double *values) const {
    auto judges = for_each_thread<Judge>(team.threads(), machine_.rule, machine_.outputs);
    auto keep = [&](ptrdiff_t i, const double *g) {
        if (values) std::copy_n(g, machine_.outputs, values + i * machine_.outputs);
    };
    auto settle = [&](ptrdiff_t i, const double *g, const double *radius, const RowTraits &row, int worker) {
        answers[i] = judges[worker].settle(MiddleRadius{g, radius}, machine_.margin, row.norm);
        keep(i, g);
    };
    if (!certified) {
        evaluate<float, false>(rows, nullptr, team,
                               [&](ptrdiff_t i, const double *g, const double *, const RowTraits &, int worker) {
                                   answers[i] = judges[worker].answer(g);
                                   keep(i, g);
                               });
        return {};
    }
    Decided decided;
    auto open = [&] {
        std::vector<ptrdiff_t> numbers;
        for (ptrdiff_t i = 0; i < rows.n; i++)
            if (answers[i] == unsettled) numbers.push_back(i);
        return numbers;
    };
    std::fill_n(answers, rows.n, int64_t(unsettled));
    const bool in_float = !points_cancel<float>();
    if (in_float) evaluate<float, true>(rows, nullptr, team, settle);
    decided.open = open();
    if (decided.open.empty()) return decided;
    decided.passes.assign(rows.n, in_float);
    auto again = [&](auto pass) {
        for (const ptrdiff_t i : decided.open) decided.passes[i]++;
        pass(&decided.open);
        decided.open = open();
    };
    if (!points_cancel<double>()) again([&](const auto *which) { evaluate<double, true>(rows, which, team, settle); });
    if (is_rbf())
        again([&](const auto *which) { evaluate<double, true, Form::differences>(rows, which, team, settle); });
    return decided;
}

}  // namespace dormie
