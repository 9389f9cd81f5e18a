// The dense stage: every term of every row, in float with a rigorous radius, then in double for what that leaves open.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "idle.hpp"
#include "packed.hpp"
#include "panel.hpp"
#include "parallel.hpp"
#include "rows.hpp"

namespace dormie {

class Dense {
  public:
    explicit Dense(const Machine &machine) : machine_(machine) {}

    const Machine &machine() const { return machine_; }

    // Lays the points out for both number types, which the first call that needs them would do.
    void prepare() const;

    // G of every row and output in double, rows x outputs.
    void outputs(const Rows &rows, Team &team, double *out) const;

    // G in T and a radius that reaches the real value, each rows x outputs.
    template <class T> void interval(const Rows &rows, Team &team, double *middle, double *radius) const;

    // The answer of every row, that of float alone unless it is to be certified. Returns the rows that needed double as
    // well. Where the outputs are the answer they are in `values`, rows x outputs; else it may be null.
    std::vector<ptrdiff_t> decide(const Rows &rows, bool certified, Team &team, int64_t *answers, double *values) const;

    // Multiply-adds of the whole call, as if no row had zeros: for the choice of how many threads to use.
    double work(ptrdiff_t n) const { return double(n) * machine_.points_count * (machine_.features + 16); }

  private:
    // Calls finish(row number, outputs, radii, worker) once for each row, from the threads of the team; the radii are
    // only worked out where they are wanted.
    template <class T, bool radii, class Finish>
    void evaluate(const Rows &rows, const std::vector<ptrdiff_t> *which, Team &team, const Finish &finish) const;
    template <class T> const Packed<T> &packed() const;

    template <class T> const Idle<Workspace<T>> &idle_space() const;

    const Machine machine_;
    mutable std::once_flag float_once_, double_once_;
    mutable std::unique_ptr<Packed<float>> float_;
    mutable std::unique_ptr<Packed<double>> double_;
    // For single rows: with a small machine, making a workspace is half the work.
    const Idle<Workspace<float>> float_idle_;
    const Idle<Workspace<double>> double_idle_;
};

}  // namespace dormie
