// The fast_stopping stage, for Python.
#include "methods/fast_stopping.hpp"

#include "python/bind.hpp"

namespace dormie {

namespace {

class BoundFastStopping {
  public:
    BoundFastStopping(std::shared_ptr<Kept> kept, bool nonnegative)
        : kept_(std::move(kept)), stopping_(kept_->machine, nonnegative) {}

    auto decide(const Rows &rows, int threads) const {
        int64_t *term;
        Answers answers(kept_->machine, rows.n);
        auto terms = new_array(term, rows.n);
        run_on(kept_->machine, rows, threads, stopping_.work(rows.n),
               [&](Team &team) { stopping_.decide(rows, team, answers.numbers, term, answers.values); });
        return nb::make_tuple(answers.array(), answers.settled(), terms);
    }

    auto interval(const Rows &rows, ptrdiff_t budget, int threads) const {
        double *low, *high;
        auto lows = new_array(low, rows.n, kept_->machine.outputs);
        auto highs = new_array(high, rows.n, kept_->machine.outputs);
        run_on(kept_->machine, rows, threads, stopping_.work(rows.n),
               [&](Team &team) { stopping_.interval(rows, budget, team, low, high); });
        return nb::make_tuple(lows, highs);
    }

  private:
    const std::shared_ptr<Kept> kept_;
    const FastStopping stopping_;
};

}  // namespace

void bind_fast_stopping(nb::module_ &m) {
    auto fast_stopping = nb::class_<BoundFastStopping>(m, "FastStopping").def(nb::init<std::shared_ptr<Kept>, bool>());
    bind_rows(fast_stopping, "decide", &BoundFastStopping::decide);
    bind_rows(fast_stopping, "interval", &BoundFastStopping::interval);
}

}  // namespace dormie
