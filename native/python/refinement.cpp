// The refinement stage, for Python.
#include "methods/refinement.hpp"

#include "python/bind.hpp"

namespace dormie {

namespace {

class BoundRefinement {
  public:
    BoundRefinement(std::shared_ptr<Kept> kept, std::shared_ptr<Kept> sets, double slope, double floor)
        : kept_(std::move(kept)), sets_(std::move(sets)), refinement_(kept_->machine, checked(), slope, floor) {}

    static BoundStage stage(const std::shared_ptr<BoundRefinement> &self, double caution) {
        if (!(caution >= 0 && std::isfinite(caution))) throw nb::value_error("caution must be finite and at least 0");
        if (self->kept_->machine.rule.kind != RuleKind::value) throw nb::value_error("the rule gives no values");
        return {{self->refinement_.stage(caution, self)}};
    }

    NewOutputs outputs(const Rows &rows, int threads) const {
        double *to;
        auto array = new_array(to, rows.n, sets_->machine.outputs);
        run_on(kept_->machine, rows, threads, refinement_.work(rows.n),
               [&](Team &team) { refinement_.outputs(rows, team, to); });
        return array;
    }

  private:
    const Machine &checked() const {
        const Machine &m = kept_->machine, &sets = sets_->machine;
        if (sets.features != m.features || sets.outputs != 2 * m.outputs)
            throw nb::value_error("the sets do not fit the machine");
        return sets;
    }

    const std::shared_ptr<Kept> kept_, sets_;
    const Refinement refinement_;
};

}  // namespace

void bind_refinement(nb::module_ &m) {
    nb::class_<BoundRefinement> refinement(m, "Refinement", "Values of a fine set, settled by the step from a coarse.");
    refinement.def(nb::init<std::shared_ptr<Kept>, std::shared_ptr<Kept>, double, double>(), "machine"_a, "sets"_a,
                   "slope"_a, "floor"_a);
    refinement.def("stage", &BoundRefinement::stage, "caution"_a,
                   "The stage that decides rows. caution: a factor on the errors that are expected.");
    bind_rows(refinement, "outputs", &BoundRefinement::outputs,
              "The outputs of the coarse set and of the fine one, in float32, side by side.");
}

}  // namespace dormie
