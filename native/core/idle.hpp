// Something costly to make, kept from one call to the next: whoever takes it has it alone.
#pragma once
#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "core/threads.hpp"
#include "core/rows.hpp"

namespace dormie {

template <class T> class Idle {
  public:
    std::unique_ptr<T> take() const {
        std::lock_guard<std::mutex> lock(mutex_);
        return std::move(kept_);
    }
    void give(std::unique_ptr<T> thing) const {
        std::lock_guard<std::mutex> lock(mutex_);
        kept_ = std::move(thing);
    }

  private:
    mutable std::mutex mutex_;
    mutable std::unique_ptr<T> kept_;
};

// Rows in blocks of at most `most`, shared among the team, each worker with a block of its own: work(block, first row,
// worker). The block of a single row is kept, for the next one to come.
template <class Block, class Owner, class Work>
void each_block(const Owner &owner, const Idle<Block> &idle, const Rows &rows, ptrdiff_t most, Team &team, const Work &work) {
    const ptrdiff_t share = (rows.n + team.threads() - 1) / team.threads();
    const int size = int(std::clamp<ptrdiff_t>(share, 1, most));
    std::vector<std::unique_ptr<Block>> blocks(team.threads());
    if (size == 1) blocks[0] = idle.take();
    auto prepare = [&](int worker) {
        if (!blocks[worker]) blocks[worker] = std::make_unique<Block>(owner, size);
    };
    team.run((rows.n + size - 1) / size, prepare, [&](ptrdiff_t task, int worker) {
        if (size > 1 && team.should_stop()) return;
        blocks[worker]->fill(rows, task * size, int(std::min<ptrdiff_t>(size, rows.n - task * size)));
        work(*blocks[worker], task * size, worker);
    });
    if (size == 1) idle.give(std::move(blocks[0]));
}

}  // namespace dormie
