// The tree stage, for Python.
#include "methods/tree.hpp"

#include "python/bind.hpp"

namespace dormie {

namespace {

class BoundTree {
  public:
    BoundTree(std::shared_ptr<Kept> kept, Matrix points, Vector thresholds, const IndexMatrix &children,
              const Counts &offsets, Matrix weights, Matrix constants)
        : kept_(std::move(kept)),
          points_(points),
          weights_(weights),
          constants_(constants),
          thresholds_(thresholds),
          children_(children.data(), children.data() + children.size()),
          offsets_(offsets.data(), offsets.data() + offsets.shape(0)),
          tree_(kept_->machine, checked(children.shape(1))) {}

    static BoundStage stage(const std::shared_ptr<BoundTree> &self, Matrix half_widths) {
        require(half_widths.shape(0) == self->constants_.shape(0) && half_widths.shape(1) == self->constants_.shape(1));
        return {{self->tree_.stage(half_widths.data(), keeping(self, half_widths))}};
    }

    std::tuple<NewOutputs, NewNumbers, NewNumbers> walk(const Rows &rows, int threads) const {
        double *value;
        int64_t *terminal, *count;
        auto values = new_array(value, rows.n, kept_->machine.outputs);
        auto terminals = new_array(terminal, rows.n);
        auto counts = new_array(count, rows.n);
        run_on(kept_->machine, rows, threads, tree_.work(rows.n),
               [&](Team &team) { tree_.walk(rows, team, value, terminal, count); });
        return {values, terminals, counts};
    }

  private:
    static void require(bool fits) {
        if (!fits) throw nb::value_error("the arrays of the tree do not fit together");
    }

    // Before anything reads the arrays, they are known to fit.
    Branches checked(size_t sides) const {
        const Machine &m = kept_->machine;
        const size_t n = points_.shape(0), t = constants_.shape(0);
        require(t >= 1 && t < (1u << 30) && n < (1u << 30) && sides == 2 && offsets_.size() == t + 1 &&
                children_.size() == 2 * n && thresholds_.shape(0) == n && ptrdiff_t(points_.shape(1)) == m.features &&
                ptrdiff_t(weights_.shape(1)) == m.outputs && ptrdiff_t(constants_.shape(1)) == m.outputs);
        require(offsets_.front() == 0 && offsets_.back() == int64_t(weights_.shape(0)) &&
                std::is_sorted(offsets_.begin(), offsets_.end()) && (n > 0 || offsets_[1] == 0));
        require(reached(int64_t(n), int64_t(t)));
        return {ptrdiff_t(n),     ptrdiff_t(t),    points_.data(),  thresholds_.data(),
                children_.data(), offsets_.data(), weights_.data(), constants_.data()};
    }

    // Whether every child is later than its parent, and every terminal has as many weights as nodes lead to it.
    bool reached(int64_t n, int64_t t) const {
        std::vector<int64_t> depth(size_t(n), 0);
        for (int64_t i = 0; i < 2 * n; i++) {
            const int64_t parent = i / 2, child = children_[i];
            if (child >= n || (child >= 0 && child <= parent) || ~child >= t) return false;
            if (child >= 0)
                depth[child] = depth[parent] + 1;
            else if (offsets_[~child + 1] - offsets_[~child] != depth[parent] + 1)
                return false;
        }
        return true;
    }

    const std::shared_ptr<Kept> kept_;
    const Matrix points_, weights_, constants_;
    const Vector thresholds_;
    const std::vector<int64_t> children_, offsets_;  // copies: what was checked is what is used
    const Tree tree_;
};

}  // namespace

void bind_tree(nb::module_ &m) {
    nb::class_<BoundTree> tree(m, "Tree", "Support vector trees (Ukkonen 2010).");
    tree.def(nb::init<std::shared_ptr<Kept>, Matrix, Vector, const IndexMatrix &, const Counts &, Matrix, Matrix>(),
             "machine"_a, "points"_a, "thresholds"_a, "children"_a, "offsets"_a, "weights"_a, "constants"_a);
    tree.def("stage", &BoundTree::stage, "half_widths"_a, "The stage that decides rows.");
    bind_rows(tree, "walk", &BoundTree::walk, "Values, the terminal each row ends at, and its kernel evaluations.");
}

}  // namespace dormie
