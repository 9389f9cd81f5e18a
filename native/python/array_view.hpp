// A NumPy array as it is, read through its `__array_struct__`: of all ways to look at an array the quickest, which
// counts for single rows.
#pragma once
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "simd/row_ops.hpp"

namespace nb = nanobind;

namespace dormie {

class ArrayView {
  public:
    // Looks at an object, and keeps it; false where it is no array whose numbers can be read where they lie.
    bool view(nb::handle object) {
        object_ = nb::borrow(object);
        static PyObject *const name = PyUnicode_InternFromString("__array_struct__");
        capsule_ = nb::steal(PyObject_GetAttr(object.ptr(), name));
        if (!capsule_.is_valid()) {
            if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw nb::python_error();  // no memory, perhaps
            PyErr_Clear();
            return false;
        }
        array_ = static_cast<const Interface *>(PyCapsule_GetPointer(capsule_.ptr(), nullptr));
        if (!array_) throw nb::python_error();
        return array_->two == 2 && (array_->flags & in_place) == in_place && has_whole_steps();
    }

    int dimensions() const { return array_->dimensions; }
    ptrdiff_t shape(int axis) const { return array_->shape[axis]; }
    // From one element to the next, in elements.
    ptrdiff_t step(int axis) const { return array_->strides[axis] / array_->size; }
    size_t element_size() const { return size_t(array_->size); }
    void *data() const { return array_->data; }
    bool is_vector() const { return dimensions() == 1 && (shape(0) < 2 || step(0) == 1); }
    bool is_contiguous() const { return array_->flags & contiguous; }
    bool is_writeable() const { return array_->flags & writeable; }

    template <class Number> bool is() const {
        return array_->kind == kind_of<Number>() && array_->size == int(sizeof(Number));
    }

  private:
    // As NumPy documents it.
    struct Interface {
        int two;
        int dimensions;
        char kind;
        int size;
        int flags;
        Py_ssize_t *shape, *strides;
        void *data;
        PyObject *description;
    };
    enum : int { contiguous = 0x1, aligned = 0x100, native_order = 0x200, writeable = 0x400 };
    static constexpr int in_place = aligned | native_order;

    template <class Number> static constexpr char kind_of() {
        if (std::is_same_v<Number, Flag>) return 'b';
        if (std::is_same_v<Number, Half> || std::is_floating_point_v<Number>) return 'f';
        return std::is_signed_v<Number> ? 'i' : 'u';
    }

    bool has_whole_steps() const {
        for (int axis = 0; axis < array_->dimensions; axis++)
            if (array_->strides[axis] % array_->size != 0) return false;
        return true;
    }

    nb::object object_, capsule_;
    const Interface *array_ = nullptr;
};

}  // namespace dormie
