// Certified methods and the bounds on rounding, without Python: every interval contains the real number that the
// oracle has written, every answer that is settled is the real numbers', and neither depends on the batch or on
// threads. It prints what is wrong, and how many cases of each method it looked at.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>

#include "cases.hpp"
#include "core/cascade.hpp"
#include "methods/champion.hpp"
#include "methods/dense.hpp"
#include "methods/fast_stopping.hpp"
#include "methods/geometry.hpp"
#include "methods/reduced_set.hpp"

using namespace dormie;
using cases::Case;
using cases::Numbers;

namespace {

constexpr int most_threads = 3;
constexpr double open_share = 0.2;  // of the rows of everyday machines, those that the dense stage may leave open

struct Tally {
    int cases = 0, failures = 0;
    long long claims = 0, intervals = 0, settled = 0, rows = 0;
};

// The machine and rows of a case; the case must outlive it.
class Problem {
  public:
    explicit Problem(const Case &c) : c_(c), outputs_(ptrdiff_t(c["bias"].size())) {
        const Numbers &kernel = c["kernel"], &rule = c["rule"], &margin = c["margin"];
        const ptrdiff_t count = ptrdiff_t(c["weights"].size()) / outputs_;
        features_ = count ? ptrdiff_t(c["points"].size()) / count : ptrdiff_t(c["center"].size());
        for (const double s : c["scale"]) inverse_.push_back(1 / s);
        machine = {{KernelKind(int(kernel[0])), kernel[1], kernel[2], int(kernel[3]), kernel[4] != 0},
                   {RuleKind(int(rule[0])), int(rule[1]), rule[2] != 0, rule[3] != 0, rule[4] != 0, rule[5]},
                   count,
                   features_,
                   outputs_,
                   c["points"].data(),
                   c["weights"].data(),
                   c["bias"].data(),
                   data_or_null(c["center"]),
                   data_or_null(c["scale"]),
                   data_or_null(inverse_),
                   {c["constant"].data(), c["slope"].data(), margin[0], margin[1], int(margin[2])}};
    }

    ptrdiff_t count() const { return ptrdiff_t(c_["rows"].size()) / features_; }
    ptrdiff_t outputs() const { return outputs_; }
    StridedRows<double> rows(ptrdiff_t from, ptrdiff_t n) const {
        return {c_["rows"].data() + from * features_, n, features_, features_, 1};
    }

    Machine machine;

  private:
    static const double *data_or_null(const Numbers &x) { return x.empty() ? nullptr : x.data(); }

    const Case &c_;
    const ptrdiff_t outputs_;
    ptrdiff_t features_;
    Numbers inverse_;
};

using Interval = std::function<void(const Rows &, Team &, double *, double *)>;
using Stages = std::vector<std::shared_ptr<const Stage>>;

// Checks of one case.
class Checks {
  public:
    Checks(const Case &c, Tally &tally) : c_(c), tally_(tally), problem_(c) {}

    const Problem &problem() const { return problem_; }

    // by_ends: the two arrays are low and high ends, and not middles and radii.
    void interval(const char *what, bool by_ends, const Interval &ask) {
        const size_t size = size_t(problem_.count() * problem_.outputs());
        Numbers a(size), b(size), again_a(size), again_b(size);
        with_threads(1, [&](Team &team) { ask(problem_.rows(0, problem_.count()), team, a.data(), b.data()); });
        for (size_t i = 0; i < size; i++) contained(what, i, a[i], b[i], by_ends);
        with_threads(most_threads, [&](Team &team) {
            ask(problem_.rows(0, problem_.count()), team, again_a.data(), again_b.data());
        });
        same(what, "threads", a, again_a), same(what, "threads", b, again_b);
        for (ptrdiff_t r = 0; r < problem_.count(); r++)
            with_threads(1, [&](Team &team) {
                ask(problem_.rows(r, 1), team, &again_a[size_t(r * problem_.outputs())],
                    &again_b[size_t(r * problem_.outputs())]);
            });
        same(what, "the batch", a, again_a), same(what, "the batch", b, again_b);
    }

    // Of a cascade of these stages; returns the share of the rows that is settled.
    double answers(const char *what, const Stages &stages) {
        std::vector<Cascade::Step> steps;
        for (const auto &stage : stages) steps.push_back({stage, 0});
        const Cascade cascade(std::move(steps));
        std::vector<int64_t> answers(size_t(problem_.count()), unsettled);
        Results results;
        results.answers = answers.data();
        with_threads(most_threads, [&](Team &team) { cascade.run(problem_.rows(0, problem_.count()), team, results); });
        ptrdiff_t settled = 0;
        for (size_t r = 0; r < answers.size(); r++) {
            if (answers[r] == unsettled) continue;
            settled++;
            if (answers[r] != int64_t(c_["answers"][r])) fail(what, "another answer than the real numbers'", r);
        }
        tally_.settled += settled;
        tally_.rows += problem_.count();
        return double(settled) / double(answers.size());
    }

    void fail(const char *what, const char *why, size_t where) {
        tally_.failures++;
        std::printf("%s %s, case %d, at %zu: %s\n", c_.method.c_str(), what, tally_.cases, where, why);
    }

  private:
    template <class Work> void with_threads(int threads, const Work &work) const {
        Call call([] { return false; });
        Team team(call, threads);
        work(team);
    }

    // The real number is near + left, which has twice the digits of a double; an infinite interval claims nothing.
    void contained(const char *what, size_t i, double a, double b, bool by_ends) {
        tally_.intervals++;
        if (by_ends ? std::isinf(a) && std::isinf(b) : std::isinf(b)) return;
        tally_.claims++;
        const double near = c_["near"][i], left = c_["left"][i];
        // Differences of doubles by Knuth's exact sum; what is not exact is far below the last digit of the radius.
        const auto above = [&](double end) {
            const double d = near - end, part = d - near;
            return d + ((near - (d - part)) - (end + part) + left);
        };
        const double slack = 1e-14 * (by_ends ? b - a : b) + std::numeric_limits<double>::denorm_min();
        const bool holds =
            by_ends ? !(above(a) < -slack) && !(above(b) > slack) : std::abs(above(a)) <= b + slack && std::isfinite(a);
        if (!holds) fail(what, "does not contain the real number", i);
    }

    void same(const char *what, const char *on, const Numbers &a, const Numbers &b) {
        if (std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) != 0)
            fail(what, (std::string("depends on ") + on).c_str(), 0);
    }

    const Case &c_;
    Tally &tally_;
    const Problem problem_;
};

void dense(const Case &c, Checks &checks, bool everyday) {
    const Dense sum(checks.problem().machine);
    checks.interval("in float", false, [&](const Rows &rows, Team &team, double *middle, double *radius) {
        sum.interval<float>(rows, team, middle, radius);
    });
    checks.interval("in double", false, [&](const Rows &rows, Team &team, double *middle, double *radius) {
        sum.interval<double>(rows, team, middle, radius);
    });
    const double settled = checks.answers("answers", sum.certified_stages(nullptr));
    if (everyday && c["rows"].size() > 0 && settled < 1 - open_share) checks.fail("answers", "too many are open", 0);
}

void fast_stopping(const Case &c, Checks &checks, bool) {
    const FastStopping stopping(checks.problem().machine, OneSided(int(c["argument0"][0])));
    for (const ptrdiff_t budget : {1, 32, 64, 1000})
        checks.interval("interval", true, [&](const Rows &rows, Team &team, double *low, double *high) {
            stopping.interval(rows, budget, team, low, high);
        });
    checks.answers("answers", {stopping.stage(nullptr)});
}

void geometry(const Case &c, Checks &checks, bool) {
    const auto at = [&](int k) { return c["argument" + std::to_string(k)].data(); };
    const ptrdiff_t landmarks = ptrdiff_t(c["argument3"].size());
    const Geometry stage(checks.problem().machine,
                         {landmarks, at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8), at(9)});
    for (ptrdiff_t budget = 1; budget <= landmarks; budget += 3)
        checks.interval("interval", false, [&](const Rows &rows, Team &team, double *middle, double *radius) {
            stage.interval(rows, budget, team, middle, radius);
        });
    checks.answers("answers", {stage.stage(landmarks, nullptr)});
}

void reduced_set(const Case &c, Checks &checks, bool) {
    const std::vector<int64_t> sizes = c.counts("argument1");
    const ReducedSet set(checks.problem().machine,
                         {ptrdiff_t(sizes.back()), ptrdiff_t(sizes.size()), c["argument0"].data(), sizes.data(),
                          c["argument2"].data(), c["argument3"].data()});
    for (ptrdiff_t level = 0; level < ptrdiff_t(sizes.size()); level++)
        checks.interval("interval", false, [&](const Rows &rows, Team &team, double *middle, double *radius) {
            set.interval(rows, level, team, middle, radius);
        });
    checks.answers("answers", {set.stage(1, false, nullptr)});
}

void champion(const Case &c, Checks &checks, bool) {
    const std::vector<int64_t> members = c.counts("argument2"), starts = c.counts("argument3");
    const int64_t size = int64_t(c["argument1"].size()) / checks.problem().outputs();
    const Numbers rho(size_t(checks.problem().outputs()));
    const Vectors guess{ptrdiff_t(size), 1, c["argument0"].data(), &size, c["argument1"].data(), rho.data()};
    const Champion stage(checks.problem().machine, guess, {members.data(), starts.data()});
    checks.answers("answers", {stage.stage(nullptr)});
}

template <class T> void exponentials(const Case &c, Tally &tally) {
    const std::vector<T> x(c["rows"].begin(), c["rows"].end());
    std::vector<T> y(x.size());
    ops<T>().exp2(x.data(), y.data(), ptrdiff_t(x.size()));
    for (size_t i = 0; i < x.size(); i++) {
        const double real = c["near"][i], unit = std::numeric_limits<T>::epsilon() / 2;
        const double off = std::abs((double(y[i]) - real) - c["left"][i]);
        tally.claims++;
        if (x[i] < exp2_least<T> ? y[i] == 0 : off <= exp2_error_units * unit * real) continue;
        tally.failures++;
        std::printf("2^%a is %a instead of %a\n", double(x[i]), double(y[i]), real);
    }
}

}  // namespace

int main(int argc, char **argv) try {
    if (argc != 2) throw std::runtime_error("usage: certified CASES");
    const std::map<std::string, void (*)(const Case &, Checks &, bool)> methods = {{"dense", dense},
                                                                                   {"fast_stopping", fast_stopping},
                                                                                   {"geometry", geometry},
                                                                                   {"reduced_set", reduced_set},
                                                                                   {"champion", champion}};
    std::map<std::string, Tally> tallies;
    cases::Reader reader(argv[1]);
    for (Case c; reader.next(c);) {
        Tally &tally = tallies[c.method];
        tally.cases++;
        if (c.method == "exp2") {
            exponentials<float>(c, tally), exponentials<double>(c, tally);
            continue;
        }
        Checks checks(c, tally);
        methods.at(c.method)(c, checks, checks.problem().machine.points_count > 10);
    }
    int failures = 0;
    std::printf("instruction set %s\n", ops<float>().name);
    for (const auto &[method, tally] : tallies) {
        std::printf("%s: %d cases, %lld finite of %lld intervals, %lld of %lld rows settled, %d failures\n",
                    method.c_str(), tally.cases, tally.claims, tally.intervals, tally.settled, tally.rows,
                    tally.failures);
        failures += tally.failures;
        if (method != "champion" && tally.claims == 0) throw std::runtime_error("no interval was finite");
        if (method != "exp2" && tally.settled == 0) throw std::runtime_error("no row was settled");
    }
    if (tallies.size() != methods.size() + 1) throw std::runtime_error("a method has no case");
    return failures ? 1 : 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "certified: %s\n", error.what());
    return 2;
}
