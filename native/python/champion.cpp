// The champion stage, for Python.
#include "methods/champion.hpp"

#include "python/bind.hpp"

namespace dormie {

namespace {

class BoundChampion {
  public:
    BoundChampion(std::shared_ptr<Kept> kept, Matrix points, Matrix weights, const Counts &members,
                  const Counts &starts)
        : kept_(std::move(kept)),
          points_(points),
          weights_(weights),
          size_{int64_t(points.shape(0))},
          rho_(size_t(kept_->machine.outputs)),
          champion_(kept_->machine, guess(), checked(members, starts)) {}

    static BoundStage stage(const std::shared_ptr<BoundChampion> &self) { return {{self->champion_.stage(self)}}; }

  private:
    static void require(bool fits) {
        if (!fits) throw nb::value_error("the arrays of the champion do not fit the machine");
    }

    Vectors guess() const {
        const Machine &m = kept_->machine;
        require(m.rule.kind == RuleKind::vote && points_.shape(0) >= 1 && weights_.shape(0) == points_.shape(0) &&
                ptrdiff_t(points_.shape(1)) == m.features && ptrdiff_t(weights_.shape(1)) == m.outputs);
        return {ptrdiff_t(points_.shape(0)), 1, points_.data(), size_.data(), weights_.data(), rho_.data()};
    }

    // Before anything reads the arrays, they are known to fit. That they name all the points that count, Python checks.
    Members checked(const Counts &members, const Counts &starts) const {
        const Machine &m = kept_->machine;
        const int64_t *first = starts.data(), *end = first + starts.shape(0);
        require(ptrdiff_t(starts.shape(0)) == m.rule.classes + 1 && *first == 0 && std::is_sorted(first, end) &&
                *(end - 1) == int64_t(members.shape(0)));
        require(std::all_of(members.data(), members.data() + members.shape(0),
                            [&](int64_t i) { return i >= 0 && i < int64_t(m.points_count); }));
        return {members.data(), first};
    }

    const std::shared_ptr<Kept> kept_;
    const Matrix points_, weights_;
    const std::vector<int64_t> size_;
    const std::vector<double> rho_;  // 0: the guess is judged without half-widths
    const Champion champion_;
};

}  // namespace

void bind_champion(nb::module_ &m) {
    nb::class_<BoundChampion> champion(m, "Champion", "A class that wins all its pairs of a one-vs-one vote.");
    champion.def(nb::init<std::shared_ptr<Kept>, Matrix, Matrix, const Counts &, const Counts &>(), "machine"_a,
                 "points"_a, "weights"_a, "members"_a, "starts"_a);
    champion.def("stage", &BoundChampion::stage, "The stage that decides rows.");
}

}  // namespace dormie
