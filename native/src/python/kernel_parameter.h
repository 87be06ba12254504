#pragma once
// The parameters of typed kernels that are no tensors: numbers, lists of them, strings, dtypes, devices (tensor_parameter.h says how).
#include <array>
#include <optional>
#include <vector>

#include "ops/kernel.h"
#include "python/native_ops.h"
#include "python/tensor_parameter.h"
#include "python/tensor_type.h"

namespace shim {

template <On on> struct Parameter<int64_t, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Int && !a.type.list; }
  bool take(PyObject* o, const char** why) {
    int overflow = 0;
    if (!PyLong_Check(o)) return *why = "no integer", false;
    value_ = PyLong_AsLongLongAndOverflow(o, &overflow);
    return !overflow || (*why = "an integer beyond 64 bits", false);
  }
  int64_t value() const { return value_; }

 private:
  int64_t value_ = 0;
};

template <On on> struct Parameter<bool, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Bool && !a.type.list; }
  bool take(PyObject* o, const char** why) {
    value_ = o == Py_True;
    return value_ || o == Py_False || (*why = "no bool", false);
  }
  bool value() const { return value_; }

 private:
  bool value_ = false;
};

// bool[3]: so many of them, as output_mask has.
template <size_t N, On on> struct Parameter<std::array<bool, N>, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Bool && a.type.list_size == int(N); }
  bool take(PyObject* o, const char** why) {
    const bool list = PyTuple_Check(o) || PyList_Check(o);
    if (!list || PySequence_Fast_GET_SIZE(o) != Py_ssize_t(N)) return *why = "no list of as many bools", false;
    for (size_t i = 0; i < N; ++i) value_[i] = PySequence_Fast_GET_ITEM(o, Py_ssize_t(i)) == Py_True;
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
  bool take(PyObject* o, const char** why) {
    if (is_tensor(o)) return *why = "a tensor in a number's place", false;
    return number_of(o, &value_) || (*why = "no number", false);
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
  bool take(PyObject* o, const char** why) {
    if (o == Py_None) return true;
    if (is_tensor(o)) return *why = "a tensor in a number's place", false;
    return number_of(o, &value_.emplace()) || (*why = "no number", false);
  }
  const std::optional<Scalar>& value() const { return value_; }

 private:
  std::optional<Scalar> value_;
};

template <On on> struct Parameter<double, on> {
  static bool fits(const Argument& a) { return Parameter<Scalar, on>::fits(a) && a.type.base != ArgType::Tensor; }
  bool take(PyObject* o, const char** why) {
    if (PyFloat_CheckExact(o)) return value_ = PyFloat_AS_DOUBLE(o), true;
    Scalar number;
    if (!number_of(o, &number)) return *why = "no number", false;
    if (number.type == Scalar::Complex) return *why = "a complex number", false;
    value_ = number.to_double();
    return true;
  }
  double value() const { return value_; }

 private:
  double value_ = 0;
};

// Few integers lie in the parameter itself.
template <On on> struct Parameter<IntArrayRef, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Int && a.type.list; }
  bool take(PyObject* o, const char** why) {
    if (PyLong_Check(o)) return size_ = 1, one(o, 0, why);
    if (!PyTuple_Check(o) && !PyList_Check(o)) return *why = "no list of integers", false;
    size_ = size_t(PySequence_Fast_GET_SIZE(o));
    if (size_ > few_.size()) many_.resize(size_);
    for (size_t i = 0; i < size_; ++i)
      if (!one(PySequence_Fast_GET_ITEM(o, Py_ssize_t(i)), i, why)) return false;
    return true;
  }
  IntArrayRef value() const { return {size_ > few_.size() ? many_.data() : few_.data(), size_}; }

 private:
  bool one(PyObject* o, size_t i, const char** why) {
    Parameter<int64_t, on> p;
    if (!p.take(o, why)) return false;
    (size_ > few_.size() ? many_.data() : few_.data())[i] = p.value();
    return true;
  }
  size_t size_ = 0;
  std::array<int64_t, 8> few_;
  std::vector<int64_t> many_;
};

template <class T, ArgType::Base base, On on> struct ListParameter {
  static bool fits(const Argument& a) { return a.type.base == base && a.type.list; }
  bool take(PyObject* o, const char** why) {
    if (!PyTuple_Check(o) && !PyList_Check(o)) return *why = "no list of numbers", false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
      Parameter<T, on> p;
      if (!p.take(PySequence_Fast_GET_ITEM(o, i), why)) return false;
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
  bool take(PyObject* o, const char** why) {
    if (!PyUnicode_Check(o)) return *why = "no string", false;
    value_ = utf8(o);
    return true;
  }
  std::string_view value() const { return value_; }

 private:
  std::string_view value_;
};

template <On on> struct Parameter<DType, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::ScalarType && !a.type.list; }
  bool take(PyObject* o, const char** why) {
    if (!is_dtype(o)) return *why = "no dtype", false;
    value_ = dtype_of(o);
    return true;
  }
  DType value() const { return value_; }

 private:
  DType value_ = DType::undefined;
};

// Of a factory: kernels of one kind of device take that alone, and none is the CPU.
template <On on> struct Parameter<Device, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::Device; }
  bool take(PyObject* o, const char** why) {
    if (on != On::any && o == Py_None) return on == On::cpu;
    if (!is_device(o)) return *why = "no device", false;
    value_ = device_of(o);
    return on == On::any || (on == On::cpu ? value_.is_cpu() : value_.is_cuda());  // others are nothing to count
  }
  Device value() const { return value_; }

 private:
  Device value_;
};

template <On on> struct Parameter<MemoryFormat, on> {
  static bool fits(const Argument& a) { return a.type.base == ArgType::MemoryFormat; }
  bool take(PyObject* o, const char** why) {
    return memory_format_of(o, &value_) || (*why = "no memory format", false);
  }
  MemoryFormat value() const { return value_; }

 private:
  MemoryFormat value_ = MemoryFormat::contiguous;
};

template <On on> struct Parameter<IntOrFloat, on> {
  static bool fits(const Argument& a) { return Parameter<Scalar, on>::fits(a); }
  bool take(PyObject* o, const char** why) {
    value_.floating = PyFloat_CheckExact(o);
    if (value_.floating) return value_.f = PyFloat_AS_DOUBLE(o), true;
    int overflow = 0;
    if (!PyLong_CheckExact(o)) return *why = "neither an int nor a float", false;
    value_.i = PyLong_AsLongLongAndOverflow(o, &overflow);
    return !overflow || (*why = "an integer beyond 64 bits", false);
  }
  IntOrFloat value() const { return value_; }

 private:
  IntOrFloat value_;
};

template <class T, On on> struct Parameter<std::optional<T>, on> {
  static bool fits(const Argument& a) { return Parameter<T, on>::fits(a); }
  bool take(PyObject* o, const char** why) {
    is_given_ = o != Py_None;
    return !is_given_ || given_.take(o, why);
  }
  std::optional<T> value() const { return is_given_ ? std::optional<T>(given_.value()) : std::nullopt; }

 private:
  Parameter<T, on> given_;
  bool is_given_ = false;
};

template <On on> struct Parameter<std::nullopt_t, on> {  // served only where it is None
  static bool fits(const Argument& a) { return a.type.optional; }
  bool take(PyObject* o, const char** why) { return o == Py_None || (*why = "an argument that is not None", false); }
  std::nullopt_t value() const { return std::nullopt; }
};

template <On on> struct Parameter<Ignored, on> {
  static bool fits(const Argument&) { return true; }
  bool take(PyObject*, const char**) { return true; }
  Ignored value() const { return {}; }
};

}  // namespace shim
