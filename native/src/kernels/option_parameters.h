#pragma once
// Parameters of typed kernels that few have: what factories and random operators are told.
#include "core/sparse.h"
#include "cpu/generator.h"
#include "kernels/parameter.h"

namespace shim {

template <> struct Parameter<Layout> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Layout; }
  bool take(const Value& v, Reading& r) {
    value_ = Layout(v.i);
    return v.tag == Value::layout || (r.why = "no layout", false);
  }
  Layout value() const { return value_; }

 private:
  Layout value_ = Layout::strided;
};

// The numbers of a generator, or of the default one where None is given.
template <> struct Parameter<Mersenne&> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Generator; }
  bool take(const Value& v, Reading& r) {
    if (v.tag != Value::none && v.tag != Value::object) return r.why = "no generator", false;
    source_.emplace(v.tag == Value::none ? nullptr : v.held);
    return *source_ || (r.why = "a generator of another device", false);
  }
  Mersenne& value() const { return **source_; }

 private:
  std::optional<GeneratorLease> source_;
};

}  // namespace shim
