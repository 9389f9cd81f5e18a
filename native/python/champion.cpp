// The champion stage, for Python.
#include "methods/champion.hpp"

#include "python/members.hpp"

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
          champion_(kept_->machine, checked_guess(kept_->machine, points_, weights_, size_.data(), rho_.data()),
                    checked_members(kept_->machine, kept_->machine.rule.classes, members, starts)) {}

    static BoundStage stage(const std::shared_ptr<BoundChampion> &self) { return {{self->champion_.stage(self)}}; }

  private:
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
