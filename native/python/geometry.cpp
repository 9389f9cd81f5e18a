// The geometry stage, for Python.
#include "methods/geometry.hpp"

#include "python/bind.hpp"

namespace dormie {

namespace {

class BoundGeometry {
  public:
    BoundGeometry(std::shared_ptr<Kept> kept, Matrix points, Matrix factor, Matrix coordinates, Vector norms,
                  Matrix rho, Matrix coordinate_norms, Matrix weight_norms, Matrix misfit, Vector factor_error,
                  Vector factor_norm)
        : kept_(std::move(kept)),
          matrices_{points, factor, coordinates, rho, coordinate_norms, weight_norms, misfit},
          vectors_{norms, factor_error, factor_norm},
          landmarks_(checked_landmarks()),
          geometry_(kept_->machine, {landmarks_, points.data(), factor.data(), coordinates.data(), norms.data(),
                                     rho.data(), coordinate_norms.data(), weight_norms.data(), misfit.data(),
                                     factor_error.data(), factor_norm.data()}) {}

    static BoundStage stage(const std::shared_ptr<BoundGeometry> &self, ptrdiff_t budget) {
        return {{self->geometry_.stage(self->check(budget), self)}};
    }

    Intervals interval(const Rows &rows, ptrdiff_t budget, int threads) const {
        double *middle, *radius;
        auto middles = new_array(middle, rows.n, kept_->machine.outputs);
        auto radii = new_array(radius, rows.n, kept_->machine.outputs);
        budget = check(budget);
        run_on(kept_->machine, rows, threads, geometry_.work(rows.n, budget),
               [&](Team &team) { geometry_.interval(rows, budget, team, middle, radius); });
        return {middles, radii};
    }

    const Geometry &geometry() const { return geometry_; }

  private:
    // How many there are; before anything reads the arrays, they are known to fit.
    ptrdiff_t checked_landmarks() const {
        const Matrix &points = matrices_[0], &factor = matrices_[1];
        const size_t k = points.shape(0), c = size_t(kept_->machine.outputs);
        bool fits =
            ptrdiff_t(points.shape(1)) == kept_->machine.features && factor.shape(0) == k && factor.shape(1) == k;
        for (size_t i = 2; i < matrices_.size(); i++)
            fits = fits && matrices_[i].shape(0) == k && matrices_[i].shape(1) == c;
        for (const Vector &v : vectors_) fits = fits && v.shape(0) == k;
        if (!fits || k == 0) throw nb::value_error("the landmarks' arrays do not fit together");
        return ptrdiff_t(k);
    }

    ptrdiff_t check(ptrdiff_t budget) const {
        if (budget < 1) throw nb::value_error("the budget must be at least 1");
        return std::min(budget, geometry_.landmarks());
    }

    const std::shared_ptr<Kept> kept_;
    const std::vector<Matrix> matrices_;
    const std::vector<Vector> vectors_;
    const ptrdiff_t landmarks_;
    const Geometry geometry_;
};

class BoundWalk {
  public:
    BoundWalk(std::shared_ptr<BoundGeometry> bound, Vector row)
        : bound_(std::move(bound)), row_(row), rows_(row_.data(), 1, ptrdiff_t(row_.shape(0)), row_.shape(0), 1) {
        run_on(bound_->geometry().machine(), rows_, 1,
               [&](Team &) { walk_ = std::make_unique<Geometry::Walk>(bound_->geometry(), rows_); });
    }

    // Of the next landmarks; throws nb::stop_iteration at the end.
    Intervals next() {
        const ptrdiff_t c = bound_->geometry().machine().outputs;
        std::vector<double> middle(tile_width<double> * c), radius(tile_width<double> * c);
        const int steps = walk_->next(middle.data(), radius.data());
        if (steps == 0) throw nb::stop_iteration();
        double *m, *r;
        auto middles = new_array(m, steps, c);
        auto radii = new_array(r, steps, c);
        std::copy_n(middle.data(), steps * c, m);
        std::copy_n(radius.data(), steps * c, r);
        return {middles, radii};
    }

  private:
    const std::shared_ptr<BoundGeometry> bound_;
    const Vector row_;
    const StridedRows<double> rows_;
    std::unique_ptr<Geometry::Walk> walk_;
};

}  // namespace

void bind_geometry(nb::module_ &m) {
    nb::class_<BoundGeometry> geometry(m, "Geometry", "Anytime intervals from landmarks (DeCoste 2002).");
    geometry.def(nb::init<std::shared_ptr<Kept>, Matrix, Matrix, Matrix, Vector, Matrix, Matrix, Matrix, Matrix, Vector,
                          Vector>(),
                 "machine"_a, "points"_a, "factor"_a, "coordinates"_a, "norms"_a, "rho"_a, "coordinate_norms"_a,
                 "weight_norms"_a, "misfit"_a, "factor_error"_a, "factor_norm"_a);
    geometry.def("stage", &BoundGeometry::stage, "budget"_a, "The stage that decides rows.");
    bind_rows(geometry, "interval", &BoundGeometry::interval,
              "Middles and radii of every output after `budget` landmarks.", "budget"_a);
    nb::class_<BoundWalk>(m, "Walk", "The intervals of one row, some landmarks at a time.")
        .def(
            "__iter__", [](nb::handle self) { return self; }, nb::sig("def __iter__(self) -> Walk"))
        .def("__next__", &BoundWalk::next, "Middles and radii after each of the next landmarks.", nb::lock_self());
    geometry.def(
        "walk",
        [](std::shared_ptr<BoundGeometry> self, Vector row) {
            return std::make_unique<BoundWalk>(std::move(self), row);
        },
        "row"_a, "The intervals of one row, some landmarks at a time.");
}

}  // namespace dormie
