#include "python/values.h"

#include "core/sparse.h"
#include "kernels/tensor_parameter.h"
#include "python/native_ops.h"
#include "python/owned_ref.h"

namespace shim {

void Values::put_other(Value& v, PyObject* o) {
  MemoryFormat format;
  int layout;
  if (PyLong_Check(o)) {
    int overflow = 0;
    v.tag = PyBool_Check(o) ? Value::boolean : Value::integer;
    v.i = PyLong_AsLongLongAndOverflow(o, &overflow);
    v.width = Value::word;
    if (__builtin_expect(!overflow, 1)) return;
    v.i = int64_t(PyLong_AsUnsignedLongLong(o));
    v.width = PyErr_Occurred() ? Value::wider : Value::unsigned_word;
    PyErr_Clear();
  } else if (PyTuple_Check(o) || PyList_Check(o)) {
    put_list(v, o);
  } else if (is_tensor(o)) {
    v.tag = Value::tensor;
    v.t = unwrap(o);
  } else if (is_dtype(o)) {
    v.tag = Value::dtype;
    v.i = int64_t(dtype_of(o));
  } else if (is_device(o)) {
    v.tag = Value::device;
    v.where = device_of(o);
  } else if (PyFloat_Check(o)) {
    v.tag = Value::real;
    v.f = PyFloat_AS_DOUBLE(o);
  } else if (PyComplex_Check(o)) {
    v.tag = Value::complex;
    v.f = PyComplex_RealAsDouble(o);
    v.imag = PyComplex_ImagAsDouble(o);
  } else if (memory_format_of(o, &format)) {
    v.tag = Value::memory_format;
    v.i = int64_t(format);
  } else if ((layout = layout_of(o)) >= 0) {
    v.tag = Value::layout;
    v.i = layout;
  } else if (Py_ssize_t n = 0; PyUnicode_Check(o) && (v.chars = PyUnicode_AsUTF8AndSize(o, &n))) {
    v.tag = Value::text;
    v.size = uint32_t(n);
  } else {
    PyErr_Clear();  // of a text without UTF-8
    v.tag = Value::object;
    v.held = o;
  }
}

void Values::put_list(Value& v, PyObject* o) {
  const size_t n = size_t(PySequence_Fast_GET_SIZE(o));
  Value* items = room(n);
  for (size_t i = 0; i < n; ++i) put(items[i], PySequence_Fast_GET_ITEM(o, Py_ssize_t(i)));
  v.tag = Value::list;
  v.size = uint32_t(n);
  v.items = items;
}

Value* Values::more_room(size_t n) {
  if (!more_) more_ = std::make_unique<std::vector<std::unique_ptr<Value[]>>>();
  return more_->emplace_back(std::make_unique<Value[]>(n)).get();
}

bool number_of(PyObject* o, Scalar* n) {
  if (!PyLong_Check(o) && !PyFloat_Check(o) && !PyComplex_Check(o)) return false;
  *n = Values().of(o).number();
  return true;
}

PyObject* tuple_of(std::span<PyObject* const> items) {
  OwnedRef made{PyTuple_New(Py_ssize_t(items.size()))};
  bool complete = made.o;
  for (size_t i = 0; i < items.size(); ++i) {
    complete = complete && items[i];
    if (made.o)
      PyTuple_SET_ITEM(made.o, Py_ssize_t(i), items[i]);
    else
      Py_XDECREF(items[i]);
  }
  return complete ? made.give() : nullptr;
}

PyObject* list_of(std::span<const Tensor> tensors) {
  OwnedRef list = owned(PyList_New(Py_ssize_t(tensors.size())));
  for (size_t i = 0; i < tensors.size(); ++i) PyList_SET_ITEM(list.o, Py_ssize_t(i), owned(wrap(tensors[i])).give());
  return list.give();
}

PyObject* object_of(Answer& a) {
  switch (a.kind) {
    case Answer::declined: return nullptr;
    case Answer::tensor: return wrap(a.take_tensor());
    case Answer::argument: return wrap(BorrowedTensor(a.t));
    case Answer::boolean: return PyBool_FromLong(a.i != 0);
    case Answer::integer: return PyLong_FromLongLong(a.i);
    default: break;
  }
  const auto n = Py_ssize_t(a.i);
  OwnedRef made{a.kind == Answer::list ? PyList_New(n) : PyTuple_New(n)};
  bool complete = made.o;
  for (Py_ssize_t k = 0; k < n; ++k) {  // each part is taken, whatever happens to one of them
    PyObject* item = object_of(a.parts[k]);
    complete = complete && item;
    if (!made.o)
      Py_XDECREF(item);
    else if (a.kind == Answer::list)
      PyList_SET_ITEM(made.o, k, item);
    else
      PyTuple_SET_ITEM(made.o, k, item);
  }
  a.drop_room();
  return complete ? made.give() : nullptr;
}

PyObject* raise_caught() {
  return guarded([]() -> PyObject* { throw; });
}

}  // namespace shim
