// The cascade: blocks of rows are laid out once and flow through all stages; each sees what no earlier one has settled.
//
// What a stage leaves open waits, thread by thread, until there are enough rows for a block of the next stage: points
// that are fetched from memory then meet as many rows as they can. A row's answer depends on nothing but the row, so it
// does not matter with which others it is decided.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/rows.hpp"
#include "core/spare.hpp"
#include "core/stage.hpp"
#include "core/team.hpp"

namespace dormie {

// Where the answers of rows go; arrays are the caller's, null where they are not wanted.
struct Results {
    int64_t *answers = nullptr;      // numbers of classes, or `unsettled`
    double *values = nullptr;        // rows x outputs, where the outputs are the answer
    int64_t *settled_by = nullptr;   // which stage
    int64_t *evaluations = nullptr;  // of the kernel, in all stages together
    // Labels: for each row the bytes of the answer's entry in `table`; of an open row, of any entry.
    const char *table = nullptr;
    char *labels = nullptr;
    ptrdiff_t label_size = 0;
};

class Cascade {
  public:
    // A stage, and which one it is to the outside: the dense stage is several here, one for each number type.
    struct Step {
        std::shared_ptr<const Stage> stage;
        int position;
    };

    explicit Cascade(std::vector<Step> steps);
    ~Cascade();

    // Decides all rows, and returns the numbers of those that no stage has settled.
    std::vector<ptrdiff_t> run(const Rows &rows, Team &team, const Results &results) const;

    const Machine &machine() const { return steps_.front().stage->machine(); }
    // Multiply-adds of the first stage, which all rows go through.
    double work(ptrdiff_t rows) const { return steps_.front().stage->work(rows); }

  private:
    class Worker;
    class Flow;

    const std::vector<Step> steps_;
    const Spares<Worker> spares_;
};

}  // namespace dormie
