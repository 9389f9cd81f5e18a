// The source's own sum, for Python.
#include "methods/source_sum.hpp"

#include <limits>
#include <string>

#include "python/bind.hpp"

namespace dormie {

namespace {

class BoundSourceSum {
  public:
    // ddot: a capsule of BLAS's function, or None for inner products in order.
    BoundSourceSum(std::shared_ptr<Kept> kept, const Counts &steps, Matrix values, const nb::object &ddot)
        : kept_(std::move(kept)),
          values_(values),
          sum_(kept_->machine, checked(steps), function(ddot, kept_->machine.features)) {}

    NewOutputs outputs(const Rows &rows, bool sparse, int threads) const {
        double *out;
        auto array = new_array(out, rows.n, kept_->machine.outputs);
        run_on(kept_->machine, rows, threads, sum_.work(rows.n),
               [&](Team &team) { sum_.outputs(rows, sparse, team, out); });
        return array;
    }

  private:
    // Before anything reads the arrays, they are known to fit.
    SourceMap checked(const Counts &steps) const {
        if (steps.shape(0) != values_.shape(0) || ptrdiff_t(values_.shape(1)) != kept_->machine.features)
            throw nb::value_error("the steps of the input map do not fit the machine");
        SourceMap map{{}, values_.data()};
        for (size_t k = 0; k < steps.shape(0); k++) {
            if (steps(k) < 0 || steps(k) > int64_t(MapStep::add)) throw nb::value_error("there is no such step");
            map.steps.push_back(MapStep(steps(k)));
        }
        return map;
    }

    // Null where it counts in other integers than we do (the capsule's name has its signature), or features are too
    // many.
    static Ddot function(const nb::object &ddot, ptrdiff_t features) {
        if (ddot.is_none()) return nullptr;
        const char *name = PyCapsule_GetName(ddot.ptr());
        void *pointer = PyCapsule_GetPointer(ddot.ptr(), name);
        if (!pointer) throw nb::python_error();
        const bool in_ints = name && std::string(name).find("(int *,") != std::string::npos;
        return in_ints && features <= std::numeric_limits<int>::max() ? reinterpret_cast<Ddot>(pointer) : nullptr;
    }

    const std::shared_ptr<Kept> kept_;
    const Matrix values_;
    const SourceSum sum_;
};

}  // namespace

void bind_source_sum(nb::module_ &m) {
    nb::class_<BoundSourceSum> sum(m, "SourceSum", "The sum of the source model, operation by operation.");
    sum.def(nb::init<std::shared_ptr<Kept>, const Counts &, Matrix, const nb::object &>(), "machine"_a, "steps"_a,
            "values"_a, "ddot"_a.none(), "ddot: a capsule of BLAS's function, or None for inner products in order.");
    bind_rows(sum, "outputs", &BoundSourceSum::outputs,
              "Outputs as the source has them. sparse: whether its rows came as a sparse matrix.", "sparse"_a);
}

}  // namespace dormie
