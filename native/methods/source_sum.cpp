#include "methods/source_sum.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/norm.hpp"

namespace dormie {

namespace {

constexpr int together = 4;  // points

// Sums one product after the other.
struct InOrder {
    static void project(const PreparationStep &step, bool, const double *x, ptrdiff_t count, ptrdiff_t x_stride,
                        const int32_t *, const ProjectionSums &, double *to, ptrdiff_t to_stride) {
        for (ptrdiff_t r = 0; r < count; r++, x += x_stride, to += to_stride) {
            std::fill_n(to, step.result, 0.0);
            for (ptrdiff_t j = 0; j < step.columns; j++) {
                const double *row = step.values + j * step.stride;
                for (ptrdiff_t k = 0; x[j] != 0 && k < step.result; k++) to[k] += x[j] * row[k];
            }
        }
    }
    static void measure(const double *x, ptrdiff_t count, ptrdiff_t d, double *squares, int32_t *nonzeros) {
        for (ptrdiff_t r = 0; r < count; r++, x += d) {
            squares[r] = squared_norm(x, d);
            nonzeros[r] = int32_t(d);
        }
    }
    static double norm(RowNorm norm, const double *x, ptrdiff_t n) {
        double sum = 0;
        for (ptrdiff_t j = 0; j < n; j++) {
            const double size = std::abs(x[j]);
            sum = norm == RowNorm::max ? std::fmax(sum, size) : sum + (norm == RowNorm::l1 ? size : size * size);
        }
        return norm == RowNorm::l2 ? std::sqrt(sum) : sum;
    }
};

}  // namespace

// What one thread needs: the row, room for its differences from a point, and kernel values.
struct SourceSum::Workspace {
    explicit Workspace(const Machine &m) : row(m.features), difference(m.features), values(m.points_count) {
        if (!m.preparation) return;
        raw.resize(size_t(m.columns()));
        preparing = std::make_unique<Preparing<InOrder>>(*m.preparation, 1);
    }

    void read(const Rows &rows, ptrdiff_t i, bool sparse) {
        if (preparing) {
            std::copy_n(preparing->run(rows.wide(i, 1, raw.data()), 1, i, sparse), row.size(), row.data());
            return;
        }
        const double *x = rows.wide(i, 1, difference.data());
        for (size_t j = 0; j < row.size(); j++) {
            if (!std::isfinite(x[j])) throw NotFinite{i, ptrdiff_t(j), x[j]};
            row[j] = x[j];
        }
    }

    std::vector<double> row, difference, values;
    std::vector<double> raw;  // before it is prepared
    std::unique_ptr<Preparing<InOrder>> preparing;
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

// Inner products of a row with several points, or what stands in their place, each summed from the first feature to the
// last. Side by side, so that no addition waits for the one before.
template <class Term>
void SourceSum::arguments_in_order(const Term &term, const double *x, const double *s, int several,
                                   double *arguments) const {
    const ptrdiff_t d = machine_.features;
    double sums[together] = {};
    const double *points[together];
    for (int k = 0; k < together; k++) points[k] = s + (k < several ? k : 0) * d;
    for (ptrdiff_t j = 0; j < d; j++)
        for (int k = 0; k < together; k++) sums[k] += term(x[j], points[k][j]);
    std::copy_n(sums, several, arguments);
}

void SourceSum::arguments_of(const double *x, const double *s, int several, double *arguments) const {
    const auto sum = [&](const auto &term) { arguments_in_order(term, x, s, several, arguments); };
    if (is_radial(machine_.kernel)) return sum([](double a, double b) { return (a - b) * (a - b); });
    if (machine_.kernel.kind == KernelKind::laplacian) return sum([](double a, double b) { return std::abs(a - b); });
    if (needs_shares(machine_.kernel))
        return sum([](double a, double b) { return a + b > 0 ? (a - b) * ((a - b) / (a + b)) : 0; });
    sum([](double a, double b) { return a * b; });
}

// The same by BLAS, which sums in an order of its own.
double SourceSum::argument_by_blas(Workspace &space, const double *s) const {
    int n = int(machine_.features), step = 1;
    double *x = space.row.data(), *y = const_cast<double *>(s);
    if (is_radial(machine_.kernel)) {
        for (int j = 0; j < n; j++) space.difference[j] = x[j] - s[j];
        x = y = space.difference.data();
    }
    return ddot_(&n, x, &step, y, &step);
}

void SourceSum::kernel_values(Workspace &space) const {
    const double *points = unit_points_.empty() ? machine_.points : unit_points_.data();
    for (ptrdiff_t i = 0; i < machine_.points_count; i += together) {
        const int several = int(std::min<ptrdiff_t>(together, machine_.points_count - i));
        const double *s = points + i * machine_.features;
        double *arguments = space.values.data() + i;
        if (ddot_)
            for (int k = 0; k < several; k++) arguments[k] = argument_by_blas(space, s + k * machine_.features);
        else
            arguments_of(space.row.data(), s, several, arguments);
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
        space.read(rows, i, sparse);
        map_row(sparse, space);
        kernel_values(space);
        add_terms(machine_, space.values.data(), out + i * machine_.outputs);
    });
}

}  // namespace dormie
