#include "methods/dense.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "tiles/panel.hpp"
#include "core/rules.hpp"

namespace dormie {

namespace {

constexpr int block_rows = 128;
constexpr int share_rows_from = 64;  // rows a thread: with fewer, fetching the points would take longer than their products
constexpr double most_cancellation = 0x1p-40;  // in a kernel value of at most 1: then differences are worth their time
constexpr int ask_from = 8;  // rows: with fewer, a panel takes hardly longer than asking whether to stop

std::vector<ptrdiff_t> numbers_of(const std::vector<uint8_t> &marked) {
    std::vector<ptrdiff_t> numbers;
    for (size_t i = 0; i < marked.size(); i++)
        if (marked[i]) numbers.push_back(ptrdiff_t(i));
    return numbers;
}

}  // namespace

template <class T, Dense::Form form> const Packed<T> &Dense::packed() const {
    if constexpr (form == Form::differences) {
        std::call_once(unscaled_once_, [&] { unscaled_ = std::make_unique<Packed<T>>(unscaled(machine_)); });
        return *unscaled_;
    } else if constexpr (std::is_same_v<T, float>) {
        std::call_once(float_once_, [&] { float_ = std::make_unique<Packed<T>>(machine_); });
        return *float_;
    } else {
        std::call_once(double_once_, [&] { double_ = std::make_unique<Packed<T>>(machine_); });
        return *double_;
    }
}

// The kept one where there is one: for a single row alone.
template <class T, Dense::Form form> std::unique_ptr<Workspace<T>> Dense::take_space(int size) const {
    std::unique_ptr<Workspace<T>> kept;
    if constexpr (form == Form::products)
        if (size == 1) {
            if constexpr (std::is_same_v<T, float>)
                kept = float_idle_.take();
            else
                kept = double_idle_.take();
        }
    return kept ? std::move(kept) : std::make_unique<Workspace<T>>(machine_, size, form == Form::differences);
}

template <class T, Dense::Form form> void Dense::give_space(std::unique_ptr<Workspace<T>> space) const {
    if constexpr (form == Form::products) {
        if constexpr (std::is_same_v<T, float>)
            float_idle_.give(std::move(space));
        else
            double_idle_.give(std::move(space));
    }
}

void Dense::prepare() const {
    packed<float, Form::products>();
    packed<double, Form::products>();
}

template <class T, bool radii, Dense::Form form, class Finish>
void Dense::evaluate(const Rows &rows, const std::vector<ptrdiff_t> *which, Team &team, const Finish &finish) const {
    const ptrdiff_t n = which ? ptrdiff_t(which->size()) : rows.n, width = sums_width(machine_);
    if (n == 0) return;
    const Packed<T> &packed = this->packed<T, form>();
    const bool share_rows = team.threads() == 1 || n >= share_rows_from * team.threads();
    const ptrdiff_t share = share_rows ? (n + team.threads() - 1) / team.threads() : n;
    const ptrdiff_t most = rows_with_room(block_rows, share_rows ? width : packed.panels * width);
    const int size = int(std::min(most, share));
    std::vector<std::unique_ptr<Workspace<T>>> spaces(team.threads());
    auto make_space = [&](int worker) {
        if (!spaces[worker]) spaces[worker] = take_space<T, form>(size);
    };
    auto add = [&](ptrdiff_t panel, Workspace<T> &space, double *sums) {
        if constexpr (form == Form::differences)
            add_panel_by_distances<T, radii>(machine_, packed, panel, space, sums);
        else
            add_panel<T, radii>(machine_, packed, panel, space, sums);
    };
    auto finish_block = [&](ptrdiff_t from, const Workspace<T> &space, double *sums, int worker) {
        for (int r = 0; r < space.block.count(); r++) {
            double *g = sums + r * width;
            for (ptrdiff_t o = 0; o < machine_.outputs; o++) {
                g[o] += machine_.bias[o];
                g[machine_.outputs + o] += Rounding<T>::bias_error(machine_.bias[o]);
            }
            finish(which ? (*which)[from + r] : from + r, g, g + machine_.outputs, space.block.row(r), worker);
        }
    };
    const ptrdiff_t blocks = (n + size - 1) / size;
    const ptrdiff_t *numbers = which ? which->data() : nullptr;
    if (share_rows) {
        team.run(blocks, make_space, [&](ptrdiff_t b, int worker) {
            Workspace<T> &space = *spaces[worker];
            space.block.fill(rows, numbers, b * size, int(std::min<ptrdiff_t>(size, n - b * size)));
            std::fill(space.sums.begin(), space.sums.end(), 0.0);
            for (ptrdiff_t p = 0; p < packed.panels; p++) {
                if (space.block.count() >= ask_from && team.should_stop()) return;
                add(p, space, space.sums.data());
            }
            finish_block(b * size, space, space.sums.data(), worker);
        });
        if (size == 1) give_space<T, form>(std::move(spaces[0]));
        return;
    }
    // Few rows: the panels are shared out, so that every point is fetched once. Each has its own sums, added up in order
    // afterwards, so that the result is the same as with one thread.
    for (ptrdiff_t b = 0; b < blocks; b++) {
        const int count = int(std::min<ptrdiff_t>(size, n - b * size));
        const ptrdiff_t step = count * width;
        std::vector<double> slots(size_t(packed.panels * step));
        auto fill_space = [&](int worker) {
            make_space(worker);
            spaces[worker]->block.fill(rows, numbers, b * size, count);
        };
        team.run(packed.panels, fill_space, [&](ptrdiff_t p, int worker) {
            if (!team.should_stop()) add(p, *spaces[worker], slots.data() + p * step);
        });
        std::vector<double> &sums = spaces[0]->sums;
        std::fill(sums.begin(), sums.end(), 0.0);
        for (ptrdiff_t p = 0; p < packed.panels; p++)
            for (ptrdiff_t i = 0; i < step; i++) sums[i] += slots[p * step + i];
        finish_block(b * size, *spaces[0], sums.data(), 0);
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
    evaluate<double, false>(rows, nullptr, team, [&](ptrdiff_t i, const double *g, const double *, const RowTraits &row, int) {
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
    evaluate<T, true>(rows, nullptr, team, [&](ptrdiff_t i, const double *g, const double *r, const RowTraits &row, int) {
        keep(i, g, r);
        poor[i] = std::is_same_v<T, double> && is_rbf() && !row.far && cancels(row);
    });
    const std::vector<ptrdiff_t> again = numbers_of(poor);
    evaluate<double, true, Form::differences>(
        rows, &again, team, [&](ptrdiff_t i, const double *g, const double *r, const RowTraits &, int) { keep(i, g, r); });
}
template void Dense::interval<float>(const Rows &, Team &, double *, double *) const;
template void Dense::interval<double>(const Rows &, Team &, double *, double *) const;

Dense::Decided Dense::decide(const Rows &rows, bool certified, Team &team, int64_t *answers, double *values) const {
    auto judges = for_each_thread<Judge>(team.threads(), machine_.rule, machine_.outputs);
    auto keep = [&](ptrdiff_t i, const double *g) {
        if (values) std::copy_n(g, machine_.outputs, values + i * machine_.outputs);
    };
    auto settle = [&](ptrdiff_t i, const double *g, const double *radius, const RowTraits &row, int worker) {
        answers[i] = judges[worker].settle(g, radius, machine_.margin, row.norm);
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
    if (is_rbf()) again([&](const auto *which) { evaluate<double, true, Form::differences>(rows, which, team, settle); });
    return decided;
}

}  // namespace dormie
