// The fast_stopping stage, for Python.
#include "methods/fast_stopping.hpp"

#include "python/bind.hpp"

namespace dormie {

namespace {

class BoundFastStopping {
  public:
    BoundFastStopping(std::shared_ptr<Kept> kept, int one_sided)
        : kept_(std::move(kept)), stopping_(kept_->machine, OneSided(one_sided)) {}

    Intervals interval(const Rows &rows, ptrdiff_t budget, int threads) const {
        double *low, *high;
        auto lows = new_array(low, rows.n, kept_->machine.outputs);
        auto highs = new_array(high, rows.n, kept_->machine.outputs);
        run_on(kept_->machine, rows, threads, stopping_.work(rows.n),
               [&](Team &team) { stopping_.interval(rows, budget, team, low, high); });
        return {lows, highs};
    }

    static BoundStage stage(const std::shared_ptr<BoundFastStopping> &self) { return {{self->stopping_.stage(self)}}; }

  private:
    const std::shared_ptr<Kept> kept_;
    const FastStopping stopping_;
};

}  // namespace

void bind_fast_stopping(nb::module_ &m) {
    nb::class_<BoundFastStopping> fast_stopping(m, "FastStopping", "Fast stopping (Muller 2004).");
    fast_stopping.def(
        nb::init<std::shared_ptr<Kept>, int>(), "machine"_a, "one_sided"_a,
        "The points of the machine are in the order in which they are added. one_sided: which rows have no negative "
        "kernel value, 0 none, 1 those without negative mapped coordinates, 2 all.");
    fast_stopping.def("stage", &BoundFastStopping::stage, "The stage that decides rows.");
    bind_rows(fast_stopping, "interval", &BoundFastStopping::interval,
              "Low and high ends of every output after `budget` terms, rounded up to whole tiles of 32.", "budget"_a);
}

}  // namespace dormie
