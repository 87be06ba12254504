#pragma once
// Typed kernels: C++ functions over Tensor, Scalar, IntArrayRef, TensorList and std::optional. Each gives its result, or says why the call
// is not its own. kernels/call.h derives from the function's type how an operator's bound arguments reach it.
#include <optional>
#include <span>
#include <string_view>
#include <tuple>

#include "ops/kernels.h"

namespace shim {

// Why a call is left to the operator's body. A literal that names what the kernel lacks ("bool tensors", "more than one dim"):
// torch_proxy_status()["declined"] counts it under the operator. Empty: another device's call, which is nothing to count.
struct NotMine {
  const char* reason;
};
// Of what another kernel of the operator is for: nothing to count.
constexpr NotMine kAnothers{""};

// A kernel's result, or why it has none.
template <class T> class Outcome {
 public:
  Outcome(T value) : value_(std::move(value)) {}
  Outcome(NotMine why) : reason_(why.reason) {}
  explicit operator bool() const { return !reason_; }
  T& operator*() { return value_; }
  const T& operator*() const { return value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }
  NotMine why() const { return {reason_}; }

 private:
  T value_{};
  const char* reason_ = nullptr;
};

// The same where the result is one of the arguments: what in-place kernels give without counting a reference.
template <class T> class Outcome<const T&> {
 public:
  Outcome(const T& value) : value_(&value) {}
  Outcome(T&&) = delete;
  Outcome(NotMine why) : reason_(why.reason) {}
  explicit operator bool() const { return !reason_; }
  const T& operator*() const { return *value_; }
  NotMine why() const { return {reason_}; }

 private:
  const T* value_ = nullptr;
  const char* reason_ = nullptr;
};

// What sort, topk, max along a dim and their like give: the elements, and their places along the dim (int64).
using ValuesAndIndices = std::tuple<Tensor, Tensor>;

// The result of a function that gives a null tensor where it does not serve the call.
inline Outcome<Tensor> or_not_mine(Tensor result, const char* reason) {
  if (!result) return NotMine{reason};
  return result;
}

using OptionalTensor = std::optional<Tensor>;
inline const Tensor& or_null(const OptionalTensor& t) {  // for functions that take a null tensor as absent
  static const Tensor none;
  return t ? *t : none;
}
using TensorList = std::span<const Tensor>;
using OptionalTensorList = std::span<const OptionalTensor>;
using ScalarList = std::span<const Scalar>;

// An argument of the schema that the kernel does not depend on.
struct Ignored {};

// A tensor that no class of Python acts for: of no subclass that overrides functions or handles operators.
struct PlainTensor {
  const Tensor& tensor;
  const Tensor& operator*() const { return tensor; }
  TensorImpl* operator->() const { return tensor.get(); }
};

// An int of 64 bits or a float, neither a bool nor another number.
struct IntOrFloat {
  bool floating = false;
  int64_t i = 0;
  double f = 0;
  double to_double() const { return floating ? f : double(i); }
};

// A kernel's first parameter: what it was registered with, which tells apart the operators that share one function.
template <class T> struct Registered {
  const T* data;
  const T* operator->() const { return data; }
  const T& operator*() const { return *data; }
};

}  // namespace shim
