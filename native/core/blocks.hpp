// Rows in blocks, laid out and shared among threads: for what is asked of every row alike, such as intervals.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/laid_out.hpp"
#include "core/team.hpp"

namespace dormie {

// How many rows a block may have, if each needs `width` doubles: as many as fit in 32 MiB. They are fewer than `most`
// only where there are many thousands of outputs (some two hundred classes, one against one) or features.
inline int rows_with_room(ptrdiff_t most, ptrdiff_t width) {
    return int(std::clamp<ptrdiff_t>((ptrdiff_t(1) << 22) / std::max<ptrdiff_t>(width, 1), 1, most));
}

// Lays out blocks of at most `most` rows and calls work(rows, workspace). make(count): a workspace for so many rows.
template <class Make, class Work>
void each_block(const Machine &machine, Forms forms, const Rows &rows, int most, Team &team, const Make &make,
                const Work &work) {
    const ptrdiff_t block = std::clamp<ptrdiff_t>((rows.n + team.threads() - 1) / team.threads(), 1, most);
    struct Worker {
        LaidOut rows;
        decltype(make(1)) space;
    };
    const auto workers = for_each_worker(team.threads(), [&] {
        return std::make_unique<Worker>(LaidOut(machine, int(block), forms), make(int(block)));
    });
    team.of(int(workers.size())).share(rows.n, block, [&](ptrdiff_t from, ptrdiff_t to, int worker) {
        workers[size_t(worker)]->rows.read(rows, from, int(to - from));
        work(workers[size_t(worker)]->rows, *workers[size_t(worker)]->space);
    });
}

}  // namespace dormie
