// The loop of every method: rows in blocks, the blocks shared among threads, a workspace for each thread.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/rows.hpp"
#include "core/spare.hpp"
#include "core/threads.hpp"

namespace dormie {

// How many rows a block may have, if each needs `width` doubles: as many as fit in 32 MiB. They are fewer than `most`
// only where there are many thousands of outputs: some two hundred classes, one against one.
inline ptrdiff_t rows_with_room(ptrdiff_t most, ptrdiff_t width) {
    return std::clamp<ptrdiff_t>((ptrdiff_t(1) << 22) / std::max<ptrdiff_t>(width, 1), 1, most);
}

// Rows in blocks of one size: at most `most` rows, and fewer where that gives every thread a block.
class EqualBlocks {
  public:
    EqualBlocks(const Rows &rows, ptrdiff_t most, int threads) : EqualBlocks(rows, nullptr, rows.n, most, threads) {}

    // which: the numbers of the n rows to take, or null for the first n.
    EqualBlocks(const Rows &rows, const ptrdiff_t *which, ptrdiff_t n, ptrdiff_t most, int threads)
        : rows_(rows), which_(which), n_(n), size_(std::clamp<ptrdiff_t>((n + threads - 1) / threads, 1, most)) {}

    ptrdiff_t count() const { return (n_ + size_ - 1) / size_; }
    int largest() const { return int(size_); }
    RowRange operator[](ptrdiff_t block) const {
        const ptrdiff_t from = block * size_;
        return {rows_, which_, from, int(std::min(size_, n_ - from))};
    }

  private:
    const Rows &rows_;
    const ptrdiff_t *which_;
    const ptrdiff_t n_, size_;
};

// Fills a workspace with each block of rows and calls work(workspace, block, worker), from the threads of the team.
//
// blocks: EqualBlocks, or whatever else has its members. make(rows) makes a workspace for that many rows, in the
// calling thread; its fill(block) reads the rows, checks that they are finite, and lays them out. The workspace of a
// single row is kept in `spare`, for the next call.
template <class Blocks, class Workspace, class Make, class Work>
void each_block(const Blocks &blocks, const Spare<Workspace> &spare, Team &team, const Make &make, const Work &work) {
    std::vector<std::unique_ptr<Workspace>> workspaces(size_t(team.threads()));
    const bool single_rows = blocks.largest() == 1;
    if (single_rows) workspaces[0] = spare.take();
    auto prepare = [&](int worker) {
        if (!workspaces[worker]) workspaces[worker] = make(blocks.largest());
    };
    team.run(blocks.count(), prepare, [&](ptrdiff_t block, int worker) {
        if (blocks.count() > 1 && team.should_stop()) return;
        workspaces[worker]->fill(blocks[block]);
        work(*workspaces[worker], blocks[block], worker);
    });
    if (single_rows) spare.give(std::move(workspaces[0]));
}

}  // namespace dormie
