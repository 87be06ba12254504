#pragma once
// The parameters of typed kernels that are no tensors: numbers, lists of them, strings, dtypes, devices (tensor_parameter.h says how).
#include <array>
#include <optional>
#include <vector>

#include "kernels/tensor_parameter.h"

namespace shim {

template <On on> struct Parameter<int64_t, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Int && !a.type.list; }
  bool take(const Value& v, const char** why) {
    if (v.tag != Value::integer && v.tag != Value::boolean) return *why = "no integer", false;
    value_ = v.i;
    return v.width == Value::word || (*why = "an integer beyond 64 bits", false);
  }
  int64_t value() const { return value_; }

 private:
  int64_t value_ = 0;
};

template <On on> struct Parameter<bool, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Bool && !a.type.list; }
  bool take(const Value& v, const char** why) {
    value_ = v.i;
    return v.tag == Value::boolean || (*why = "no bool", false);
  }
  bool value() const { return value_; }

 private:
  bool value_ = false;
};

// bool[3]: so many of them, as output_mask has.
template <size_t N, On on> struct Parameter<std::array<bool, N>, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Bool && a.type.list_size == int(N); }
  bool take(const Value& v, const char** why) {
    if (v.tag != Value::list || v.size != N) return *why = "no list of as many bools", false;
    for (size_t i = 0; i < N; ++i) value_[i] = v.items[i].tag == Value::boolean && v.items[i].i;
    return true;
  }
  std::array<bool, N> value() const { return value_; }

 private:
  std::array<bool, N> value_{};
};

template <On on> struct Parameter<Scalar, on> {
  static bool fits(const Argument& a) {
    const bool number = a.type.base == ArgType::Scalar || a.type.base == ArgType::Float || a.type.base == ArgType::Int;
    return !a.type.list && (number || a.type.base == ArgType::Tensor);  // numbers may stand for the latter
  }
  bool take(const Value& v, const char** why) {
    if (!v.is_number()) return *why = v.tag == Value::tensor ? "a tensor in a number's place" : "no number", false;
    value_ = v.number();
    return true;
  }
  Scalar value() const { return value_; }

 protected:
  Scalar value_;
};

template <On on> struct Parameter<const Scalar&, on> : Parameter<Scalar, on> {
  const Scalar& value() const { return this->value_; }
};
template <On on> struct Parameter<const std::optional<Scalar>&, on> {
  static bool fits(const Argument& a) { return Parameter<Scalar, on>::fits(a); }
  bool take(const Value& v, const char** why) {
    if (v.tag == Value::none) return true;
    Parameter<Scalar, on> given;
    if (!given.take(v, why)) return false;
    value_ = given.value();
    return true;
  }
  const std::optional<Scalar>& value() const { return value_; }

 private:
  std::optional<Scalar> value_;
};

template <On on> struct Parameter<double, on> {
  static bool fits(const Argument& a) { return Parameter<Scalar, on>::fits(a) && a.type.base != ArgType::Tensor; }
  bool take(const Value& v, const char** why) {
    if (v.tag == Value::real) return value_ = v.f, true;
    if (!v.is_number()) return *why = "no number", false;
    if (v.tag == Value::complex) return *why = "a complex number", false;
    value_ = v.number().to_double();
    return true;
  }
  double value() const { return value_; }

 private:
  double value_ = 0;
};

// Few integers lie in the parameter itself.
template <On on> struct Parameter<IntArrayRef, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Int && a.type.list; }
  bool take(const Value& v, const char** why) {
    if (v.tag == Value::integer || v.tag == Value::boolean) return size_ = 1, one(v, 0, why);
    if (v.tag != Value::list) return *why = "no list of integers", false;
    size_ = v.size;
    if (size_ > few_.size()) many_.resize(size_);
    for (size_t i = 0; i < size_; ++i)
      if (!one(v.items[i], i, why)) return false;
    return true;
  }
  IntArrayRef value() const { return {size_ > few_.size() ? many_.data() : few_.data(), size_}; }

 private:
  bool one(const Value& v, size_t i, const char** why) {
    Parameter<int64_t, on> p;
    if (!p.take(v, why)) return false;
    (size_ > few_.size() ? many_.data() : few_.data())[i] = p.value();
    return true;
  }
  size_t size_ = 0;
  std::array<int64_t, 8> few_;
  std::vector<int64_t> many_;
};

template <class T, ArgType::Base base, On on> struct ListParameter {
  static bool fits(const Argument& a) { return a.type.base == base && a.type.list; }
  bool take(const Value& v, const char** why) {
    if (v.tag != Value::list) return *why = "no list of numbers", false;
    for (uint32_t i = 0; i < v.size; ++i) {
      Parameter<T, on> p;
      if (!p.take(v.items[i], why)) return false;
      values_.push_back(p.value());
    }
    return true;
  }
  std::span<const T> value() const { return values_; }

 private:
  std::vector<T> values_;
};
template <On on> struct Parameter<ScalarList, on> : ListParameter<Scalar, ArgType::Scalar, on> {};
template <On on> struct Parameter<std::span<const double>, on> : ListParameter<double, ArgType::Float, on> {};

template <On on> struct Parameter<std::string_view, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Str && !a.type.list; }
  bool take(const Value& v, const char** why) {
    if (v.tag != Value::text) return *why = "no string", false;
    value_ = {v.chars, v.size};
    return true;
  }
  std::string_view value() const { return value_; }

 private:
  std::string_view value_;
};

template <On on> struct Parameter<DType, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::ScalarType && !a.type.list; }
  bool take(const Value& v, const char** why) {
    if (v.tag != Value::dtype) return *why = "no dtype", false;
    value_ = DType(v.i);
    return true;
  }
  DType value() const { return value_; }

 private:
  DType value_ = DType::undefined;
};

// Of a factory: kernels of one kind of device take that alone, and none is the CPU.
template <On on> struct Parameter<Device, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Device; }
  bool take(const Value& v, const char** why) {
    if (on != On::any && v.tag == Value::none) return on == On::cpu;
    if (v.tag != Value::device) return *why = "no device", false;
    value_ = v.where;
    return on == On::any || (on == On::cpu ? value_.is_cpu() : value_.is_cuda());  // others are nothing to count
  }
  Device value() const { return value_; }

 private:
  Device value_;
};

template <On on> struct Parameter<MemoryFormat, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::MemoryFormat; }
  bool take(const Value& v, const char** why) {
    value_ = MemoryFormat(v.i);
    return v.tag == Value::memory_format || (*why = "no memory format", false);
  }
  MemoryFormat value() const { return value_; }

 private:
  MemoryFormat value_ = MemoryFormat::contiguous;
};

template <On on> struct Parameter<IntOrFloat, on> {
  static bool fits(const Argument& a) { return Parameter<Scalar, on>::fits(a); }
  bool take(const Value& v, const char** why) {
    value_.floating = v.tag == Value::real;
    if (value_.floating) return value_.f = v.f, true;
    if (v.tag != Value::integer) return *why = "neither an int nor a float", false;
    value_.i = v.i;
    return v.width == Value::word || (*why = "an integer beyond 64 bits", false);
  }
  IntOrFloat value() const { return value_; }

 private:
  IntOrFloat value_;
};

template <class T, On on> struct Parameter<std::optional<T>, on> {
  static bool fits(const Argument& a) { return Parameter<T, on>::fits(a); }
  bool take(const Value& v, const char** why) {
    is_given_ = v.tag != Value::none;
    return !is_given_ || given_.take(v, why);
  }
  std::optional<T> value() const { return is_given_ ? std::optional<T>(given_.value()) : std::nullopt; }

 private:
  Parameter<T, on> given_;
  bool is_given_ = false;
};

template <On on> struct Parameter<std::nullopt_t, on> {  // served only where it is None
  static bool fits(const Argument& a) { return a.type.optional; }
  bool take(const Value& v, const char** why) {
    return v.tag == Value::none || (*why = "an argument that is not None", false);
  }
  std::nullopt_t value() const { return std::nullopt; }
};

template <On on> struct Parameter<Ignored, on> {
  static bool fits(const Argument&) { return true; }
  bool take(const Value&, const char**) { return true; }
  Ignored value() const { return {}; }
};

}  // namespace shim
