// The cascade, for Python.
#include "core/cascade.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

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
        return a.columns() == b.columns() && a.rule.classes == b.rule.classes &&
               values == (b.rule.kind == RuleKind::value) && (!values || a.outputs == b.outputs);
    }

    bool has_values() const { return cascade_.machine().rule.kind == RuleKind::value; }

    std::vector<ptrdiff_t> run(const Rows &rows, int threads, const Results &results) const {
        std::vector<ptrdiff_t> open;
        run_on(cascade_.machine(), rows, threads, [&](Team &team) { open = cascade_.run(rows, team, results); });
        return open;
    }

    const Cascade cascade_;
    friend class BoundAnswers;
};

// The answers of `predict` in one call: for single rows the way there and back is most of the time.
class BoundAnswers {
  public:
    // labels: of the classes; None where the outputs are the answer, as a vector if `flat`.
    // finish(rows, answers, open): answers what the cascade leaves open.
    BoundAnswers(std::shared_ptr<BoundCascade> cascade, nb::object labels, bool flat, nb::object finish)
        : cascade_(std::move(cascade)), labels_(std::move(labels)), finish_(std::move(finish)), flat_(flat) {
        const nb::module_ numpy = nb::module_::import_("numpy");
        array_type_ = numpy.attr("ndarray");
        empty_ = numpy.attr("empty");
        type_ = labels_.is_none() ? numpy.attr("dtype")("float64") : labels_.attr("dtype");
        if (labels_.is_none() != cascade_->has_values() || !(labels_.is_none() || fits(labels_)))
            throw nb::value_error("there must be a label for each class, and none for outputs");
    }

    // In a new array; None where rows are of another kind than usual, or not of this width: more is to be checked then.
    nb::object of(nb::handle rows, int threads) const {
        RowsArgument taken;
        if (!take(rows, taken) || taken->d != machine().columns()) return nb::none();
        nb::object answers = room_for(taken->n);
        const std::vector<ptrdiff_t> open = cascade_->run(*taken, threads, results_in(answers));
        if (!open.empty()) finish_(rows, answers, *numbers_of(open));
        return answers;
    }

  private:
    const Machine &machine() const { return cascade_->cascade_.machine(); }

    bool take(nb::handle rows, RowsArgument &taken) const try {
        if (Py_TYPE(rows.ptr()) == reinterpret_cast<PyTypeObject *>(array_type_.ptr())) return taken.take_array(rows);
        return is_csr(rows) && taken.take_csr(rows);
    } catch (const nb::builtin_exception &) {  // of a type that is not read
        return false;
    }

    bool fits(nb::handle labels) {
        return table_.view(labels) && table_.is_vector() && table_.shape(0) == machine().rule.classes;
    }

    // One of SciPy's two classes, and not one that somebody derived from them.
    static bool is_csr(nb::handle rows) {
        const nb::object type_name = nb::steal(PyType_GetName(Py_TYPE(rows.ptr())));
        const char *name = nb::borrow<nb::str>(type_name).c_str();
        if (std::strcmp(name, "csr_matrix") != 0 && std::strcmp(name, "csr_array") != 0) return false;
        return nb::cast<std::string>(rows.type().attr("__module__")).starts_with("scipy.sparse");
    }

    nb::object room_for(ptrdiff_t rows) const {
        if (flat_) return empty_(rows, type_);
        return empty_(nb::make_tuple(rows, machine().outputs), type_);
    }

    Results results_in(nb::handle answers) const {
        ArrayView array;
        if (!array.view(answers)) throw nb::type_error("labels must be numbers or text");
        Results results;
        if (labels_.is_none()) {
            results.values = static_cast<double *>(array.data());
        } else {
            results.table = static_cast<const char *>(table_.data());
            results.labels = static_cast<char *>(array.data());
            results.label_size = ptrdiff_t(table_.element_size());
        }
        return results;
    }

    const std::shared_ptr<BoundCascade> cascade_;
    const nb::object labels_, finish_;
    const bool flat_;
    ArrayView table_;  // of labels
    nb::object array_type_, empty_, type_;
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
              "Returns the numbers of the open rows (None if there are none), whose labels mean nothing.",
              "table"_a.none(), "out"_a);
    nb::class_<BoundAnswers>(m, "Answers", "The answers of a cascade, in new arrays: what `predict` returns.")
        .def(nb::init<std::shared_ptr<BoundCascade>, nb::object, bool, nb::object>(), "cascade"_a, "labels"_a.none(),
             "flat"_a, "finish"_a)
        .def("of", &BoundAnswers::of, "rows"_a.none(), "threads"_a,
             "The answers of rows that are an array or a CSR matrix as it is, of the right width; None for others. "
             "What the cascade leaves open, finish(rows, answers, open) answers.");
}

}  // namespace dormie
