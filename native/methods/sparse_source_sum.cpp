#include "methods/sparse_source_sum.hpp"

#include <cmath>
#include <memory>
#include <utility>

namespace dormie {

namespace {

double product(const SparseVector &x, const SparseVector &s) {
    double sum = 0;
    for (ptrdiff_t i = 0, j = 0; i < x.count && j < s.count;) {
        if (x.columns[i] == s.columns[j]) {
            sum += x.values[i++] * s.values[j++];
        } else {
            const bool behind = x.columns[i] < s.columns[j];
            i += behind, j += !behind;
        }
    }
    return sum;
}

double squared_distance(const SparseVector &x, const SparseVector &s) {
    double sum = 0;
    ptrdiff_t i = 0, j = 0;
    while (i < x.count && j < s.count) {
        double apart;
        if (x.columns[i] == s.columns[j])
            apart = x.values[i++] - s.values[j++];
        else if (x.columns[i] < s.columns[j])
            apart = x.values[i++];
        else
            apart = s.values[j++];
        sum += apart * apart;
    }
    for (; i < x.count; i++) sum += x.values[i] * x.values[i];
    for (; j < s.count; j++) sum += s.values[j] * s.values[j];
    return sum;
}

}  // namespace

// What one thread needs: the row and the kernel values.
struct SparseSourceSum::Workspace {
    explicit Workspace(const Machine &m) : values(size_t(m.points_count)) {}

    void read(const Rows &rows, ptrdiff_t i) {
        row.clear();
        rows.list(i, row);
        for (const double x : row.values)
            if (!std::isfinite(x)) rows.require_finite(i);
    }

    SparseVectors row;
    std::vector<double> values;
    double constant = 0;  // of a normalised kernel: see unit_vector
};

SparseSourceSum::SparseSourceSum(const Machine &machine, SourceMap map) : machine_(machine), map_(std::move(map)) {
    if (!of_unit_vectors(machine_.kernel)) return;
    unit_values_.resize(size_t(machine_.sparse.starts[machine_.points_count]));
    unit_constants_.resize(size_t(machine_.points_count));
    for (ptrdiff_t i = 0; i < machine_.points_count; i++) {
        const SparseVector s = machine_.sparse[i];
        unit_vector(machine_.kernel, s.values, s.count, unit_values_.data() + machine_.sparse.starts[i],
                    &unit_constants_[size_t(i)]);
    }
}

SparseSourceSum::~SparseSourceSum() = default;

double SparseSourceSum::work(ptrdiff_t n) const {
    const double merged = 2.0 * double(machine_.sparse.starts[machine_.points_count]);
    return 20.0 * double(n) * (merged + 16.0 * double(machine_.points_count));
}

void SparseSourceSum::map_row(bool sparse, Workspace &space) const {
    const SparseVector x = space.row[0];
    double *values = space.row.values_of(0);
    for (size_t step = 0; step < map_.steps.size(); step++) {
        const double *of_features = map_.values + ptrdiff_t(step) * machine_.features;
        for (ptrdiff_t k = 0; k < x.count; k++)
            values[k] = mapped(map_.steps[step], sparse, values[k], of_features[x.columns[k]]);
    }
    if (!unit_constants_.empty()) unit_vector(machine_.kernel, values, x.count, values, &space.constant);
}

void SparseSourceSum::kernel_values(Workspace &space) const {
    const SparseVector x = space.row[0];
    const bool distances = is_radial(machine_.kernel);
    for (ptrdiff_t i = 0; i < machine_.points_count; i++) {
        SparseVector s = machine_.sparse[i];
        if (!unit_constants_.empty()) s.values = unit_values_.data() + machine_.sparse.starts[i];
        double argument = distances ? squared_distance(x, s) : product(x, s);
        if (!unit_constants_.empty()) argument += space.constant * unit_constants_[size_t(i)];
        space.values[size_t(i)] = source_kernel_value(machine_.kernel, argument);
    }
}

void SparseSourceSum::outputs(const Rows &rows, bool sparse, Team &team, double *out) const {
    each_row(machine_, spares_, rows.n, team, [&](ptrdiff_t i, Workspace &space) {
        space.read(rows, i);
        map_row(sparse, space);
        kernel_values(space);
        add_terms(machine_, space.values.data(), out + i * machine_.outputs);
    });
}

}  // namespace dormie
