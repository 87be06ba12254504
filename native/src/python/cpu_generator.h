#pragma once
// Random numbers of a torch.Generator on the CPU.
#include "cpu/mersenne.h"
#include "python/mersenne.h"

namespace shim {

inline PyObject* default_generator() {
  static PyObject* found = [] {
    PyObject* module = PyImport_ImportModule("shim_torch._impl.tensor.generator");
    PyObject* g = module ? PyObject_GetAttrString(module, "default_generator") : nullptr;
    Py_XDECREF(module);
    return g;
  }();
  return found;
}

// The state that numbers are drawn from, which its holder keeps alive for the call. Null, with an error or not: no CPU generator.
struct MersenneSource {
  explicit MersenneSource(PyObject* generator) {
    static PyObject* name = PyUnicode_InternFromString("_engine");
    PyObject* standard = default_generator();
    if (!standard) return;
    PyObject* g = generator == Py_None ? standard : generator;
    if (Py_TYPE(g) != Py_TYPE(standard) || !(held_ = PyObject_GetAttr(g, name))) return;
    engine_ = mersenne_of(held_);
  }
  MersenneSource(const MersenneSource&) = delete;
  MersenneSource& operator=(const MersenneSource&) = delete;
  ~MersenneSource() { Py_XDECREF(held_); }
  explicit operator bool() const { return engine_; }
  Mersenne& operator*() const { return *engine_; }

 private:
  PyObject* held_ = nullptr;
  Mersenne* engine_ = nullptr;
};

}  // namespace shim
