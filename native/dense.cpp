#include "dense.hpp"

#include <algorithm>
#include <cmath>

#include "panel.hpp"
#include "rules.hpp"

namespace dormie {

namespace {

constexpr int block_rows = 128;
constexpr int share_rows_from = 64;  // rows a thread: with fewer, fetching the points would take longer than their products
constexpr int ask_from = 8;  // rows: with fewer, a panel takes hardly longer than asking whether to stop

}  // namespace

template <> const Packed<float> &Dense::packed<float>() const {
    std::call_once(float_once_, [&] { float_ = std::make_unique<Packed<float>>(machine_); });
    return *float_;
}

template <> const Packed<double> &Dense::packed<double>() const {
    std::call_once(double_once_, [&] { double_ = std::make_unique<Packed<double>>(machine_); });
    return *double_;
}

template <> const Idle<Workspace<float>> &Dense::idle_space<float>() const { return float_idle_; }
template <> const Idle<Workspace<double>> &Dense::idle_space<double>() const { return double_idle_; }

void Dense::prepare() const {
    packed<float>();
    packed<double>();
}

template <class T, bool radii, class Finish>
void Dense::evaluate(const Rows &rows, const std::vector<ptrdiff_t> *which, Team &team, const Finish &finish) const {
    const ptrdiff_t n = which ? ptrdiff_t(which->size()) : rows.n, width = sums_width(machine_);
    if (n == 0) return;
    const Packed<T> &packed = this->packed<T>();
    const bool share_rows = team.threads() == 1 || n >= share_rows_from * team.threads();
    const ptrdiff_t share = share_rows ? (n + team.threads() - 1) / team.threads() : n;
    const ptrdiff_t most = rows_with_room(block_rows, share_rows ? width : packed.panels * width);
    const int size = int(std::min(most, share));
    std::vector<std::unique_ptr<Workspace<T>>> spaces(team.threads());
    if (size == 1) spaces[0] = idle_space<T>().take();
    auto make_space = [&](int worker) {
        if (!spaces[worker]) spaces[worker] = std::make_unique<Workspace<T>>(machine_, size);
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
    if (share_rows) {
        team.run(blocks, make_space, [&](ptrdiff_t b, int worker) {
            Workspace<T> &space = *spaces[worker];
            space.block.fill(rows, numbers, b * size, int(std::min<ptrdiff_t>(size, n - b * size)));
            std::fill(space.sums.begin(), space.sums.end(), 0.0);
            for (ptrdiff_t p = 0; p < packed.panels; p++) {
                if (space.block.count() >= ask_from && team.should_stop()) return;
                add_panel<T, radii>(machine_, packed, p, space, space.sums.data());
            }
            finish_block(b * size, space, space.sums.data(), worker);
        });
        if (size == 1) idle_space<T>().give(std::move(spaces[0]));
        return;
    }
    // Few rows: the panels are shared out, so that every point is fetched once. Each has its own sums, added up in order afterwards, so that
    // the result is the same as with one thread.
    for (ptrdiff_t b = 0; b < blocks; b++) {
        const int count = int(std::min<ptrdiff_t>(size, n - b * size));
        const ptrdiff_t step = count * width;
        std::vector<double> slots(size_t(packed.panels * step));
        auto fill_space = [&](int worker) {
            make_space(worker);
            spaces[worker]->block.fill(rows, numbers, b * size, count);
        };
        team.run(packed.panels, fill_space, [&](ptrdiff_t p, int worker) {
            if (!team.should_stop()) add_panel<T, radii>(machine_, packed, p, *spaces[worker], slots.data() + p * step);
        });
        std::vector<double> &sums = spaces[0]->sums;
        std::fill(sums.begin(), sums.end(), 0.0);
        for (ptrdiff_t p = 0; p < packed.panels; p++)
            for (ptrdiff_t i = 0; i < step; i++) sums[i] += slots[p * step + i];
        finish_block(b * size, *spaces[0], sums.data(), 0);
    }
}

void Dense::outputs(const Rows &rows, Team &team, double *out) const {
    evaluate<double, false>(rows, nullptr, team, [&](ptrdiff_t i, const double *g, const double *, int) {
        std::copy_n(g, machine_.outputs, out + i * machine_.outputs);
    });
}

template <class T> void Dense::interval(const Rows &rows, Team &team, double *middle, double *radius) const {
    evaluate<T, true>(rows, nullptr, team, [&](ptrdiff_t i, const double *g, const double *r, int) {
        std::copy_n(g, machine_.outputs, middle + i * machine_.outputs);
        std::copy_n(r, machine_.outputs, radius + i * machine_.outputs);
    });
}
template void Dense::interval<float>(const Rows &, Team &, double *, double *) const;
template void Dense::interval<double>(const Rows &, Team &, double *, double *) const;

std::vector<ptrdiff_t> Dense::decide(const Rows &rows, bool certified, Team &team, int64_t *answers,
                                     double *values) const {
    auto judges = for_each_thread<Judge>(team.threads(), machine_.rule, machine_.outputs);
    auto keep = [&](ptrdiff_t i, const double *g) {
        if (values) std::copy_n(g, machine_.outputs, values + i * machine_.outputs);
    };
    auto answer = [&](ptrdiff_t i, const double *g, const double *, int worker) {
        answers[i] = judges[worker].answer(g);
        keep(i, g);
    };
    if (!certified) {
        evaluate<float, false>(rows, nullptr, team, answer);
        return {};
    }
    evaluate<float, true>(rows, nullptr, team, [&](ptrdiff_t i, const double *g, const double *radius, int worker) {
        answers[i] = judges[worker].settle(g, radius);
        keep(i, g);
    });
    std::vector<ptrdiff_t> open;
    for (ptrdiff_t i = 0; i < rows.n; i++)
        if (answers[i] == unsettled) open.push_back(i);
    evaluate<double, false>(rows, &open, team, answer);
    return open;
}

}  // namespace dormie
