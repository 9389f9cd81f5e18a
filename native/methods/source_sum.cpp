#include "methods/source_sum.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

namespace dormie {

namespace {

constexpr int together = 4;  // points

}  // namespace

// What one thread needs: the row, room for its differences from a point, and kernel values.
struct SourceSum::Workspace {
    explicit Workspace(const Machine &m) : row(m.features), difference(m.features), values(m.points_count) {}

    void read(const Rows &rows, ptrdiff_t i) {
        const double *x = rows.wide(i, 1, difference.data());
        for (size_t j = 0; j < row.size(); j++) {
            if (!std::isfinite(x[j])) throw NotFinite{i, ptrdiff_t(j), x[j]};
            row[j] = x[j];
        }
    }

    std::vector<double> row, difference, values;
    double constant = 0;  // of a normalised kernel: see unit_vector
};

SourceSum::SourceSum(const Machine &machine, SourceMap map, Ddot ddot)
    : machine_(machine), map_(std::move(map)), ddot_(ddot) {
    if (!of_unit_vectors(machine_.kernel)) return;
    unit_points_.resize(size_t(machine_.points_count) * machine_.features);
    unit_constants_.resize(machine_.points_count);
    for (ptrdiff_t i = 0; i < machine_.points_count; i++)
        unit_vector(machine_.kernel, machine_.points + i * machine_.features, machine_.features,
                    unit_points_.data() + i * machine_.features, &unit_constants_[i]);
}

SourceSum::~SourceSum() = default;

void SourceSum::apply_steps(bool sparse, double *x) const {
    const ptrdiff_t d = machine_.features;
    for (size_t k = 0; k < map_.steps.size(); k++) {
        const double *value = map_.values + ptrdiff_t(k) * d;
        for (ptrdiff_t j = 0; j < d; j++) x[j] = mapped(map_.steps[k], sparse, x[j], value[j]);
    }
}

// Inner products of a row with several points, or squared distances from them, each summed from the first feature to
// the last. Side by side, so that no addition waits for the one before.
template <bool distances>
void SourceSum::arguments_in_order(const double *x, const double *s, int several, double *arguments) const {
    const ptrdiff_t d = machine_.features;
    double sums[together] = {};
    const double *points[together];
    for (int k = 0; k < together; k++) points[k] = s + (k < several ? k : 0) * d;
    for (ptrdiff_t j = 0; j < d; j++)
        for (int k = 0; k < together; k++) {
            const double factor = distances ? x[j] - points[k][j] : x[j];
            sums[k] += factor * (distances ? factor : points[k][j]);
        }
    std::copy_n(sums, several, arguments);
}

// The same by BLAS, which sums in an order of its own.
double SourceSum::argument_by_blas(Workspace &space, const double *s) const {
    int n = int(machine_.features), step = 1;
    double *x = space.row.data(), *y = const_cast<double *>(s);
    if (machine_.kernel.kind == KernelKind::rbf) {
        for (int j = 0; j < n; j++) space.difference[j] = x[j] - s[j];
        x = y = space.difference.data();
    }
    return ddot_(&n, x, &step, y, &step);
}

void SourceSum::kernel_values(Workspace &space) const {
    const double *points = unit_points_.empty() ? machine_.points : unit_points_.data();
    const bool distances = machine_.kernel.kind == KernelKind::rbf;
    for (ptrdiff_t i = 0; i < machine_.points_count; i += together) {
        const int several = int(std::min<ptrdiff_t>(together, machine_.points_count - i));
        const double *s = points + i * machine_.features;
        double *arguments = space.values.data() + i;
        if (ddot_)
            for (int k = 0; k < several; k++) arguments[k] = argument_by_blas(space, s + k * machine_.features);
        else if (distances)
            arguments_in_order<true>(space.row.data(), s, several, arguments);
        else
            arguments_in_order<false>(space.row.data(), s, several, arguments);
        for (int k = 0; k < several; k++) {
            if (!unit_points_.empty()) arguments[k] += space.constant * unit_constants_[i + k];
            arguments[k] = source_kernel_value(machine_.kernel, arguments[k]);
        }
    }
}

void SourceSum::map_row(bool sparse, Workspace &space) const {
    apply_steps(sparse, space.row.data());
    if (unit_points_.empty()) return;
    space.difference = space.row;
    unit_vector(machine_.kernel, space.difference.data(), machine_.features, space.row.data(), &space.constant);
}

void SourceSum::outputs(const Rows &rows, bool sparse, Team &team, double *out) const {
    each_row(machine_, spares_, rows.n, team, [&](ptrdiff_t i, Workspace &space) {
        space.read(rows, i);
        map_row(sparse, space);
        kernel_values(space);
        add_terms(machine_, space.values.data(), out + i * machine_.outputs);
    });
}

}  // namespace dormie
