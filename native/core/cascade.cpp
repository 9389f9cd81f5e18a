#include "core/cascade.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace dormie {

namespace {

constexpr ptrdiff_t blocks_at_once = 16;  // that a thread takes at most: more would save nothing

// Multiply-adds that wait with one thread in the end for which waking the others pays: several times what that takes.
constexpr double worth_sharing = 5e6;

constexpr int few_rows = 64;  // for each thread: with fewer, fetching points takes longer than their products

// What stands in for the answer of a row that is open, and will be written over: it costs less than a branch.
constexpr int32_t any_answer = 0;

// Labels of any size, moved as whole numbers where they are of one's size.
template <class Unit> void write_as(const Results &results, const LaidOut &rows, const int32_t *answers) {
    const Unit *table = reinterpret_cast<const Unit *>(results.table);
    Unit *labels = reinterpret_cast<Unit *>(results.labels);
    for (int r = 0; r < rows.count(); r++) labels[rows.number(r)] = table[std::max(answers[r], any_answer)];
}

void write_labels(const Results &results, const LaidOut &rows, const int32_t *answers) {
    const ptrdiff_t size = results.label_size;
    if (size == 1) return write_as<uint8_t>(results, rows, answers);
    if (size == 2) return write_as<uint16_t>(results, rows, answers);
    if (size == 4) return write_as<uint32_t>(results, rows, answers);
    if (size == 8) return write_as<uint64_t>(results, rows, answers);
    for (int r = 0; r < rows.count(); r++)
        if (answers[r] != unsettled)
            std::memcpy(results.labels + rows.number(r) * size, results.table + answers[r] * size, size_t(size));
}

}  // namespace

// What one thread needs: for each stage the rows that wait for it, and a pass.
class Cascade::Worker {
  public:
    explicit Worker(const std::vector<Step> &steps) {
        int most = 0;
        for (const auto &[stage, position] : steps) {
            const int rows = stage->rows_at_once();
            waiting.emplace_back(stage->machine(), rows, stage->forms());
            left.emplace_back().reserve(size_t(rows));
            most = std::max(most, rows);
        }
        passes_.resize(steps.size());
        const Machine &machine = steps.front().stage->machine();
        answers_.resize(size_t(most));
        evaluations_.resize(size_t(most));
        if (machine.rule.kind == RuleKind::value) values_.resize(size_t(most * machine.outputs));
    }

    // As many as a block of any stage may need.
    Verdicts verdicts() { return {answers_.data(), evaluations_.data(), values_.empty() ? nullptr : values_.data()}; }

    // The pass through a stage, made when the first rows come to it: few rows reach the last ones.
    Pass &pass(const Stage &stage, size_t k) {
        if (!passes_[k]) passes_[k] = stage.pass(waiting[k].capacity());
        return *passes_[k];
    }

    std::vector<LaidOut> waiting;
    std::vector<std::vector<int>> left;  // of the rows at a stage, those that it has not settled
    std::vector<ptrdiff_t> open;         // rows that no stage has settled

  private:
    std::vector<std::unique_ptr<Pass>> passes_;
    std::vector<int32_t> answers_, evaluations_;
    std::vector<double> values_;
};

// One call.
class Cascade::Flow {
  public:
    Flow(const Cascade &cascade, const Rows &rows, Team &team, const Results &results)
        : c_(cascade), rows_(rows), team_(team), results_(results) {
        const int threads = shared(0, rows.n) ? 1 : team.threads_for(c_.work(rows.n));
        workers_ = for_each_worker(threads, [&] {
            std::unique_ptr<Worker> spare = c_.spares_.take();
            return spare ? std::move(spare) : std::make_unique<Worker>(c_.steps_);
        });
    }
    // Workers of a call that was given up may have rows left, and are not kept.
    ~Flow() {
        for (auto &worker : workers_)
            if (done_) c_.spares_.give(std::move(worker));
    }

    std::vector<ptrdiff_t> run() {
        read_all();
        for (size_t k = 1; k < c_.steps_.size(); k++) finish(k);
        std::vector<ptrdiff_t> open;
        for (auto &worker : workers_) {
            open.insert(open.end(), worker->open.begin(), worker->open.end());
            worker->open.clear();
        }
        if (!std::is_sorted(open.begin(), open.end())) std::sort(open.begin(), open.end());
        done_ = true;
        return open;
    }

  private:
    const Stage &stage(size_t k) const { return *c_.steps_[k].stage; }

    // Whether the threads share the work on each of so few rows.
    bool shared(size_t k, ptrdiff_t rows) const {
        const int threads = team_.threads_for(stage(k).work(rows));
        return threads > 1 && stage(k).shares_points() && rows < ptrdiff_t(few_rows) * threads;
    }

    // All rows through the first stage, and what it leaves open as far as there are whole blocks of it.
    void read_all() {
        const int threads = int(workers_.size());
        const ptrdiff_t n = rows_.n;
        const ptrdiff_t block = std::clamp<ptrdiff_t>((n + threads - 1) / threads, 1, stage(0).rows_at_once());
        Team inside = team_.of(shared(0, n) ? team_.threads() : 1);
        auto read = [&](ptrdiff_t from, ptrdiff_t to, int worker) {
            for (; from < to && !team_.should_stop(); from += block) {
                workers_[size_t(worker)]->waiting[0].read(rows_, from, int(std::min(block, to - from)));
                decide(*workers_[size_t(worker)], 0, inside);
            }
        };
        team_.of(threads).share(n, block, block * blocks_at_once, read,
                                [&](int worker) { finish_alone(*workers_[size_t(worker)]); });
    }

    // What waits with one worker when it will read no more rows, up to a stage where the threads had better share it:
    // its points, or what one has more of than another.
    void finish_alone(Worker &worker) {
        Team alone = team_.of(1);
        const bool others = workers_.size() > 1;
        for (size_t k = 1; k < c_.steps_.size() && !stage(k).shares_points(); k++) {
            if (others && stage(k).work(worker.waiting[k].count()) > worth_sharing) return;
            decide(worker, k, alone);
        }
    }

    // What waits for a stage when no more will come.
    void finish(size_t k) {
        ptrdiff_t rows = 0;
        for (const auto &worker : workers_) rows += worker->waiting[k].count();
        if (rows == 0) return;
        const bool sharing = shared(k, rows);
        if (!sharing && workers_.size() > 1 && team_.threads_for(stage(k).work(rows)) > 1) {
            Team alone = team_.of(1);
            balance(k, int((rows + ptrdiff_t(workers_.size()) - 1) / ptrdiff_t(workers_.size())));
            // What a worker has is any thread's to decide: there may be fewer threads now than when it was read.
            return team_.share(ptrdiff_t(workers_.size()), 1,
                               [&](ptrdiff_t worker, ptrdiff_t, int) { decide(*workers_[size_t(worker)], k, alone); });
        }
        Team inside = team_.of(sharing ? team_.threads() : 1);
        for (size_t i = 1; i < workers_.size(); i++) {
            LaidOut &others = workers_[i]->waiting[k];
            for (int r = 0; r < others.count(); r++) add(*workers_[0], others, r, k, inside);
            others.clear();
        }
        decide(*workers_[0], k, inside);
    }

    // No more than `most` rows wait for stage k with each worker: what is too much for one goes to others.
    void balance(size_t k, int most) {
        size_t to = 0;
        for (auto &worker : workers_) {
            LaidOut &rows = worker->waiting[k];
            for (; rows.count() > most; rows.drop_last()) {
                while (workers_[to]->waiting[k].count() >= most) to++;
                workers_[to]->waiting[k].add(rows, rows.count() - 1);
            }
        }
    }

    void add(Worker &worker, const LaidOut &rows, int r, size_t k, Team &team) {
        worker.waiting[k].add(rows, r);
        if (worker.waiting[k].full()) decide(worker, k, team);
    }

    // The rows that wait for stage k: answered, or waiting for the next.
    void decide(Worker &worker, size_t k, Team &team) {
        LaidOut &rows = worker.waiting[k];
        if (rows.count() == 0) return;
        const Verdicts verdicts = worker.verdicts();
        worker.pass(stage(k), k).decide(rows, team, verdicts);
        if (team_.should_stop()) return;  // the verdicts may not be there
        write(rows, verdicts, c_.steps_[k].position);
        // Before any of them goes on: a later stage may then have a block, and writes over the verdicts.
        std::vector<int> &left = worker.left[k];
        verdicts.list_open(rows.count(), left);
        Team alone = team_.of(1);
        for (const int r : left) {
            if (k + 1 < c_.steps_.size())
                add(worker, rows, r, k + 1, alone);
            else
                worker.open.push_back(rows.number(r));
        }
        rows.clear();
    }

    void write(const LaidOut &rows, const Verdicts &verdicts, int position) const {
        if (results_.labels) write_labels(results_, rows, verdicts.answers);
        if (results_.answers)
            for (int r = 0; r < rows.count(); r++) results_.answers[rows.number(r)] = verdicts.answers[r];
        if (results_.settled_by)
            for (int r = 0; r < rows.count(); r++) results_.settled_by[rows.number(r)] = position;
        if (results_.evaluations)
            for (int r = 0; r < rows.count(); r++) results_.evaluations[rows.number(r)] += verdicts.evaluations[r];
        if (results_.values) {
            const ptrdiff_t c = stage(0).machine().outputs;
            for (int r = 0; r < rows.count(); r++)
                std::copy_n(verdicts.values + r * c, c, results_.values + rows.number(r) * c);
        }
    }

    const Cascade &c_;
    const Rows &rows_;
    Team &team_;
    const Results &results_;
    std::vector<std::unique_ptr<Worker>> workers_;
    bool done_ = false;
};

Cascade::Cascade(std::vector<Step> steps) : steps_(std::move(steps)) {}

Cascade::~Cascade() = default;

std::vector<ptrdiff_t> Cascade::run(const Rows &rows, Team &team, const Results &results) const {
    return Flow(*this, rows, team, results).run();
}

}  // namespace dormie
