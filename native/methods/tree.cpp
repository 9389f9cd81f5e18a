#include "methods/tree.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "core/blocks.hpp"
#include "core/interval.hpp"
#include "core/kernel.hpp"
#include "core/norm.hpp"
#include "core/rules.hpp"

namespace dormie {

namespace {

constexpr ptrdiff_t numbers_at_once = 1 << 16;  // rows and kernel values of a block: half a MiB
constexpr ptrdiff_t least_rows = 32, most_rows = 4096;
constexpr double infinity = std::numeric_limits<double>::infinity();

// What a row is scaled by and its offset. Where the scale of a normalised one is lost, its kernel values are NaN.
ScaleOffset terms_of_row(const Kernel &kernel, double norm2) {
    if (far_out(kernel, norm2)) return {0, row_terms(kernel, norm2).offset};
    if (kernel.normalized && !(kernel.gamma * norm2 < infinity)) return {NAN, NAN};
    return lane_terms(kernel, norm2);
}

}  // namespace

// Rows on their way down, in the place of the points of kernel.hpp: scaled, and with their offset as one more feature.
class Tree::Block {
  public:
    Block(const Tree &tree, int capacity)
        : t_(tree),
          rows_(size_t(capacity) * t_.stride_),
          met_(size_t(capacity) * t_.met_stride_),
          values_(size_t(padded<double>(capacity))),
          no_offsets_(size_t(padded<double>(capacity))),
          outputs_(size_t(capacity) * t_.machine_.outputs),
          order_(capacity),
          right_(capacity),
          row_(t_.machine_.outputs) {
        pending_.reserve(capacity + 1);  // each holds a row at least
    }

    void start(const LaidOut &rows) {
        const ptrdiff_t d = t_.machine_.features;
        count_ = rows.count();
        for (int r = 0; r < count_; r++) {
            std::copy_n(rows.row<double>(r), d, row(r));
            row(r)[d] = 0;  // the offset of the row that was here before
        }
        // Apart from that loop: whole vectors would wait for the numbers written one by one.
        for (int r = 0; r < count_; r++) scale_row(row(r), rows.traits(r).far);
        std::fill_n(met_.get(), count_ * t_.met_stride_, 0.0);
    }

    // Calls finish(row, terminal, values) for every row, in the order of terminals.
    template <class Finish> void walk(const Finish &finish) {
        std::iota(order_.begin(), order_.begin() + count_, 0);
        pending_.assign(1, {t_.nodes_.empty() ? ~0 : 0, 0, count_});
        while (!pending_.empty()) {
            const Pending next = pending_.back();
            pending_.pop_back();
            if (next.child < 0)
                end(~next.child, next.begin, next.end, finish);
            else
                pass(next.child, next.begin, next.end);
        }
    }

  private:
    // The rows order_[begin .. end) are still to go to a child.
    struct Pending {
        int32_t child;
        int begin, end;
    };

    double *row(int r) const { return rows_.get() + r * t_.stride_; }

    void scale_row(double *to, bool far) const {
        const ptrdiff_t d = t_.machine_.features;
        const int32_t itself = 0;
        double norm2 = infinity;
        if (!far) ops<double>().dots(to, to, 0, &itself, 1, t_.stride_, &norm2);
        const ScaleOffset terms = terms_of_row(t_.machine_.kernel, norm2);
        for (ptrdiff_t j = 0; j < d; j++) to[j] *= terms.scale;
        to[d] = terms.offset;
    }

    // Rows at a node: all of its kernel values, then left and right.
    void pass(int32_t number, int begin, int end) {
        const Node &node = t_.nodes_[number];
        const int n = end - begin;
        int32_t *order = order_.data() + begin;
        double *k = values_.get();
        ops<double>().dots(t_.points_.get() + number * t_.stride_, rows_.get(), t_.stride_, order, n, t_.stride_, k);
        ops<double>().kernel_values(t_.machine_.kernel.kind, t_.machine_.kernel.degree, node.terms, no_offsets_.get(),
                                    k, nullptr, int(padded<double>(n)));
        double *met = met_.get() + node.depth;
        for (int i = 0; i < n; i++) met[order[i] * t_.met_stride_] = k[i];
        const int left = node.children[0] == node.children[1] ? n : sort(node.threshold, order, n);
        if (left < n) pending_.push_back({node.children[1], begin + left, end});
        if (left > 0) pending_.push_back({node.children[0], begin, begin + left});
    }

    // Rows that go left first, the others after them, both in the order they were in; returns how many go left. Every
    // row is written to both sides, and what does not belong is written over: no branch to mispredict.
    int sort(double threshold, int32_t *order, int n) {
        int32_t *right = right_.data();
        int left = 0;
        for (int i = 0; i < n; i++) {
            const int32_t row = order[i];
            const bool goes_left = values_[i] <= threshold;
            order[left] = row;
            right[i - left] = row;
            left += goes_left;
        }
        std::copy_n(right, n - left, order + left);
        return left;
    }

    // Rows at a terminal: the weights of all outputs, one after the other, then row by row.
    template <class Finish> void end(int32_t terminal, int begin, int end, const Finish &finish) {
        const ptrdiff_t c = t_.machine_.outputs, length = padded<double>(t_.depth_of(terminal));
        const double *weights = t_.weights_.get() + t_.weights_at_[terminal];
        const int n = end - begin;
        const int32_t *order = order_.data() + begin;
        for (ptrdiff_t o = 0; o < c; o++)
            ops<double>().dots(weights + o * length, met_.get(), t_.met_stride_, order, n, length,
                               outputs_.get() + o * n);
        for (int i = 0; i < n; i++) {
            for (ptrdiff_t o = 0; o < c; o++) row_[o] = outputs_[o * n + i] + t_.b_.constants[terminal * c + o];
            finish(order[i], terminal, row_.data());
        }
    }

    const Tree &t_;
    int count_ = 0;
    Aligned<double> rows_;
    Aligned<double> met_;  // kernel values of each row, the root's first; 0 where it has not come to yet
    Aligned<double> values_, no_offsets_;
    Aligned<double> outputs_;  // of rows at a terminal, those of an output together
    std::vector<int32_t> order_, right_;
    std::vector<Pending> pending_;
    std::vector<double> row_;
};

Tree::Tree(const Machine &machine, const Branches &branches)
    : machine_(machine),
      b_(branches),
      stride_(padded<double>(machine.features + 1)),
      points_(size_t(b_.nodes * stride_)),
      nodes_(b_.nodes) {
    for (ptrdiff_t node = 0; node < b_.nodes; node++) lay_out_node(node);
    ptrdiff_t size = 0;
    for (ptrdiff_t t = 0; t < b_.terminals; t++) {
        const ptrdiff_t length = padded<double>(depth_of(t));
        weights_at_.push_back(size);
        size += length * machine_.outputs;
        met_stride_ = std::max(met_stride_, length);
    }
    weights_ = Aligned<double>(size_t(size));
    for (ptrdiff_t t = 0; t < b_.terminals; t++) lay_out_weights(t);
}

// Parents come first, so that a node knows its depth by now.
void Tree::lay_out_node(ptrdiff_t number) {
    const double *s = b_.points + number * machine_.features;
    const double norm2 = squared_norm(s, machine_.features);
    const ScaleOffset terms = row_terms(machine_.kernel, norm2);
    double *to = points_.get() + number * stride_;
    if (!far_out(machine_.kernel, norm2)) std::copy_n(s, machine_.features, to);
    to[machine_.features] = 1;  // times a row's offset
    Node &node = nodes_[number];
    node.threshold = b_.thresholds[number];
    node.terms = {terms.scale, terms.offset, 0, machine_.kernel.coef0};
    for (int side = 0; side < 2; side++) {
        const int64_t child = b_.children[2 * number + side];
        node.children[side] = int32_t(child);
        if (child >= 0) nodes_[child].depth = node.depth + 1;
    }
}

void Tree::lay_out_weights(ptrdiff_t terminal) {
    const ptrdiff_t c = machine_.outputs, depth = depth_of(terminal), length = padded<double>(depth);
    const double *from = b_.weights + b_.offsets[terminal] * c;
    for (ptrdiff_t o = 0; o < c; o++)
        for (ptrdiff_t l = 0; l < depth; l++) weights_[weights_at_[terminal] + o * length + l] = from[l * c + o];
}

int Tree::rows_at_once() const {
    return int(std::clamp(numbers_at_once / (stride_ + met_stride_), least_rows, most_rows));
}

class Tree::Descent final : public Stage {
  public:
    Descent(const Tree &tree, const double *half_widths, std::shared_ptr<const void> owner)
        : t_(tree), half_widths_(half_widths), owner_(std::move(owner)) {}

    const Machine &machine() const override { return t_.machine_; }
    Forms forms() const override { return {false, true}; }
    int rows_at_once() const override { return t_.rows_at_once(); }
    double work(ptrdiff_t rows) const override { return t_.work(rows); }
    std::unique_ptr<Pass> pass(int rows) const override { return std::make_unique<Values>(*this, rows); }

  private:
    class Values final : public Pass {
      public:
        Values(const Descent &descent, int rows)
            : d_(descent), block_(d_.t_, rows), judge_(d_.t_.machine_.rule, d_.t_.machine_.outputs) {}

        void decide(const LaidOut &rows, Team &, const Verdicts &verdicts) override {
            const ptrdiff_t c = d_.t_.machine_.outputs;
            block_.start(rows);
            block_.walk([&](int r, int32_t terminal, const double *g) {
                const bool finite = std::all_of(g, g + c, [](double value) { return std::isfinite(value); });
                verdicts.answers[r] =
                    finite ? judge_.settle(MiddleRadius{g, d_.half_widths_ + terminal * c}) : unsettled;
                verdicts.evaluations[r] = int32_t(d_.t_.depth_of(terminal));
                verdicts.keep(r, g, c);
            });
        }

      private:
        const Descent &d_;
        Block block_;
        Judge judge_;
    };

    const Tree &t_;
    const double *half_widths_;
    const std::shared_ptr<const void> owner_;
};

std::shared_ptr<const Stage> Tree::stage(const double *half_widths, std::shared_ptr<const void> owner) const {
    return std::make_shared<Descent>(*this, half_widths, std::move(owner));
}

void Tree::walk(const Rows &rows, Team &team, double *values, int64_t *terminals, int64_t *evaluations) const {
    const ptrdiff_t c = machine_.outputs;
    auto make = [&](int count) { return std::make_unique<Block>(*this, count); };
    each_block(machine_, {false, true}, rows, rows_at_once(), team, make, [&](const LaidOut &laid_out, Block &block) {
        block.start(laid_out);
        block.walk([&](int r, int32_t terminal, const double *g) {
            const ptrdiff_t i = laid_out.number(r);
            std::copy_n(g, c, values + i * c);
            terminals[i] = terminal;
            evaluations[i] = depth_of(terminal);
        });
    });
}

}  // namespace dormie
