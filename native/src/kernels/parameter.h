#pragma once
// The parameters of typed kernels that are no tensors: numbers, lists of them, strings, dtypes, devices (tensor_parameter.h says how).
#include <array>
#include <optional>
#include <vector>

#include "kernels/tensor_parameter.h"

namespace shim {

template <> struct Parameter<int64_t> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Int && !a.type.list; }
  bool take(const Value& v, Reading& r) {
    if (v.tag != Value::integer && v.tag != Value::boolean) return r.why = "no integer", false;
    value_ = v.i;
    return v.width == Value::word || (r.why = "an integer beyond 64 bits", false);
  }
  int64_t value() const { return value_; }

 private:
  int64_t value_ = 0;
};

template <> struct Parameter<bool> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Bool && !a.type.list; }
  bool take(const Value& v, Reading& r) {
    value_ = v.i;
    return v.tag == Value::boolean || (r.why = "no bool", false);
  }
  bool value() const { return value_; }

 private:
  bool value_ = false;
};

// bool[3]: so many of them, as output_mask has.
template <size_t N> struct Parameter<std::array<bool, N>> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Bool && a.type.list_size == int(N); }
  bool take(const Value& v, Reading& r) {
    if (v.tag != Value::list || v.size != N) return r.why = "no list of as many bools", false;
    for (size_t i = 0; i < N; ++i) value_[i] = v.items[i].tag == Value::boolean && v.items[i].i;
    return true;
  }
  std::array<bool, N> value() const { return value_; }

 private:
  std::array<bool, N> value_{};
};

template <> struct Parameter<Scalar> {
  static bool fits(const Argument& a) {
    const bool number = a.type.base == ArgType::Scalar || a.type.base == ArgType::Float || a.type.base == ArgType::Int;
    return !a.type.list && (number || a.type.base == ArgType::Tensor);  // numbers may stand for the latter
  }
  bool take(const Value& v, Reading& r) {
    if (!v.is_number()) return r.why = v.tag == Value::tensor ? "a tensor in a number's place" : "no number", false;
    value_ = v.number();
    return true;
  }
  Scalar value() const { return value_; }

 protected:
  Scalar value_;
};

template <> struct Parameter<const Scalar&> : Parameter<Scalar> {
  const Scalar& value() const { return this->value_; }
};
template <> struct Parameter<const std::optional<Scalar>&> {
  static bool fits(const Argument& a) { return Parameter<Scalar>::fits(a); }
  bool take(const Value& v, Reading& r) {
    if (v.tag == Value::none) return true;
    Parameter<Scalar> given;
    if (!given.take(v, r)) return false;
    value_ = given.value();
    return true;
  }
  const std::optional<Scalar>& value() const { return value_; }

 private:
  std::optional<Scalar> value_;
};

template <> struct Parameter<double> {
  static bool fits(const Argument& a) { return Parameter<Scalar>::fits(a) && a.type.base != ArgType::Tensor; }
  bool take(const Value& v, Reading& r) {
    if (v.tag == Value::real) return value_ = v.f, true;
    if (!v.is_number()) return r.why = "no number", false;
    if (v.tag == Value::complex) return r.why = "a complex number", false;
    value_ = v.number().to_double();
    return true;
  }
  double value() const { return value_; }

 private:
  double value_ = 0;
};

// Few integers lie in the parameter itself.
template <> struct Parameter<IntArrayRef> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Int && a.type.list; }
  bool take(const Value& v, Reading& r) {
    if (v.tag == Value::integer || v.tag == Value::boolean) return size_ = 1, one(v, 0, r);
    if (v.tag != Value::list) return r.why = "no list of integers", false;
    size_ = v.size;
    if (size_ > std::size(few_)) make_room();
    for (size_t i = 0; i < size_; ++i)
      if (!one(v.items[i], i, r)) return false;
    return true;
  }
  IntArrayRef value() const { return {places_, size_}; }

 private:
  bool one(const Value& v, size_t i, Reading& r) {
    Parameter<int64_t> p;
    if (!p.take(v, r)) return false;
    places_[i] = p.value();
    return true;
  }
  [[gnu::noinline, gnu::cold]] void make_room() {
    many_ = std::make_unique<int64_t[]>(size_);
    places_ = many_.get();
  }
  size_t size_ = 0;
  int64_t few_[8], *places_ = few_;
  std::unique_ptr<int64_t[]> many_;
};

template <class T, ArgType::Base base> struct ListParameter {
  static bool fits(const Argument& a) { return a.type.base == base && a.type.list; }
  [[gnu::noinline]] bool take(const Value& v, Reading& r) {
    if (v.tag != Value::list) return r.why = "no list of numbers", false;
    for (uint32_t i = 0; i < v.size; ++i) {
      Parameter<T> p;
      if (!p.take(v.items[i], r)) return false;
      values_.push_back(p.value());
    }
    return true;
  }
  std::span<const T> value() const { return values_; }

 private:
  std::vector<T> values_;
};
template <> struct Parameter<ScalarList> : ListParameter<Scalar, ArgType::Scalar> {};
template <> struct Parameter<std::span<const double>> : ListParameter<double, ArgType::Float> {};

template <> struct Parameter<std::string_view> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Str && !a.type.list; }
  bool take(const Value& v, Reading& r) {
    if (v.tag != Value::text) return r.why = "no string", false;
    value_ = {v.chars, v.size};
    return true;
  }
  std::string_view value() const { return value_; }

 private:
  std::string_view value_;
};

template <> struct Parameter<DType> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::ScalarType && !a.type.list; }
  bool take(const Value& v, Reading& r) {
    if (v.tag != Value::dtype) return r.why = "no dtype", false;
    value_ = DType(v.i);
    return true;
  }
  DType value() const { return value_; }

 private:
  DType value_ = DType::undefined;
};

// Of a factory: kernels of one kind of device take that alone, and none is the CPU.
template <> struct Parameter<Device> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Device; }
  bool take(const Value& v, Reading& r) {
    if (r.on != On::any && v.tag == Value::none) return r.on == On::cpu;
    if (v.tag != Value::device) return r.why = "no device", false;
    value_ = v.where;
    return is_on(value_, r.on);  // others are nothing to count
  }
  Device value() const { return value_; }

 private:
  Device value_;
};

template <> struct Parameter<MemoryFormat> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::MemoryFormat; }
  bool take(const Value& v, Reading& r) {
    value_ = MemoryFormat(v.i);
    return v.tag == Value::memory_format || (r.why = "no memory format", false);
  }
  MemoryFormat value() const { return value_; }

 private:
  MemoryFormat value_ = MemoryFormat::contiguous;
};

template <> struct Parameter<IntOrFloat> {
  static bool fits(const Argument& a) { return Parameter<Scalar>::fits(a); }
  bool take(const Value& v, Reading& r) {
    value_.floating = v.tag == Value::real;
    if (value_.floating) return value_.f = v.f, true;
    if (v.tag != Value::integer) return r.why = "neither an int nor a float", false;
    value_.i = v.i;
    return v.width == Value::word || (r.why = "an integer beyond 64 bits", false);
  }
  IntOrFloat value() const { return value_; }

 private:
  IntOrFloat value_;
};

template <class T> struct Parameter<std::optional<T>> {
  static bool fits(const Argument& a) { return Parameter<T>::fits(a); }
  bool take(const Value& v, Reading& r) {
    is_given_ = v.tag != Value::none;
    return !is_given_ || given_.take(v, r);
  }
  std::optional<T> value() const { return is_given_ ? std::optional<T>(given_.value()) : std::nullopt; }

 private:
  Parameter<T> given_;
  bool is_given_ = false;
};

template <> struct Parameter<std::nullopt_t> {  // served only where it is None
  static bool fits(const Argument& a) { return a.type.optional; }
  bool take(const Value& v, Reading& r) {
    return v.tag == Value::none || (r.why = "an argument that is not None", false);
  }
  std::nullopt_t value() const { return std::nullopt; }
};

template <> struct Parameter<Ignored> {
  static bool fits(const Argument&) { return true; }
  bool take(const Value&, Reading&) { return true; }
  Ignored value() const { return {}; }
};

}  // namespace shim
