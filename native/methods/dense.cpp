#include "methods/dense.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>

#include "core/blocks.hpp"
#include "core/interval.hpp"
#include "core/rounding.hpp"
#include "core/rules.hpp"
#include "tiles/block_sums.hpp"
#include "tiles/one_output.hpp"

namespace dormie {

namespace {

constexpr int block_rows = 128;
constexpr ptrdiff_t cached = 1 << 20;  // bytes of points that stay in the cache of each core

template <class T> Forms forms_of() { return {std::is_same_v<T, float>, std::is_same_v<T, double>}; }

// What the stages of the full sum share; they differ in number type, form, and in how a row is judged.
template <class T, ArgumentForm form> class FullSumStage : public Stage {
  public:
    FullSumStage(std::shared_ptr<const void> owner, const Dense &dense) : owner_(std::move(owner)), dense_(dense) {}

    const Machine &machine() const override { return dense_.machine(); }
    Forms forms() const override { return forms_of<T>(); }
    int rows_at_once() const override {
        return rows_with_room(block_rows, std::max(sums_width(machine()), machine().features));
    }
    bool shares_points() const override {
        return ptrdiff_t(sizeof(T)) * machine().points_count * machine().features > cached;
    }
    double work(ptrdiff_t rows) const override { return dense_.work(rows); }

  protected:
    const std::shared_ptr<const void> owner_;
    const Dense &dense_;
};

// By intervals that reach the real-number outputs, at the margin of the source's own rounding.
template <class T, ArgumentForm form> class CertifiedFullSum final : public FullSumStage<T, form> {
  public:
    using FullSumStage<T, form>::FullSumStage;
    std::unique_ptr<Pass> pass(int rows) const override { return std::make_unique<Intervals>(this->dense_, rows); }

  private:
    class Intervals final : public Pass {
      public:
        Intervals(const Dense &dense, int rows)
            : of_{dense.machine(), dense.packed<T, form>()},
              m_(of_.machine),
              sums_(m_, rows),
              judge_(m_.rule, m_.outputs) {
            if (form != ArgumentForm::products || !OneOutput<T>::serves(m_)) return;
            one_output_.emplace(m_, of_.packed, of_.packed.panel_weights, m_.points_count, 0.0);
            one_sums_.emplace(one_output_->make_sums(rows));
            close_.reserve(size_t(rows));
        }

        void decide(const LaidOut &rows, Team &team, const Verdicts &verdicts) override {
            std::fill_n(verdicts.evaluations, rows.count(), int32_t(m_.points_count));
            if (one_output_ && team.threads() == 1 && one_output_->is_quicker_for(rows)) {
                one_output_->settle(rows, *one_sums_, judge_, verdicts.answers, close_);
                if (close_.empty() || !sums_.evaluate(of_, rows, close_.data(), int(close_.size()), team)) return;
            } else if (!sums_.evaluate(of_, rows, team)) {
                return;
            }
            for (int r = 0; r < sums_.count(); r++) {
                const MiddleRadius found = sums_.interval(r);
                verdicts.answers[sums_.place(r)] = judge_.settle(found, m_.margin, sums_.row(r).reach);
                verdicts.keep(sums_.place(r), found.middle, m_.outputs);
            }
        }

      private:
        const Summand<T> of_;
        const Machine &m_;
        BlockSums<T, true, form> sums_;
        Judge judge_;
        std::optional<OneOutput<T>> one_output_;
        std::optional<typename OneOutput<T>::Sums> one_sums_;
        std::vector<int> close_;
    };
};

// By the sum in float alone. Outputs that are asked for stay open where they leave the range of floats.
class FloatFullSum final : public FullSumStage<float, ArgumentForm::products> {
  public:
    FloatFullSum(std::shared_ptr<const void> owner, const Dense &dense, bool outputs)
        : FullSumStage(std::move(owner), dense), machine_(outputs ? dense.values_machine() : dense.machine()) {}

    const Machine &machine() const override { return machine_; }
    std::unique_ptr<Pass> pass(int rows) const override { return std::make_unique<Answers>(machine_, dense_, rows); }

  private:
    class Answers final : public Pass {
      public:
        Answers(const Machine &machine, const Dense &dense, int rows)
            : of_{machine, dense.packed<float, ArgumentForm::products>()},
              m_(of_.machine),
              sums_(m_, rows),
              judge_(m_.rule, m_.outputs) {
            if (!OneOutput<float>::sums(m_)) return;
            one_output_.emplace(m_, of_.packed, of_.packed.panel_weights, m_.points_count, 0.0);
            one_sums_.emplace(one_output_->make_sums(rows));
        }

        void decide(const LaidOut &rows, Team &team, const Verdicts &verdicts) override {
            std::fill_n(verdicts.evaluations, rows.count(), int32_t(m_.points_count));
            if (one_output_ && team.threads() == 1 && one_output_->is_quicker_for(rows))
                return one_output_->answer(rows, *one_sums_, judge_, verdicts);
            if (!sums_.evaluate(of_, rows, team)) return;
            for (int r = 0; r < rows.count(); r++) {
                const double *outputs = sums_.interval(r).middle;
                verdicts.answers[r] = judge_.answer(outputs);
                verdicts.keep(r, outputs, m_.outputs);
            }
        }

      private:
        const Summand<float> of_;
        const Machine &m_;
        BlockSums<float, false> sums_;
        Judge judge_;
        std::optional<OneOutput<float>> one_output_;
        std::optional<OneOutput<float>::Sums> one_sums_;
    };

    const Machine &machine_;
};

// The outputs in double, unless products lose so much that differences are better, or numbers leave the range of
// doubles: those rows are left open.
template <ArgumentForm form> class OutputsFullSum final : public FullSumStage<double, form> {
  public:
    using FullSumStage<double, form>::FullSumStage;
    const Machine &machine() const override { return this->dense_.values_machine(); }
    std::unique_ptr<Pass> pass(int rows) const override { return std::make_unique<Outputs>(this->dense_, rows); }

  private:
    class Outputs final : public Pass {
      public:
        Outputs(const Dense &dense, int rows)
            : dense_(dense), of_{dense.machine(), dense.packed<double, form>()}, sums_(of_.machine, rows) {}

        void decide(const LaidOut &rows, Team &team, const Verdicts &verdicts) override {
            const ptrdiff_t c = dense_.machine().outputs;
            std::fill_n(verdicts.evaluations, rows.count(), int32_t(dense_.machine().points_count));
            if (!sums_.evaluate(of_, rows, team)) return;
            for (int r = 0; r < rows.count(); r++) {
                verdicts.keep(r, sums_.interval(r).middle, c);
                const bool by_differences = form == ArgumentForm::differences;
                verdicts.answers[r] =
                    (by_differences ? rows.traits(r).far : dense_.cancels(rows.traits(r))) ? unsettled : 0;
            }
        }

      private:
        const Dense &dense_;
        const Summand<double> of_;
        BlockSums<double, false, form> sums_;
    };
};

}  // namespace

template <class T, ArgumentForm form> const Packed<T> &Dense::packed() const {
    auto made = [&](Layout<T> &layout, const Machine &machine, Storage storage) -> const Packed<T> & {
        std::call_once(layout.once, [&] { layout.packed = std::make_unique<Packed<T>>(machine, false, storage); });
        return *layout.packed;
    };
    if constexpr (form == ArgumentForm::differences)
        return made(differences_, unscaled(machine_), Storage::numbers);
    else if constexpr (std::is_same_v<T, float>)
        return made(float_, machine_, machine_.features > chunk ? Storage::bytes_where_exact : Storage::numbers);
    else
        return made(double_, machine_, Storage::numbers);
}

void Dense::prepare() const {
    packed<float, ArgumentForm::products>();
    packed<double, ArgumentForm::products>();
}

std::vector<std::shared_ptr<const Stage>> Dense::certified_stages(std::shared_ptr<const void> owner) const {
    std::vector<std::shared_ptr<const Stage>> stages;
    if (!points_cancel<float>())
        stages.push_back(std::make_shared<CertifiedFullSum<float, ArgumentForm::products>>(owner, *this));
    if (!points_cancel<double>())
        stages.push_back(std::make_shared<CertifiedFullSum<double, ArgumentForm::products>>(owner, *this));
    if (has_both_forms())
        stages.push_back(std::make_shared<CertifiedFullSum<double, ArgumentForm::differences>>(owner, *this));
    return stages;
}

std::vector<std::shared_ptr<const Stage>> Dense::float_stages(std::shared_ptr<const void> owner, bool outputs) const {
    return {std::make_shared<FloatFullSum>(owner, *this, outputs)};
}

std::vector<std::shared_ptr<const Stage>> Dense::output_stages(std::shared_ptr<const void> owner) const {
    std::vector<std::shared_ptr<const Stage>> stages{
        std::make_shared<OutputsFullSum<ArgumentForm::products>>(owner, *this)};
    if (has_both_forms()) stages.push_back(std::make_shared<OutputsFullSum<ArgumentForm::differences>>(owner, *this));
    return stages;
}

template <class T> bool Dense::points_cancel() const {
    const ptrdiff_t terms = std::min<ptrdiff_t>(machine_.features, chunk + (machine_.features + chunk - 1) / chunk);
    return dormie::points_cancel<T>(machine_, packed<T, ArgumentForm::products>(), terms);
}

bool Dense::cancels(const RowTraits &row) const {
    const PointSizes &sizes = packed<double, ArgumentForm::products>().sizes;
    return products_cancel(machine_, Rounding<double>(machine_, sizes, row));
}

template <class T> void Dense::interval(const Rows &rows, Team &team, double *middle, double *radius) const {
    struct Space {
        Space(const Machine &machine, int count) : sums(machine, count) {}
        BlockSums<T, true> sums;
        std::unique_ptr<BlockSums<double, true, ArgumentForm::differences>> by_differences;  // made when needed
        std::vector<int> poor;
    };
    const ptrdiff_t c = machine_.outputs;
    auto keep = [&](const LaidOut &block, auto &sums) {
        for (int r = 0; r < sums.count(); r++) {
            const ptrdiff_t at = block.number(sums.place(r)) * c;
            const MiddleRadius found = sums.interval(r);
            for (ptrdiff_t o = 0; o < c; o++) {
                middle[at + o] = found.middle[o], radius[at + o] = found.radius[o];
                forget_unless_finite(middle[at + o], radius[at + o]);
            }
        }
    };
    auto make = [&](int count) { return std::make_unique<Space>(machine_, count); };
    each_block(machine_, {true, true}, rows, rows_with_room(block_rows, sums_width(machine_)), team, make,
               [&](const LaidOut &block, Space &space) {
                   Team alone = team.of(1);
                   if (!space.sums.evaluate({machine_, packed<T, ArgumentForm::products>()}, block, alone)) return;
                   keep(block, space.sums);
                   if constexpr (!std::is_same_v<T, double>) return;
                   space.poor.clear();
                   for (int r = 0; r < block.count(); r++)
                       if (has_both_forms() && !block.traits(r).far && cancels(block.traits(r)))
                           space.poor.push_back(r);
                   if (space.poor.empty()) return;
                   if (!space.by_differences)
                       space.by_differences = std::make_unique<BlockSums<double, true, ArgumentForm::differences>>(
                           machine_, block.capacity());
                   const Summand<double> of{machine_, packed<double, ArgumentForm::differences>()};
                   if (space.by_differences->evaluate(of, block, space.poor.data(), int(space.poor.size()), alone))
                       keep(block, *space.by_differences);
               });
}
template void Dense::interval<float>(const Rows &, Team &, double *, double *) const;
template void Dense::interval<double>(const Rows &, Team &, double *, double *) const;

}  // namespace dormie
