#include "methods/geometry.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "core/blocks.hpp"
#include "core/interval.hpp"
#include "core/rounding.hpp"
#include "core/rules.hpp"
#include "tiles/panel.hpp"
#include "tiles/row_block.hpp"

namespace dormie {

namespace {

constexpr int W = tile_width<double>;
constexpr double unit = 0x1p-53;
constexpr double lost_square = 1e-290;  // more than sums of squares lose below the normal range

Machine without_weights(Machine m, const Span &span) {
    m.points_count = span.landmarks;
    m.points = span.points;
    m.outputs = 0;
    return m;
}

int rows_at_once(const Machine &m) {
    return rows_with_room(std::clamp<ptrdiff_t>((1 << 16) / m.features, 32, 256), std::max(m.outputs, m.features));
}

}  // namespace

// Rows on their way through the landmarks, closed up as they are settled.
class Geometry::Block {
  public:
    // landmarks: as many as a row can have coordinates along.
    Block(const Geometry &geometry, ptrdiff_t landmarks, int capacity)
        : g_(geometry),
          tall_((landmarks + W - 1) / W * W),
          rows_(g_.landmarks_, capacity),
          group_count_((capacity + R - 1) / R),
          values_(size_t(group_count_) * R * panel_stride<double>),
          product_(size_t(R) * panel_stride<double>),
          q_(size_t(group_count_) * tall_ * R),
          squares_(size_t(group_count_) * R),
          sizes_(size_t(group_count_) * R),
          sums_(size_t(group_count_) * R * g_.machine_.outputs),
          middle_(g_.machine_.outputs),
          radius_(g_.machine_.outputs),
          one_q_(tall_),
          value_errors_(capacity),
          places_(chunk),
          places_of_(capacity),
          settled_(capacity),
          judge_(g_.machine_.rule, g_.machine_.outputs) {
        std::iota(places_.begin(), places_.end(), 0);
        open_.reserve(capacity);
    }

    void start(const LaidOut &rows) {
        rows_.arrange(rows);
        for (int r = 0; r < rows.count(); r++) {
            places_of_[r] = r;
            settled_[r] = false;
            value_errors_[r] = Rounding<double>(g_.landmarks_, g_.packed_.sizes, rows_.row(r)).value_error();
        }
        std::fill_n(squares_.get(), size_t(group_count_) * R, 0.0);
        std::fill_n(sizes_.get(), size_t(group_count_) * R, 0.0);
        std::fill_n(sums_.get(), size_t(group_count_) * R * g_.machine_.outputs, 0.0);
        done_ = 0;
    }

    int count() const { return rows_.count(); }
    // Which row of the block row r is.
    int place(int r) const { return places_of_[r]; }
    ptrdiff_t done() const { return done_; }

    // Coordinates of every row along the next tile of landmarks; they are not yet in the sums.
    void solve_tile() {
        const ptrdiff_t tile = done_ / W;
        evaluate_kernel(tile);
        for (int g = 0; g < rows_.groups(); g++) {
            double *q = group_q(g);
            multiply_factor(q, tile);
            ops<double>().solve(values_.get() + ptrdiff_t(g) * R * panel_stride<double>, product_.get(),
                                panel_stride<double>, g_.blocks_.get() + tile * W * W, q + done_ * R);
        }
    }

    // Takes the next n solved coordinates into the sums.
    void project(int n) {
        const ptrdiff_t c = g_.machine_.outputs;
        for (int g = 0; g < rows_.groups(); g++)
            ops<double>().project(group_q(g) + done_ * R, n, g_.span_.norms + done_, g_.span_.coordinates + done_ * c,
                                  int(c), squares_.get() + g * R, sizes_.get() + g * R,
                                  sums_.get() + ptrdiff_t(g) * R * c);
        done_ += n;
    }

    // Through the next tile, or as far into it as the budget reaches.
    void advance(ptrdiff_t budget) {
        solve_tile();
        project(int(std::min<ptrdiff_t>(W, budget - done_)));
    }

    // Judges the rows not settled yet: judged(place, answer, middle) for those that are not clearly open still.
    // Returns whether any is left.
    template <class Judged> bool settle(const Judged &judged) {
        open_.clear();
        for (int r = 0; r < rows_.count(); r++) {
            if (settled_[r]) continue;
            if (!clearly_open(r)) {
                const MiddleRadius found = interval(r);
                const int answer = judge_.settle(found, g_.machine_.margin, rows_.row(r).reach);
                judged(place(r), answer, found.middle);
                settled_[r] = answer != unsettled;
            }
            if (!settled_[r]) open_.push_back(r);
        }
        close_up();
        return !open_.empty();
    }

    // G and radius of row r after done() landmarks; bounds as derived in methods/geometry/span.py.
    MiddleRadius interval(int r) {
        const Span &s = g_.span_;
        const ptrdiff_t c = g_.machine_.outputs, k = done_ - 1;
        const int lane = r % R;
        const ptrdiff_t group = r / R;
        const double gamma = double(done_ + 20) * unit;
        const double square = squares_[r], root = std::sqrt(square + lost_square), h = sizes_[r] * (1 + gamma);
        const double mistake = std::sqrt(double(done_)) * value_errors_[r] + gamma * s.factor_norm[k] * root;
        const double norm = rows_.row(r).norm, self = diagonal(g_.machine_.kernel, norm * norm);
        const double self_error =
            (double(g_.machine_.kernel.degree) + 1) * double(g_.machine_.features + 16) * unit * self + lost_square;
        const double far2 = self + self_error - square * (1 - gamma) + 2 * h * mistake + h * h * s.factor_error[k];
        const double far = far2 > 0 ? std::sqrt(far2) : far2 <= 0 ? 0 : far2;  // NaN stays
        for (ptrdiff_t o = 0; o < c; o++) {
            const ptrdiff_t at = k * c + o;
            const double bias = g_.machine_.bias[o];
            middle_[o] = sums_[group * R * c + o * R + lane] + bias;
            const double rounding = h * (s.misfit[at] + s.weight_norms[at] * s.factor_error[k]) +
                                    s.weight_norms[at] * mistake + gamma * s.coordinate_norms[at] * root +
                                    2 * unit * std::abs(bias);
            radius_[o] = (s.rho[at] * far + rounding) * (1 + 1e-12);
            forget_unless_finite(middle_[o], radius_[o]);
        }
        return {middle_.data(), radius_.data()};
    }

  private:
    // Whether a sign is clearly still open: told without square roots, for the many rows that are not there yet.
    bool clearly_open(int r) const {
        if (g_.machine_.rule.kind != RuleKind::sign) return false;
        const double norm = rows_.row(r).norm, middle = sums_[(r / R) * R + r % R] + g_.machine_.bias[0];
        const double rho = g_.span_.rho[done_ - 1], self = diagonal(g_.machine_.kernel, norm * norm);
        return rho * rho * (self - squares_[r]) * (1 - 1e-9) > middle * middle;
    }

    // The open rows, ascending, close up once that frees a quarter of the groups.
    void close_up() {
        const int needed = (int(open_.size()) + R - 1) / R;
        if (needed > 3 * rows_.groups() / 4) return;
        const ptrdiff_t c = g_.machine_.outputs;
        for (int r = 0; r < int(open_.size()); r++) {
            const int from = open_[r];
            settled_[r] = false;
            if (from == r) continue;
            places_of_[r] = places_of_[from];
            value_errors_[r] = value_errors_[from];
            squares_[r] = squares_[from];
            sizes_[r] = sizes_[from];
            move_column(sums_.get(), c, from, r);
            move_column(q_.get(), tall_, from, r, done_);
        }
        rows_.keep(open_);
    }

    double *group_q(int g) const { return q_.get() + ptrdiff_t(g) * tall_ * R; }

    // Grouped storage: height numbers per row, rows of a group side by side.
    void move_column(double *data, ptrdiff_t height, int from, int to, ptrdiff_t used = -1) const {
        const double *a = data + (from / R) * height * R + from % R;
        double *b = data + (to / R) * height * R + to % R;
        for (ptrdiff_t i = 0; i < (used < 0 ? height : used); i++) b[i * R] = a[i * R];
    }

    void evaluate_kernel(ptrdiff_t tile) {
        rows_.products(g_.packed_, tile, 1, values_.get());
        for (int r = 0; r < rows_.count(); r++) {
            const RowTraits &row = rows_.row(r);
            evaluate_row<double>(g_.machine_, row, 0, g_.packed_.lane_offset.get() + tile * W, W,
                                 values_.get() + ptrdiff_t(r) * panel_stride<double>, nullptr);
        }
    }

    // product_ = T's rows of this tile, left of the diagonal block, times the coordinates so far.
    void multiply_factor(const double *q, ptrdiff_t tile) {
        const double *factor = g_.factor_.get() + g_.tile_start_[tile];
        if (done_ == 0) std::fill_n(product_.get(), size_t(R) * panel_stride<double>, 0.0);
        if (rows_.count() <= few_rows) return multiply_factor_by_few(q, factor);
        for (ptrdiff_t i = 0; i < done_; i += chunk)
            ops<double>().group_products(q + i * R, factor + i * W, std::min<ptrdiff_t>(chunk, done_ - i),
                                         product_.get(), panel_stride<double>, i > 0);
    }

    // A group costs the same however few of its rows are there; row by row is cheaper then, and gives the same bits.
    void multiply_factor_by_few(const double *q, const double *factor) {
        for (int r = 0; r < rows_.count(); r++) {
            for (ptrdiff_t i = 0; i < done_; i++) one_q_[i] = q[i * R + r];
            for (ptrdiff_t i = 0; i < done_; i += chunk) {
                const int32_t bounds[2] = {0, int32_t(std::min<ptrdiff_t>(chunk, done_ - i))};
                ops<double>().list_products({1, places_.data(), one_q_.data() + i, bounds, 0},
                                            {factor + i * W, nullptr, 0, 1}, product_.get() + r * panel_stride<double>,
                                            panel_stride<double>, i > 0);
            }
        }
    }

    static constexpr int few_rows = 2;
    const Geometry &g_;
    const int R = ops<double>().group_rows;
    const ptrdiff_t tall_;
    RowBlock<double> rows_;
    const ptrdiff_t group_count_;
    Aligned<double> values_, product_, q_, squares_, sizes_, sums_;
    std::vector<double> middle_, radius_, one_q_, value_errors_;
    std::vector<int32_t> places_;  // 0, 1, 2, ...
    std::vector<int> places_of_;
    std::vector<bool> settled_;
    Judge judge_;
    std::vector<int> open_;
    ptrdiff_t done_ = 0;
};

Geometry::Geometry(const Machine &machine, const Span &span)
    : machine_(machine), landmarks_(without_weights(machine, span)), span_(span), packed_(landmarks_) {
    pack_factor();
}

Geometry::~Geometry() = default;

void Geometry::pack_factor() {
    const ptrdiff_t k = span_.landmarks, tiles = packed_.tiles;
    factor_ = Aligned<double>(size_t(W) * W * tiles * (tiles > 0 ? tiles - 1 : 0) / 2);
    blocks_ = Aligned<double>(size_t(W) * W * tiles);
    ptrdiff_t start = 0;
    for (ptrdiff_t t = 0; t < tiles; t++) {
        tile_start_.push_back(start);
        for (int lane = 0; lane < W; lane++) {
            const ptrdiff_t row = t * W + lane;
            if (row >= k) break;
            const double *from = span_.factor + row * k;
            for (ptrdiff_t i = 0; i < t * W; i++) factor_[start + i * W + lane] = from[i];
            for (int i = 0; i < lane; i++) blocks_[(t * W + lane) * W + i] = from[t * W + i];
            blocks_[(t * W + lane) * W + lane] = 1 / from[row];
        }
        start += t * W * W;
    }
}

class Geometry::Landmarks final : public Stage {
  public:
    Landmarks(const Geometry &geometry, ptrdiff_t budget, std::shared_ptr<const void> owner)
        : g_(geometry), budget_(budget), owner_(std::move(owner)) {}

    const Machine &machine() const override { return g_.machine_; }
    Forms forms() const override { return {false, true}; }
    int rows_at_once() const override { return dormie::rows_at_once(g_.machine_); }
    double work(ptrdiff_t rows) const override { return g_.work(rows, budget_); }
    std::unique_ptr<Pass> pass(int rows) const override { return std::make_unique<Intervals>(*this, rows); }

  private:
    class Intervals final : public Pass {
      public:
        Intervals(const Landmarks &landmarks, int rows) : l_(landmarks), block_(l_.g_, l_.budget_, rows) {}

        void decide(const LaidOut &rows, Team &team, const Verdicts &verdicts) override {
            const ptrdiff_t c = l_.g_.machine_.outputs;
            std::fill_n(verdicts.answers, rows.count(), unsettled);
            std::fill_n(verdicts.evaluations, rows.count(), int32_t(l_.budget_));
            if (verdicts.values) std::fill_n(verdicts.values, rows.count() * c, 0.0);
            block_.start(rows);
            bool open = true;
            while (open && block_.done() < l_.budget_ && !team.should_stop()) {
                block_.advance(l_.budget_);
                open = block_.settle([&](int r, int answer, const double *middle) {
                    verdicts.keep(r, middle, c);
                    if (answer == unsettled) return;
                    verdicts.answers[r] = answer;
                    verdicts.evaluations[r] = int32_t(block_.done());
                });
            }
        }

      private:
        const Landmarks &l_;
        Block block_;
    };

    const Geometry &g_;
    const ptrdiff_t budget_;
    const std::shared_ptr<const void> owner_;
};

std::shared_ptr<const Stage> Geometry::stage(ptrdiff_t budget, std::shared_ptr<const void> owner) const {
    return std::make_shared<Landmarks>(*this, budget, std::move(owner));
}

void Geometry::interval(const Rows &rows, ptrdiff_t budget, Team &team, double *middle, double *radius) const {
    const ptrdiff_t c = machine_.outputs;
    auto make = [&](int count) { return std::make_unique<Block>(*this, budget, count); };
    each_block(machine_, {false, true}, rows, rows_at_once(machine_), team, make,
               [&](const LaidOut &laid_out, Block &block) {
                   block.start(laid_out);
                   while (block.done() < budget) {
                       if (team.should_stop()) return;  // before the first landmark there is no interval to read
                       block.advance(budget);
                   }
                   for (int r = 0; r < block.count(); r++) {
                       const MiddleRadius found = block.interval(r);
                       const ptrdiff_t at = laid_out.number(r) * c;
                       std::copy_n(found.middle, c, middle + at);
                       std::copy_n(found.radius, c, radius + at);
                   }
               });
}

Geometry::Walk::Walk(const Geometry &geometry, const Rows &row)
    : geometry_(geometry),
      row_(geometry.machine_, 1, {false, true}),
      block_(std::make_unique<Block>(geometry, geometry.span_.landmarks, 1)) {
    row_.read(row, 0, 1);
    block_->start(row_);
}

Geometry::Walk::~Walk() = default;

int Geometry::Walk::next(double *middle, double *radius) {
    const ptrdiff_t c = geometry_.machine_.outputs, from = block_->done();
    const ptrdiff_t end = std::min<ptrdiff_t>(from + W, geometry_.span_.landmarks);
    if (from < end) block_->solve_tile();
    while (block_->done() < end) {
        const ptrdiff_t step = block_->done() - from;
        block_->project(1);
        const MiddleRadius found = block_->interval(0);
        std::copy_n(found.middle, c, middle + step * c);
        std::copy_n(found.radius, c, radius + step * c);
    }
    return int(end - from);
}

}  // namespace dormie
