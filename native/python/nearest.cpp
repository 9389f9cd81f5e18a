// The nearest stage, for Python.
#include "methods/nearest/nearest.hpp"

#include "python/bind.hpp"

namespace dormie {

namespace {

class BoundNearest {
  public:
    // centers and orders: none (0 rows) for an order of each row's own, which alone has foresight (one number).
    BoundNearest(std::shared_ptr<Kept> kept, Matrix basis, const Counts &steps, const Vector &foresight,
                 const Matrix &centers, const IndexMatrix &orders)
        : kept_(std::move(kept)), steps_(steps.data(), steps.data() + steps.shape(0)) {
        const Machine &m = kept_->machine;
        const ptrdiff_t components = ptrdiff_t(basis.shape(0)), cells = ptrdiff_t(centers.shape(0));
        require(foresight.shape(0) == 1 && fits(basis, centers, orders));
        if (cells == 0) {
            by_query_ = std::make_shared<NearestByQuery>(m, basis.data(), components, steps_, foresight(0));
            nearest_ = by_query_;
        } else {
            nearest_ = std::make_shared<NearestByCell>(m, basis.data(), components, steps_, centers.data(),
                                                       orders.data(), cells);
        }
    }

    static BoundStage stage(const std::shared_ptr<BoundNearest> &self, Cube low, Cube high) {
        const Nearest &nearest = *self->nearest_;
        for (const Cube &part : {low, high})
            require(ptrdiff_t(part.shape(0)) == nearest.steps() && ptrdiff_t(part.shape(1)) == nearest.cells() &&
                    ptrdiff_t(part.shape(2)) == nearest.comparisons());
        return {{nearest.stage({low.data(), high.data()}, keeping(self, low, high))}};
    }

    std::tuple<NewArray<double, 3>, NewNumbers> sums(const Rows &rows, int threads) const {
        double *sum;
        int64_t *cell;
        auto sums = new_array(sum, rows.n, nearest_->steps(), kept_->machine.outputs);
        auto cells = new_array(cell, rows.n);
        run_on(kept_->machine, rows, threads, nearest_->work(rows.n),
               [&](Team &team) { nearest_->sums(rows, team, sum, cell); });
        return {sums, cells};
    }

    NewArray<int64_t, 2> order(const Rows &rows, int threads) const {
        require(by_query_ != nullptr);
        int64_t *point;
        auto points = new_array(point, rows.n, steps_.back());
        run_on(kept_->machine, rows, threads, by_query_->work(rows.n),
               [&](Team &team) { by_query_->order(rows, team, point); });
        return points;
    }

  private:
    static void require(bool fits) {
        if (!fits) throw nb::value_error("the arrays of the nearest stage do not fit together");
    }

    // Before anything reads the arrays.
    bool fits(const Matrix &basis, const Matrix &centers, const IndexMatrix &orders) const {
        const Machine &m = kept_->machine;
        const size_t n = size_t(m.points_count), p = basis.shape(0);
        bool fits = !steps_.empty() && p >= 1 && p <= size_t(panel_width<float>) && n < (1u << 31) &&
                    ptrdiff_t(basis.shape(1)) == m.features && m.outputs >= 1 && m.rule.kind != RuleKind::value &&
                    centers.shape(0) == orders.shape(0) && centers.shape(1) == p;
        int64_t before = centers.shape(0) == 0 ? -1 : 0;
        for (const int64_t step : steps_) {
            fits = fits && step > before && step <= m.points_count;
            before = step;
        }
        fits = fits && before > 0 && int64_t(orders.shape(1)) == before;
        for (size_t i = 0; fits && i < orders.size(); i++)
            fits = orders.data()[i] >= 0 && orders.data()[i] < m.points_count;
        return fits;
    }

    const std::shared_ptr<Kept> kept_;
    const std::vector<int64_t> steps_;
    std::shared_ptr<const Nearest> nearest_;
    std::shared_ptr<const NearestByQuery> by_query_;
};

}  // namespace

void bind_nearest(nb::module_ &m) {
    nb::class_<BoundNearest> nearest(m, "Nearest", "The largest terms first (DeCoste & Mazzoni 2003).");
    nearest.def(
        nb::init<std::shared_ptr<Kept>, Matrix, const Counts &, const Vector &, const Matrix &, const IndexMatrix &>(),
        "machine"_a, "basis"_a, "steps"_a, "foresight"_a, "centers"_a, "orders"_a,
        "centers and orders without rows: every row has an order of its own, and foresight counts.");
    nearest.def("stage", &BoundNearest::stage, "low"_a, "high"_a, "The stage that decides rows.");
    bind_rows(nearest, "sums", &BoundNearest::sums,
              "Partial sums after each step, rows x steps x outputs, and the cell of each row.");
    bind_rows(nearest, "order", &BoundNearest::order, "The points in the order of each row.");
}

}  // namespace dormie
