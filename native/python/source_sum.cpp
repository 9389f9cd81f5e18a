// The source's own sum, for Python.
#include "methods/source_sum.hpp"

#include <limits>
#include <string>

#include "methods/sparse_source_sum.hpp"
#include "python/bind.hpp"

namespace dormie {

namespace {

// Steps of an input map as Python hands them over: before anything reads the arrays, they are known to fit.
SourceMap checked(const Counts &steps, const Matrix &values, const Machine &machine) {
    if (steps.shape(0) != values.shape(0) || ptrdiff_t(values.shape(1)) != machine.features)
        throw nb::value_error("the steps of the input map do not fit the machine");
    SourceMap map{{}, values.data()};
    for (size_t k = 0; k < steps.shape(0); k++) {
        if (steps(k) < 0 || steps(k) > int64_t(MapStep::add)) throw nb::value_error("there is no such step");
        map.steps.push_back(MapStep(steps(k)));
    }
    return map;
}

// Null where it counts in other integers than we do (the capsule's name has its signature), or features are too many.
Ddot function(const nb::object &ddot, ptrdiff_t features) {
    if (ddot.is_none()) return nullptr;
    const char *name = PyCapsule_GetName(ddot.ptr());
    void *pointer = PyCapsule_GetPointer(ddot.ptr(), name);
    if (!pointer) throw nb::python_error();
    const bool in_ints = name && std::string(name).find("(int *,") != std::string::npos;
    return in_ints && features <= std::numeric_limits<int>::max() ? reinterpret_cast<Ddot>(pointer) : nullptr;
}

// Sum: SourceSum or SparseSourceSum; KeptMachine: what keeps the arrays of its machine.
template <class Sum, class KeptMachine> class BoundSum {
  public:
    BoundSum(std::shared_ptr<KeptMachine> kept, const Counts &steps, Matrix values)
        : kept_(std::move(kept)), values_(values), sum_(kept_->machine, checked(steps, values_, kept_->machine)) {}

    // ddot: a capsule of BLAS's function, or None for inner products in order.
    BoundSum(std::shared_ptr<KeptMachine> kept, const Counts &steps, Matrix values, const nb::object &ddot)
        : kept_(std::move(kept)),
          values_(values),
          sum_(kept_->machine, checked(steps, values_, kept_->machine), function(ddot, kept_->machine.features)) {}

    NewOutputs outputs(const Rows &rows, bool sparse, int threads) const {
        double *out;
        auto array = new_array(out, rows.n, kept_->machine.outputs);
        run_on(kept_->machine, rows, threads, sum_.work(rows.n),
               [&](Team &team) { sum_.outputs(rows, sparse, team, out); });
        return array;
    }

  private:
    const std::shared_ptr<KeptMachine> kept_;
    const Matrix values_;
    const Sum sum_;
};

using BoundSourceSum = BoundSum<SourceSum, Kept>;
using BoundSparseSourceSum = BoundSum<SparseSourceSum, KeptSparse>;

constexpr const char *outputs_words =
    "Outputs as the source has them. sparse: whether its rows came as a sparse matrix.";

}  // namespace

void bind_source_sum(nb::module_ &m) {
    nb::class_<BoundSourceSum> sum(m, "SourceSum", "The sum of the source model, operation by operation.");
    sum.def(nb::init<std::shared_ptr<Kept>, const Counts &, Matrix, const nb::object &>(), "machine"_a, "steps"_a,
            "values"_a, "ddot"_a.none(), "ddot: a capsule of BLAS's function, or None for inner products in order.");
    bind_rows(sum, "outputs", &BoundSourceSum::outputs, outputs_words, "sparse"_a);
    nb::class_<BoundSparseSourceSum> sparse(m, "SparseSourceSum", "The same over sparse points.");
    sparse.def(nb::init<std::shared_ptr<KeptSparse>, const Counts &, Matrix>(), "machine"_a, "steps"_a, "values"_a);
    bind_rows(sparse, "outputs", &BoundSparseSourceSum::outputs, outputs_words, "sparse"_a);
}

}  // namespace dormie
