// The reduced_set stage, for Python.
#include "methods/reduced_set.hpp"

#include "python/bind.hpp"

namespace dormie {

namespace {

class BoundReducedSet {
  public:
    BoundReducedSet(std::shared_ptr<Kept> kept, Matrix points, Counts sizes, Matrix weights, Matrix rho)
        : kept_(std::move(kept)),
          points_(points),
          weights_(weights),
          rho_(rho),
          sizes_(sizes.data(), sizes.data() + sizes.shape(0)),
          set_(kept_->machine, checked()) {}

    static BoundStage stage(const std::shared_ptr<BoundReducedSet> &self, double caution, bool by_champion) {
        if (!(caution >= 0 && std::isfinite(caution))) throw nb::value_error("caution must be finite and at least 0");
        return {{self->set_.stage(caution, by_champion, self)}};
    }

    Intervals interval(const Rows &rows, ptrdiff_t level, int threads) const {
        double *middle, *radius;
        auto middles = new_array(middle, rows.n, kept_->machine.outputs);
        auto radii = new_array(radius, rows.n, kept_->machine.outputs);
        if (level < 0 || level >= ptrdiff_t(sizes_.size())) throw nb::value_error("there is no such level");
        run_on(kept_->machine, rows, threads, set_.work(rows.n),
               [&](Team &team) { set_.interval(rows, level, team, middle, radius); });
        return {middles, radii};
    }

  private:
    // Before anything reads the arrays, they are known to fit.
    Vectors checked() const {
        const Machine &m = kept_->machine;
        const int64_t n = int64_t(points_.shape(0));
        int64_t before = 0, rows = 0;
        bool fits = !sizes_.empty() && ptrdiff_t(points_.shape(1)) == m.features;
        for (const int64_t size : sizes_) {
            fits = fits && size > before && size <= n && rows <= int64_t(weights_.shape(0));
            before = size;
            rows += fits ? size : 0;
        }
        fits = fits && before == n && rows == int64_t(weights_.shape(0)) && rho_.shape(0) == sizes_.size() &&
               ptrdiff_t(weights_.shape(1)) == m.outputs && ptrdiff_t(rho_.shape(1)) == m.outputs;
        if (!fits) throw nb::value_error("the arrays of the reduced set do not fit together");
        return {n, ptrdiff_t(sizes_.size()), points_.data(), sizes_.data(), weights_.data(), rho_.data()};
    }

    const std::shared_ptr<Kept> kept_;
    const Matrix points_, weights_, rho_;
    const std::vector<int64_t> sizes_;  // a copy: what was checked is what is used
    const ReducedSet set_;
};

}  // namespace

void bind_reduced_set(nb::module_ &m) {
    nb::class_<BoundReducedSet> reduced_set(m, "ReducedSet", "A few vectors for all (Burges & Schölkopf 1997).");
    reduced_set.def(nb::init<std::shared_ptr<Kept>, Matrix, Counts, Matrix, Matrix>(), "machine"_a, "points"_a,
                    "sizes"_a, "weights"_a, "rho"_a);
    reduced_set.def(
        "stage", &BoundReducedSet::stage, "caution"_a, "by_champion"_a,
        "The stage that decides rows. caution: a factor on rho. by_champion: whether a vote of three or more "
        "classes is settled only by a class that wins all its pairs.");
    bind_rows(reduced_set, "interval", &BoundReducedSet::interval, "Middles and radii of every output at a level.",
              "level"_a);
}

}  // namespace dormie
