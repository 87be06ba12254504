#pragma once
// The functions of a protocol's stack of modes, of this thread, the innermost last.
#include "python/module_function.h"

namespace shim {

template <std::vector<PyObject*>& (*modes)(), void (*changed)(int by), const char* name> struct ModeStack {
  static void push(PyObject* mode) {
    modes().push_back(Py_NewRef(mode));
    changed(1);
  }
  static PyObject* pop(std::optional<PyObject*>) {  // PyTorch's of __torch_dispatch__ takes a key
    CHECK(Kind::Runtime, !modes().empty(), "Tried to pop from the ", name, " mode stack while it is empty");
    PyObject* mode = modes().back();
    modes().pop_back();
    changed(-1);
    return mode;
  }
  static int64_t size() { return int64_t(modes().size()); }
  static PyObject* at(int64_t i) {
    CHECK(Kind::Index, i >= 0 && size_t(i) < modes().size(), name, " mode stack");
    return Py_NewRef(modes()[size_t(i)]);
  }
};

}  // namespace shim
