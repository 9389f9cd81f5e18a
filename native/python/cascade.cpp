// The cascade, for Python.
#include "core/cascade.hpp"

#include <nanobind/stl/vector.h>

#include "python/bind.hpp"

namespace dormie {

namespace {

class BoundCascade {
  public:
    explicit BoundCascade(const std::vector<BoundStage> &stages) : cascade_(steps_of(stages)) {}

    // Answers (numbers of classes, -1 where open; or outputs where they are the answer), the stage that settled each
    // row, its kernel evaluations, and the numbers of the open rows.
    using Trace = std::tuple<std::variant<NewNumbers, NewOutputs>, NewNumbers, NewNumbers, std::optional<NewNumbers>>;

    Trace trace(const Rows &rows, int threads) const {
        Results results;
        auto numbers = new_array(results.answers, rows.n);
        auto settled_by = new_array(results.settled_by, rows.n), evaluations = new_array(results.evaluations, rows.n);
        std::fill_n(results.evaluations, rows.n, int64_t(0));
        NewOutputs values;
        if (has_values()) values = new_array(results.values, rows.n, cascade_.machine().outputs);
        const std::vector<ptrdiff_t> open = run(rows, threads, results);
        std::variant<NewNumbers, NewOutputs> answers = numbers;
        if (has_values()) answers = values;
        return {answers, settled_by, evaluations, numbers_of(open)};
    }

    // Writes labels to an array, each the entry of `table` that the answer names; or outputs, where they are the
    // answer. Returns the numbers of the rows that are still open.
    std::optional<NewNumbers> predict(const Rows &rows, nb::handle table, nb::handle out, int threads) const {
        Results results;
        ArrayView labels, entries;
        require(labels.view(out) && labels.is_contiguous() && labels.is_writeable() && labels.shape(0) == rows.n);
        if (has_values()) {
            require(labels.dimensions() == 2 && labels.is<double>() && labels.shape(1) == cascade_.machine().outputs);
            results.values = static_cast<double *>(labels.data());
        } else {
            require(entries.view(table) && entries.is_vector() && entries.shape(0) == cascade_.machine().rule.classes &&
                    labels.dimensions() == 1 && labels.element_size() == entries.element_size());
            results.table = static_cast<const char *>(entries.data());
            results.labels = static_cast<char *>(labels.data());
            results.label_size = ptrdiff_t(labels.element_size());
        }
        return numbers_of(run(rows, threads, results));
    }

  private:
    static void require(bool fits) {
        if (!fits) throw nb::value_error("the array for the answers does not fit the rows and the labels");
    }

    static std::vector<Cascade::Step> steps_of(const std::vector<BoundStage> &stages) {
        std::vector<Cascade::Step> steps;
        for (size_t position = 0; position < stages.size(); position++)
            for (const auto &stage : stages[position].stages) steps.push_back({stage, int(position)});
        if (steps.empty()) throw nb::value_error("a cascade has at least one stage");
        const Machine &first = steps.front().stage->machine();
        for (const auto &[stage, position] : steps)
            if (!have_same_answers(stage->machine(), first))
                throw nb::value_error("the stages of a cascade must read the same rows and give the same answers");
        return steps;
    }

    // Outputs may differ where they are not the answer: of a vote, one for each class may do.
    static bool have_same_answers(const Machine &a, const Machine &b) {
        const bool values = a.rule.kind == RuleKind::value;
        return a.features == b.features && a.rule.classes == b.rule.classes &&
               values == (b.rule.kind == RuleKind::value) && (!values || a.outputs == b.outputs);
    }

    bool has_values() const { return cascade_.machine().rule.kind == RuleKind::value; }

    std::vector<ptrdiff_t> run(const Rows &rows, int threads, const Results &results) const {
        std::vector<ptrdiff_t> open;
        run_on(cascade_.machine(), rows, threads, [&](Team &team) { open = cascade_.run(rows, team, results); });
        return open;
    }

    const Cascade cascade_;
};

}  // namespace

void bind_cascade(nb::module_ &m) {
    nb::class_<BoundStage>(m, "Stage", "A stage that a cascade can run.");
    nb::class_<BoundCascade> cascade(m, "Cascade", "Stages in order; each sees the rows that no earlier one settled.");
    cascade.def(nb::init<const std::vector<BoundStage> &>(), "stages"_a);
    bind_rows(cascade, "trace", &BoundCascade::trace,
              "Answers, the stage that settled each row, its kernel evaluations, and the numbers of open rows.");
    bind_rows(cascade, "predict", &BoundCascade::predict,
              "Write labels, entries of `table`, to `out`; or outputs, where they are the answer, and `table` is None. "
              "Returns the numbers of the open rows (None if there are none), which are not written.",
              "table"_a.none(), "out"_a);
}

}  // namespace dormie
