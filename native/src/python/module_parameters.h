#pragma once
// What functions of the module (python/module_function.h) take and give beside what kernels do.
#include "python/kernel_call.h"

namespace shim {

template <On on> struct Parameter<const TensorImpl&, on> {
  bool take(PyObject* o, const char** why) {
    tensor_ = is_tensor(o) ? unwrap(o) : nullptr;
    return tensor_ || (*why = "expected a torch.Tensor", false);
  }
  const TensorImpl& value() const { return *tensor_; }

 private:
  TensorImpl* tensor_ = nullptr;
};
template <On on> struct Parameter<TensorImpl&, on> : Parameter<const TensorImpl&, on> {
  TensorImpl& value() const { return const_cast<TensorImpl&>(Parameter<const TensorImpl&, on>::value()); }
};

template <On on> struct Parameter<PyObject*, on> {  // lent, whatever it is
  bool take(PyObject* o, const char**) {
    object_ = o;
    return true;
  }
  PyObject* value() const { return object_; }

 private:
  PyObject* object_ = nullptr;
};

template <On on> struct Parameter<const Dims&, on> {  // any sequence of integers, or one
  bool take(PyObject* o, const char**) {
    if (!dims_of(o, &dims_)) throw PythonError();
    return true;
  }
  const Dims& value() const { return dims_; }

 private:
  Dims dims_;
};

namespace kernel_call {

inline PyObject* object(const Dims& dims) { return size_object(dims); }
inline PyObject* object(MemoryFormat f) { return memory_format_object(f); }

}  // namespace kernel_call

}  // namespace shim

#include "python/module_function.h"
