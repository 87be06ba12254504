#pragma once
// Parameters of typed kernels that few have: what factories and random operators are told.
#include "core/sparse.h"
#include "cpu/generator.h"
#include "kernels/parameter.h"

namespace shim {

template <On on> struct Parameter<Layout, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Layout; }
  bool take(const Value& v, const char** why) {
    value_ = Layout(v.i);
    return v.tag == Value::layout || (*why = "no layout", false);
  }
  Layout value() const { return value_; }

 private:
  Layout value_ = Layout::strided;
};

// The numbers of a generator, or of the default one where None is given.
template <On on> struct Parameter<Mersenne&, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Generator; }
  bool take(const Value& v, const char** why) {
    if (v.tag != Value::none && v.tag != Value::object) return *why = "no generator", false;
    source_.emplace(v.tag == Value::none ? nullptr : v.held);
    return *source_ || (*why = "a generator of another device", false);
  }
  Mersenne& value() const { return **source_; }

 private:
  std::optional<GeneratorLease> source_;
};

}  // namespace shim
