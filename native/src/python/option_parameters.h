#pragma once
// Parameters of typed kernels that few have: what factories and random operators are told.
#include "core/sparse.h"
#include "python/cpu_generator.h"
#include "python/kernel_parameter.h"

namespace shim {

template <On on> struct Parameter<Layout, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Layout; }
  bool take(PyObject* o, const char** why) {
    const int layout = layout_of(o);
    value_ = Layout(layout);
    return layout >= 0 || (*why = "no layout", false);
  }
  Layout value() const { return value_; }

 private:
  Layout value_ = Layout::strided;
};

// The numbers of a generator, or of the default one where None is given.
template <On on> struct Parameter<Mersenne&, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Generator; }
  bool take(PyObject* o, const char** why) {
    source_.emplace(o);
    if (*source_) return true;
    if (PyErr_Occurred()) throw PythonError();
    return *why = "a generator of another device", false;
  }
  Mersenne& value() const { return **source_; }

 private:
  std::optional<MersenneSource> source_;
};

}  // namespace shim
