#pragma once
// What functions of the module (python/module_function.h) take and give beside what kernels do.
#include "python/module_function.h"
#include "python/tensor_type.h"

namespace shim::module_call {

template <> struct Argument<const TensorImpl&> {
  bool take(PyObject* o, FromObjects& r) {
    tensor_ = is_tensor(o) ? unwrap(o) : nullptr;
    return tensor_ || (r.why = "expected a torch.Tensor", false);
  }
  const TensorImpl& value() const { return *tensor_; }

 private:
  TensorImpl* tensor_ = nullptr;
};
template <> struct Argument<TensorImpl&> : Argument<const TensorImpl&> {
  TensorImpl& value() const { return const_cast<TensorImpl&>(Argument<const TensorImpl&>::value()); }
};

template <> struct Argument<const std::string&> {
  bool take(PyObject* o, FromObjects& r) {
    if (!PyUnicode_Check(o)) return r.why = "no text", false;
    text_ = utf8(o);
    return true;
  }
  const std::string& value() const { return text_; }

 private:
  std::string text_;
};

template <> struct Argument<const Dims&> {  // any sequence of integers, or one
  bool take(PyObject* o, FromObjects&) {
    if (!dims_of(o, &dims_)) throw PythonError();
    return true;
  }
  const Dims& value() const { return dims_; }

 private:
  Dims dims_;
};

}  // namespace shim::module_call
