// The open_pairs stage, for Python.
#include "methods/open_pairs.hpp"

#include "python/members.hpp"

namespace dormie {

namespace {

class BoundOpenPairs {
  public:
    BoundOpenPairs(std::shared_ptr<Kept> kept, Matrix points, Matrix weights, Vector half_widths, const Counts &members,
                   const Counts &starts)
        : kept_(std::move(kept)),
          points_(points),
          weights_(weights),
          half_widths_(half_widths),
          size_{int64_t(points.shape(0))},
          pairs_(kept_->machine, checked_guess(kept_->machine, points_, weights_, size_.data(), checked_half_widths()),
                 checked_members(kept_->machine, kept_->machine.outputs, members, starts)) {}

    static BoundStage stage(const std::shared_ptr<BoundOpenPairs> &self, double caution) {
        return {{self->pairs_.stage(caution, self)}};
    }

  private:
    const double *checked_half_widths() const {
        require_members(ptrdiff_t(half_widths_.shape(0)) == kept_->machine.outputs);
        return half_widths_.data();
    }

    const std::shared_ptr<Kept> kept_;
    const Matrix points_, weights_;
    const Vector half_widths_;
    const std::vector<int64_t> size_;
    const OpenPairs pairs_;
};

}  // namespace

void bind_open_pairs(nb::module_ &m) {
    nb::class_<BoundOpenPairs> pairs(m, "OpenPairs", "The pairs of a vote that a few vectors leave open, in full.");
    pairs.def(nb::init<std::shared_ptr<Kept>, Matrix, Matrix, Vector, const Counts &, const Counts &>(), "machine"_a,
              "points"_a, "weights"_a, "half_widths"_a, "members"_a, "starts"_a);
    pairs.def("stage", &BoundOpenPairs::stage, "caution"_a,
              "The stage that decides rows. caution: a factor on half-widths.");
}

}  // namespace dormie
