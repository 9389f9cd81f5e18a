// The Python module. Only this folder knows Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <utility>

#include <algorithm>
#include <chrono>
#include <memory>

#include "core/blocks.hpp"
#include "python/bind.hpp"
#include "simd/dispatch.hpp"
#include "simd/ops.hpp"

namespace dormie {

namespace {

using Numbers = EitherType<AnyVector, float, double>;
using NewVector = std::variant<NewArray<float, 1>, NewArray<double, 1>>;

template <class T> NewArray<T, 1> values_of(void (*Ops<T>::*function)(const T *, T *, ptrdiff_t), const AnyVector &x) {
    T *y;
    auto array = new_array(y, x.shape(0));
    (ops<T>().*function)(static_cast<const T *>(x.data()), y, ptrdiff_t(x.shape(0)));
    return array;
}

NewVector exp2_array(const Numbers &x) {
    if (x.array.dtype() == nb::dtype<float>()) return values_of<float>(&Ops<float>::exp2, x.array);
    if (x.array.dtype() == nb::dtype<double>()) return values_of<double>(&Ops<double>::exp2, x.array);
    throw nb::type_error("x must be float32 or float64");
}

NewVector log2_array(const Numbers &x) {
    if (x.array.dtype() == nb::dtype<float>()) return values_of<float>(&Ops<float>::log2, x.array);
    if (x.array.dtype() == nb::dtype<double>()) return values_of<double>(&Ops<double>::log2, x.array);
    throw nb::type_error("x must be float32 or float64");
}

double peak_rate() {
    const auto start = std::chrono::steady_clock::now();
    const double flops = ops<float>().peak(2'000'000);
    return flops / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

nb::typed<nb::dict, nb::str, nb::object> native_info() {
    nb::dict info;
    info["compiler"] = DORMIE_COMPILER;
    info["build_type"] = DORMIE_BUILD_TYPE;
    info["instruction_set"] = ops<float>().name;
    info["instruction_sets"] = supported_instruction_sets();
    return info;
}

}  // namespace

std::tuple<NewOutputs, NewArray<double, 1>> Kept::laid_out(const Rows &rows, bool rough, int threads) const {
    constexpr int most = 256;
    const ptrdiff_t d = machine.features;
    double *mapped, *reaches;
    auto matrix = new_array(mapped, rows.n, d);
    auto vector = new_array(reaches, rows.n);
    const Forms forms{.narrow = false, .wide = true, .listed = false, .rough = rough};
    auto make = [](int count) { return std::make_unique<int>(count); };
    run_on(machine, rows, threads, [&](Team &team) {
        each_block(machine, forms, rows, most, team, make, [&](const LaidOut &block, int &) {
            for (int r = 0; r < block.count(); r++) {
                std::copy_n(block.row<double>(r), d, mapped + block.number(r) * d);
                reaches[block.number(r)] = block.traits(r).reach;
            }
        });
    });
    return {matrix, vector};
}

}  // namespace dormie

// For threadpoolctl, which looks libraries up by their symbols.
extern "C" {
NB_EXPORT int dormie_get_num_threads() { return dormie::default_threads; }
NB_EXPORT void dormie_set_num_threads(int threads) { dormie::default_threads = std::max(1, threads); }
}

NB_MODULE(_native, m) {
    using namespace dormie;
    can_throw();  // here, while there is memory: this thread may have to throw when there is none
    m.doc() = "Native core of dormie; the reference.py of each method says what its class computes.";
    nb::class_<KeptPreparation>(m, "Preparation", "What is done to rows before the input map; keeps its arrays alive.")
        .def(nb::init<ptrdiff_t, Matrix, const nb::typed<nb::list, Vector> &, const nb::typed<nb::list, Counts> &,
                      double, std::optional<Bytes>>(),
             "columns"_a, "numbers"_a, "values"_a, "which"_a, "unit_error"_a, "may_be_nan"_a.none());
    nb::class_<Kept> machine(m, "Machine", "A machine as the native core reads it; keeps its arrays alive.");
    machine.def(nb::init<const Kept::Numbers &, const Kept::Numbers &, Matrix, Matrix, Vector, Vector, Vector,
                         const Kept::Numbers &, std::shared_ptr<const KeptPreparation>, double>(),
                "kernel"_a, "rule"_a, "points"_a, "weights"_a, "bias"_a, "center"_a.none(), "scale"_a.none(),
                "margin"_a, "preparation"_a.none() = nb::none(), "most_rough_error"_a = 0.0);
    bind_rows(machine, "laid_out", &Kept::laid_out,
              "Rows as stages read them, mapped, and their reaches. rough: as stages that take rows prepared roughly.",
              "rough"_a);
    nb::class_<KeptSparse>(m, "SparseMachine", "The same with sparse points: their values, columns and starts.")
        .def(nb::init<const Kept::Numbers &, const Kept::Numbers &, const KeptSparse::Points &, size_t, Matrix, Vector,
                      Vector, Vector, const Kept::Numbers &>(),
             "kernel"_a, "rule"_a, "points"_a, "features"_a, "weights"_a, "bias"_a, "center"_a.none(), "scale"_a.none(),
             "margin"_a);
    bind_cascade(m);
    bind_champion(m);
    bind_open_pairs(m);
    bind_dense(m);
    bind_source_sum(m);
    bind_fast_stopping(m);
    bind_geometry(m);
    bind_reduced_set(m);
    bind_refinement(m);
    bind_linear_filter(m);
    bind_nearest(m);
    bind_tree(m);
    m.def("exp2", &exp2_array, "x"_a, "2^x of numbers that are not positive, as the tiles have it.");
    m.def("log2", &log2_array, "x"_a, "log2(x) of numbers from 1 on, as the tiles have it.");
    m.def("default_threads", &dormie_get_num_threads, "The threads of calls that do not say how many.");
    m.def("set_default_threads", &dormie_set_num_threads, "threads"_a, "Changes that number.");
    m.def(
        "set_own_threads", [](int threads) { return std::exchange(dormie::own_threads, threads); }, "threads"_a,
        "Changes that number for calls of this thread (0: no longer); returns what it was.");
    m.def("peak_rate", &peak_rate, "Multiply-adds a second of one thread with nothing to load, in float32.");
    m.def("native_info", &native_info, "The compiler, the build type and the instruction sets.");
}
