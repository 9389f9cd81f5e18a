#include <algorithm>
#include <bit>
#include <cmath>

#include "core/blocks.hpp"
#include "core/kernel.hpp"
#include "core/norm.hpp"
#include "methods/nearest/nearest.hpp"
#include "tiles/panel.hpp"

namespace dormie {

namespace {

constexpr int W = tile_width<float>;
constexpr ptrdiff_t values_at_once = 1 << 17;  // half the second-level cache
constexpr ptrdiff_t most_rows = 64;

// Scores, the largest first: those of a tile are looked through only when its largest is due. Scores are not negative,
// so they may be compared by their bits, which compilers turn into whole vectors; what is below 0 is not there.
class Ranking {
  public:
    void reserve(ptrdiff_t tiles) { largest_.reserve(size_t(tiles)); }

    void start(int32_t *scores, ptrdiff_t tiles) {
        scores_ = scores;
        largest_.resize(size_t(tiles));
        for (ptrdiff_t t = 0; t < tiles; t++) largest_[t] = largest_of(scores_ + t * W, W);
    }

    // Takes the largest score away and says its place, the first of equal ones. There must be one.
    ptrdiff_t take() {
        const int32_t best = largest_of(largest_.data(), int(largest_.size()));
        const ptrdiff_t tile = std::find(largest_.begin(), largest_.end(), best) - largest_.begin();
        int32_t *scores = scores_ + tile * W;
        const ptrdiff_t lane = std::find(scores, scores + W, best) - scores;
        scores[lane] = -1;
        largest_[tile] = largest_of(scores, W);
        return tile * W + lane;
    }

  private:
    static int32_t largest_of(const int32_t *scores, int n) {
        int32_t largest = -1;
        for (int i = 0; i < n; i++) largest = std::max(largest, scores[i]);
        return largest;
    }

    int32_t *scores_ = nullptr;
    std::vector<int32_t> largest_;
};

std::vector<double> weight_sizes(const Machine &m) {
    std::vector<double> sizes(size_t(m.points_count));
    for (ptrdiff_t i = 0; i < m.points_count; i++)
        for (ptrdiff_t o = 0; o < m.outputs; o++) sizes[i] += std::abs(m.weights[i * m.outputs + o]);
    return sizes;
}

std::vector<double> in_places(const double *from, ptrdiff_t size, const std::vector<int32_t> &place, double times = 1) {
    std::vector<double> out(place.size() * size_t(size));
    for (size_t i = 0; i < place.size(); i++)
        if (place[i] >= 0)
            for (ptrdiff_t k = 0; k < size; k++) out[i * size_t(size) + size_t(k)] = times * from[place[i] * size + k];
    return out;
}

Machine weighing(Machine sketched, const Machine &machine, const double *weights) {
    sketched.outputs = machine.outputs;
    sketched.weights = weights;
    return sketched;
}

std::vector<float> in_places(const std::vector<double> &sizes, const std::vector<int32_t> &place) {
    std::vector<float> out(place.size());
    for (size_t i = 0; i < place.size(); i++) out[i] = place[i] < 0 ? -1 : float(sizes[place[i]]);
    return out;
}

}  // namespace

Sides::Sides(const Machine &m) {
    for (int side = 0; side < 2; side++) {
        const size_t before = place.size();
        for (ptrdiff_t i = 0; i < m.points_count; i++)
            if ((m.outputs > 1 || m.weights[i] > 0) == (side == 0)) place.push_back(int32_t(i));
        counts[side] = ptrdiff_t(place.size() - before);
        place.resize((place.size() + W - 1) / W * W, -1);
        tiles[side] = ptrdiff_t(place.size() - before) / W;
    }
}

// A few rows, what is foreseen of their terms, and the order of the one at hand.
class NearestByQuery::Few final : public Block {
  public:
    Few(const NearestByQuery &nearest, int capacity)
        : n_(nearest),
          rows_(n_.machine_, capacity),
          laid_out_sketches_(n_.sketched_, capacity, {true, false}),
          sketched_rows_(n_.sketched_, capacity),
          values_(Sketch::room(capacity)),
          sketches_(size_t(capacity * n_.sketch_.size())),
          foreseen_(size_t(capacity) * n_.sides_.place.size()),
          scores_(n_.sides_.place.size()),
          leads_(size_t(capacity * n_.machine_.outputs)),
          x_(size_t(n_.stride_)),
          usable_(capacity),
          points_(size_t(n_.steps_.back())),
          before_(size_t(n_.steps_.back())),
          terms_(size_t(padded<float>(n_.steps_.back()))),
          offsets_(size_t(padded<float>(n_.steps_.back()))),
          sums_(n_.machine_.outputs) {
        for (int side = 0; side < 2; side++) ranking_[side].reserve(n_.sides_.tiles[side]);
    }

    void start(const LaidOut &rows) {
        rows_.arrange(rows);
        n_.sketch_.components(rows_, values_.get());
        const ptrdiff_t size = n_.sketch_.size();
        for (int r = 0; r < rows.count(); r++) {
            const RowTraits &row = rows_.row(r);
            float *sketch = sketches_.get() + r * size;
            const float *z = values_.get() + r * panel_stride<float>;
            usable_[r] = !row.far && !row.lost && n_.sketch_.of_row(z, row.norm, sketch);
            if (!usable_[r]) std::fill_n(sketch, size, 0.0f);
            std::copy_n(n_.machine_.bias, n_.machine_.outputs, lead_of(r));
        }
        const StridedRows<float> sketches(sketches_.get(), rows.count(), size, size, 1);
        laid_out_sketches_.read(sketches, 0, rows.count());
        sketched_rows_.arrange(laid_out_sketches_);
        for (ptrdiff_t p = 0; p < n_.packed_.panels; p++) foresee(p);
    }

    void walk(const LaidOut &rows, const Visit &visit) override {
        start(rows);
        for (int r = 0; r < rows.count(); r++)
            if (usable_[r]) walk_row(r, visit);
    }

    // The order of one row, -1 throughout where its numbers are too large.
    void order(int r, int64_t *out) {
        const int count = int(n_.steps_.back());
        if (usable_[r]) {
            rank(r);
            take(r, count);
        } else {
            std::fill(points_.begin(), points_.end(), -1);
        }
        std::copy_n(points_.data(), count, out);
    }

  private:
    void walk_row(int r, const Visit &visit) {
        Progress at{r, 0, 0, 0};
        std::copy_n(lead_of(r), sums_.size(), sums_.data());
        if (n_.steps_[0] == 0 && visit(at.place, at.cell, at.step++, sums_.data())) return;
        rank(r);
        for (size_t step = size_t(at.step); step < n_.steps_.size(); step++) {
            const int count = int(n_.steps_[step] - at.done);
            take(r, count);
            evaluate(r, count);
            if (n_.add_terms(terms_.get(), points_.data(), count, at, sums_.data(), visit)) return;
        }
    }

    // Values of a panel's points in few coordinates, for all rows.
    void foresee(ptrdiff_t panel) {
        const Packed<float> &packed = n_.packed_;
        const ptrdiff_t lanes = packed.tiles_of(panel) * W, from = panel * panel_width<float>;
        const PanelWeights<float> &weights = packed.panel_weights[panel];
        sketched_rows_.products(packed, panel * panel_tiles, packed.tiles_of(panel), values_.get());
        for (int r = 0; r < rows_.count(); r++) {
            float *values = values_.get() + ptrdiff_t(r) * panel_stride<float>;
            const float *offsets = packed.lane_offset.get() + from;
            evaluate_row<float>(n_.sketched_, sketched_rows_.row(r), 0, offsets, int(lanes), values, nullptr);
            ops<float>().weigh(values, weights.weights.get(), int(lanes), weights.slots.data(),
                               int(weights.slots.size()) - 1, lead_of(r));
            std::copy_n(values, lanes, foreseen_of(r) + from);
        }
    }

    float *foreseen_of(int r) const { return foreseen_.get() + r * ptrdiff_t(n_.sides_.place.size()); }
    double *lead_of(int r) { return leads_.data() + r * n_.machine_.outputs; }

    // Begins the order of a row.
    void rank(int r) {
        const float *foreseen = foreseen_of(r), *sizes = n_.place_sizes_.data();
        for (size_t i = 0; i < n_.place_sizes_.size(); i++) {
            const float score = sizes[i] * std::abs(foreseen[i]);
            scores_[i] = sizes[i] < 0 ? -1 : std::bit_cast<int32_t>(score > 0 ? score : 0.0f);
        }
        int32_t *scores = scores_.get();
        for (int side = 0; side < 2; side++) {
            ranking_[side].start(scores, n_.sides_.tiles[side]);
            scores += n_.sides_.tiles[side] * W;
            taken_[side] = 0;
            left_[side] = n_.sides_.counts[side];
        }
    }

    // The next points: of the side whose weights have come to less so far, the positive one if they are level.
    void take(int r, int count) {
        for (int k = 0; k < count; k++) {
            const int side = left_[1] == 0 || (left_[0] > 0 && taken_[0] <= taken_[1]) ? 0 : 1;
            const ptrdiff_t place = side * n_.sides_.tiles[0] * W + ranking_[side].take();
            points_[k] = n_.sides_.place[place];
            before_[k] = n_.foresight_ == 0 ? 0 : float(n_.foresight_ * foreseen_of(r)[place]);  // infinite values too
            taken_[side] += n_.sizes_[points_[k]];
            left_[side]--;
        }
    }

    // Kernel values of a row with the points taken, less what counted for them before.
    void evaluate(int r, int count) {
        const Machine &m = n_.machine_;
        std::copy_n(rows_.values(r), m.features, x_.get());
        ops<float>().dots(x_.get(), n_.points_.get(), n_.stride_, points_.data(), count, n_.stride_, terms_.get());
        for (int k = 0; k < count; k++) offsets_[k] = n_.offsets_[points_[k]];
        evaluate_row<float>(m, rows_.row(r), 0, offsets_.get(), int(padded<float>(count)), terms_.get(), nullptr);
        for (int k = 0; k < count; k++) terms_[k] -= before_[k];
    }

    const NearestByQuery &n_;
    RowBlock<float> rows_;
    LaidOut laid_out_sketches_;
    RowBlock<float> sketched_rows_;
    Aligned<float> values_, sketches_;
    Aligned<float> foreseen_;    // values in few coordinates
    Aligned<int32_t> scores_;    // of the row at hand
    std::vector<double> leads_;  // the bias and what is foreseen of the terms
    Aligned<float> x_;
    std::vector<char> usable_;  // nothing overflowed
    Ranking ranking_[2];
    double taken_[2];    // weight, on either side
    ptrdiff_t left_[2];  // points, on either side
    std::vector<int32_t> points_;
    std::vector<float> before_;
    Aligned<float> terms_, offsets_;
    std::vector<double> sums_;
};

NearestByQuery::NearestByQuery(const Machine &machine, const double *basis, ptrdiff_t components,
                               std::vector<int64_t> steps, double foresight)
    : Nearest(machine, std::move(steps), 1),
      sketch_(machine, basis, components),
      foresight_(foresight),
      sizes_(weight_sizes(machine)),
      sides_(machine),
      sketches_(in_places(sketch_.of_points(machine, basis).data(), sketch_.size(), sides_.place)),
      weights_(in_places(machine.weights, machine.outputs, sides_.place, foresight)),
      sketched_(weighing(over_points(machine, ptrdiff_t(sides_.place.size()), sketch_.size(), sketches_.data()),
                         machine, weights_.data())),
      packed_(sketched_, true),
      place_sizes_(in_places(sizes_, sides_.place)),
      stride_(padded<float>(machine.features)),
      points_(size_t(machine.points_count * stride_)),
      offsets_(size_t(machine.points_count)) {
    for (ptrdiff_t i = 0; i < machine.points_count; i++) {
        const double *s = machine.points + i * machine.features;
        const ScaleOffset terms = lane_terms(machine.kernel, squared_norm(s, machine.features));
        for (ptrdiff_t j = 0; j < machine.features; j++) points_[i * stride_ + j] = float(s[j] * terms.scale);
        offsets_[i] = float(terms.offset);
    }
}

int NearestByQuery::rows_at_once() const {
    return int(std::clamp<ptrdiff_t>(values_at_once / ptrdiff_t(sides_.place.size()), 8, most_rows));
}

std::unique_ptr<Nearest::Block> NearestByQuery::block(int rows) const { return std::make_unique<Few>(*this, rows); }

void NearestByQuery::order(const Rows &rows, Team &team, int64_t *out) const {
    auto make = [&](int count) { return std::make_unique<Few>(*this, count); };
    each_block(machine_, {true, false}, rows, rows_at_once(), team, make, [&](const LaidOut &laid_out, Few &few) {
        few.start(laid_out);
        for (int r = 0; r < laid_out.count(); r++) few.order(r, out + laid_out.number(r) * steps_.back());
    });
}

}  // namespace dormie
