// The Python module. Only this folder knows Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>

#include "python/bind.hpp"
#include "simd/dispatch.hpp"
#include "simd/ops.hpp"

using namespace nb::literals;

namespace dormie {

namespace {

template <class T> auto exp2_array(nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu> x) {
    T *y;
    auto array = new_array(y, x.shape(0));
    ops<T>().exp2(x.data(), y, ptrdiff_t(x.shape(0)));
    return array;
}

// Multiply-adds a second of one thread with nothing to load, in float.
double peak_rate() {
    const auto start = std::chrono::steady_clock::now();
    const double flops = ops<float>().peak(2'000'000);
    return flops / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

nb::dict native_info() {
    nb::dict info;
    info["compiler"] = DORMIE_COMPILER;
    info["build_type"] = DORMIE_BUILD_TYPE;
    info["instruction_set"] = ops<float>().name;
    info["instruction_sets"] = supported_instruction_sets();
    return info;
}

}  // namespace

}  // namespace dormie

NB_MODULE(_native, m) {
    using namespace dormie;
    can_throw();  // here, while there is memory: this thread may have to throw when there is none
    m.doc() = "Native core of dormie; see reference.py for what each routine computes.";
    nb::class_<Kept>(m, "Machine")
        .def(nb::init<const nb::dict &, const nb::dict &, Matrix, Matrix, Vector, Vector, Vector, const nb::dict &>(),
             "kernel"_a, "rule"_a, "points"_a, "weights"_a, "bias"_a, "center"_a.none(), "scale"_a.none(), "margin"_a);
    bind_dense(m);
    bind_source_sum(m);
    bind_fast_stopping(m);
    bind_geometry(m);
    bind_reduced_set(m);
    bind_linear_filter(m);
    bind_nearest(m);
    bind_tree(m);
    m.def("exp2", &exp2_array<float>, "x"_a.noconvert());
    m.def("exp2", &exp2_array<double>, "x"_a.noconvert());
    m.def("peak_rate", &peak_rate);
    m.def("native_info", &native_info);
}
