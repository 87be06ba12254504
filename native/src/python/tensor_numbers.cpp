// Elements of a tensor as Python numbers: item, tolist, bool, int, float.
#include "core/extent.h"
#include "core/lazy_clone.h"
#include "core/math_bits.h"
#include "core/sparse.h"
#include "ops/elements.h"
#include "python/object_methods.h"
#include "python/tensor_type.h"
#include "python/torch_dispatch.h"
#include "trace/running.h"

namespace shim {

namespace {

Tensor on_cpu(TensorImpl* t) {
  t->storage()->settle();
  if (t->device().is_cpu()) return resolved(Tensor(t));
  Tensor host = empty(t->sizes(), t->dtype(), Device{});
  copy_(host, Tensor(t));
  return host;
}

PyObject* number_object(const Scalar& n) {
  switch (n.type) {
    case Scalar::Bool: return PyBool_FromLong(n.i != 0);
    case Scalar::Int: return n.big ? PyLong_FromUnsignedLongLong(uint64_t(n.i)) : PyLong_FromLongLong(n.i);
    case Scalar::Float: return PyFloat_FromDouble(n.f);
    default: return PyComplex_FromDoubles(n.f, n.imag);
  }
}

// A sparse number is the sum of its values.
PyObject* sparse_item(PyObject* self) {
  return PyObject_CallMethod(owned(PyObject_CallMethod(self, "to_dense", nullptr)), "item", nullptr);
}

PyObject* number_of(PyObject* self, bool decides = false) {
  if (__builtin_expect(python_dispatch, 0) && wants_dispatch(&self, 1)) {
    static Operator* op = find_operator("aten::_local_scalar_dense", "");
    if (op) return call_torch_dispatch(*op, &self, 1);
  }
  return guarded([&]() -> PyObject* {
    TensorImpl* t = unwrap(self);
    CHECK(Kind::Runtime, t->numel() == 1, "a Tensor with ", t->numel(), " elements cannot be converted to Scalar");
    if (is_sparse(*t)) return sparse_item(self);
    CHECK(Kind::Runtime, has_data(*t), "Cannot access data pointer of Tensor that doesn't have storage");
    if (!decides) trace::before_number(*t->storage());
    t->storage()->settle();
    CHECK(Kind::Runtime, !t->device().is_meta(), "Tensor.item() cannot be called on meta tensors");
    return number_object(item(Tensor(t)));
  });
}

PyObject* list_of(TensorImpl* t, const char* p, int dim) {
  if (dim == t->dim())  // real, for the most part
    return is_floating(t->dtype()) ? PyFloat_FromDouble(load_as_double(p, t->dtype()))
                                   : number_object(load_number(p, t->dtype()));
  int64_t n = t->sizes_data()[dim], step = t->strides_data()[dim] * int64_t(t->itemsize());
  return owned(list_by(size_t(n), [&](size_t i) { return list_of(t, p + int64_t(i) * step, dim + 1); })).give();
}

PyObject* tolist(PyObject* self) {
  TensorImpl& t = *unwrap(self);
  CHECK(Kind::NotImplemented, !t.device().is_meta(), "Cannot copy out of meta tensor; no data!");
  CHECK(Kind::Runtime, is_sparse(t) || has_data(t) || !class_has_handler(Py_TYPE(self)),
      ".tolist() is not supported for tensor subclasses, got ", Py_TYPE(self)->tp_name);
  CHECK(Kind::Runtime, !is_sparse(t) && has_data(t), "Cannot access data pointer of Tensor that doesn't have storage");
  CHECK(Kind::Runtime, !t.numel() || t.storage()->nbytes(),
      "tolist() shouldn't be called on a tensor with unallocated storage");
  const Tensor host = on_cpu(&t);
  const Lent lent(host->storage());  // making lists may run a collection, which runs anybody's code
  return list_of(host.get(), host->data_as<const char>(), 0);
}

bool truth_of(PyObject* self) {
  const int64_t n = unwrap(self)->numel();
  CHECK(Kind::Runtime, n, "Boolean value of Tensor with no values is ambiguous");
  CHECK(Kind::Runtime, n == 1, "Boolean value of Tensor with more than one value is ambiguous");
  const int r = PyObject_IsTrue(owned(number_of(self, true)));
  if (r < 0) throw PythonError();
  return r;
}

PyObject* converted(PyObject* self, PyObject* (*to)(PyObject*), const char* real_type = nullptr) {
  CHECK(Kind::Value, unwrap(self)->numel() == 1, "only one element tensors can be converted to Python scalars");
  OwnedRef value = owned(number_of(self));
  if (real_type && PyComplex_Check(value.o)) {
    CHECK(Kind::Runtime, PyComplex_ImagAsDouble(value) == 0, "value cannot be converted to type ", real_type,
        " without overflow");
    value = owned(PyFloat_FromDouble(PyComplex_RealAsDouble(value)));
  }
  return to(value);
}
PyObject* complex_of(PyObject* v) { return PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyComplex_Type), v); }
PyObject* as_index(PyObject* self) {
  const TensorImpl& t = *unwrap(self);
  CHECK(Kind::Type, is_integral(t.dtype(), true) && t.numel() == 1,
      "only integer tensors of a single element can be converted to an index");
  return converted(self, PyNumber_Index);
}
int64_t leading_size(PyObject* self) {
  const TensorImpl& t = *unwrap(self);
  CHECK(Kind::Type, t.dim(), "len() of a 0-d tensor");
  return t.sizes_data()[0];
}

const TensorPart number_methods{
    {method_of_none<&leading_size>("__len__"), method_of_none<[](PyObject* self) { return number_of(self); }>("item"),
        method_of_none<&tolist>("tolist"), method_of_none<&truth_of>("__bool__"),
        method_of_none<[](PyObject* self) { return converted(self, PyNumber_Long, "int64_t"); }>("__int__"),
        method_of_none<[](PyObject* self) { return converted(self, PyNumber_Float, "double"); }>("__float__"),
        method_of_none<[](PyObject* self) { return converted(self, complex_of); }>("__complex__"),
        method_of_none<&as_index>("__index__")}};

}  // namespace

}  // namespace shim
