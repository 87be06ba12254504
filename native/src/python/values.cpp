#include "python/values.h"

#include <algorithm>

#include "core/sparse.h"
#include "kernels/tensor_parameter.h"
#include "python/dispatch.h"
#include "python/owned_ref.h"

namespace shim {

// One that holds itself, as a hook may give it, or that lies deeper than anything here reads, is an object as any other.
struct Values::Inside {
  Inside(Values& values, PyObject* o)
      : values_(values), outer_(values.inside_), o_(o), depth_(outer_ ? outer_->depth_ + 1 : 0) {
    values.inside_ = this;
  }
  Inside(const Inside&) = delete;
  ~Inside() { values_.inside_ = outer_; }
  static bool may_be(const Inside* outer, PyObject* o) {
    if (outer && outer->depth_ == kDeepest) return false;
    while (outer && outer->o_ != o) outer = outer->outer_;
    return !outer;
  }

 private:
  static constexpr int kDeepest = 15;
  Values& values_;
  const Inside* const outer_;
  PyObject* const o_;
  const int depth_;
};

void Values::put_object(Value& v, PyObject* o) {
  v.tag = Value::object;
  v.held = o;
}

inline void Values::put_list(Value& v, PyObject* o) {
  if (!Inside::may_be(inside_, o)) return put_object(v, o);
  const Inside inside(*this, o);
  const size_t n = size_t(PySequence_Fast_GET_SIZE(o));
  Value* items = room_.take(n);
  for (size_t i = 0; i < n; ++i) put(items[i], PySequence_Fast_GET_ITEM(o, Py_ssize_t(i)));
  v = {Value::list, uint32_t(n), items};
  v.origin = o;
}

void Values::put_other(Value& v, PyObject* o) {
  MemoryFormat format;
  int layout;
  if (PyTuple_Check(o) || PyList_Check(o)) {
    put_list(v, o);
  } else if (PyLong_Check(o)) {
    int overflow = 0;
    v.tag = PyBool_Check(o) ? Value::boolean : Value::integer;
    v.i = PyLong_AsLongLongAndOverflow(o, &overflow);
    v.width = Value::word;
    if (__builtin_expect(!overflow, 1)) return;
    v.i = int64_t(PyLong_AsUnsignedLongLong(o));
    v.width = PyErr_Occurred() ? Value::wider : Value::unsigned_word;
    PyErr_Clear();
  } else if (is_tensor(o)) {
    v.tag = Value::tensor;
    v.width = Value::subclass;
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
  } else if (PyDict_Check(o)) {
    put_dict(v, o);
  } else {
    PyErr_Clear();  // of a text without UTF-8
    put_object(v, o);
  }
}

void Values::put_dict(Value& v, PyObject* o) {
  if (!Inside::may_be(inside_, o)) return put_object(v, o);
  const Inside inside(*this, o);
  PyObject *key, *value;
  Value* items = room_.take(2 * size_t(PyDict_Size(o)));
  v = {Value::dict, uint32_t(PyDict_Size(o)), items};
  v.origin = o;
  for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value);) {
    put(*items++, key);
    put(*items++, value);
  }
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
  return owned(list_by(tensors.size(), [&](size_t i) { return wrap(tensors[i]); })).give();
}

namespace {

PyObject* integer_object(const Value& v) {
  CHECK(Kind::Overflow, v.width != Value::wider, "int too big to convert");
  return v.width == Value::word ? PyLong_FromLongLong(v.i) : PyLong_FromUnsignedLongLong(uint64_t(v.i));
}

// Lists of tensors are lists, of other values tuples, as bound arguments are.
PyObject* sequence_object(const Value& v) {
  const std::span items(v.items, v.size);
  const bool list =
      v.tag == Value::tensors || std::ranges::any_of(items, [](const Value& i) { return i.tag == Value::tensor; });
  const auto one = [&](size_t i) { return object_of(items[i]); };
  return list && !v.is_tuple() ? list_by(v.size, one) : tuple_by(v.size, one);
}

PyObject* dict_object(const Value& v) {
  OwnedRef all = owned(PyDict_New());
  for (uint32_t i = 0; i < v.size; ++i) {
    OwnedRef key{object_of(v.items[2 * i])}, value{object_of(v.items[2 * i + 1])};
    if (PyDict_SetItem(all, key, value) < 0) throw PythonError();
  }
  return all.give();
}

PyObject* stream_object(const Value& v) {
  const OwnedRef make = imported("shim_torch._impl.extensions.cxx_function", "stream");
  return PyObject_CallFunction(make, "Li", static_cast<long long>(v.i), int(int32_t(v.size)));
}

PyObject* made_object(const Value& v) {
  switch (v.tag) {
    case Value::none: return Py_NewRef(Py_None);
    case Value::tensor: return wrap(BorrowedTensor(v.t));
    case Value::boolean: return PyBool_FromLong(v.i != 0);
    case Value::integer: return integer_object(v);
    case Value::real: return PyFloat_FromDouble(v.f);
    case Value::complex: return PyComplex_FromDoubles(v.f, v.imag);
    case Value::text: return PyUnicode_DecodeUTF8(v.chars, v.size, "surrogateescape");
    case Value::dtype: return dtype_object(DType(v.i));
    case Value::device: return device_object(v.where);
    case Value::layout: return layout_object(int(v.i));
    case Value::memory_format: return memory_format_object(MemoryFormat(v.i));
    case Value::object: return Py_NewRef(static_cast<PyObject*>(v.held));
    case Value::dict: return dict_object(v);
    case Value::stream: return stream_object(v);
    default: return sequence_object(v);
  }
}

}  // namespace

PyObject* object_of(const Value& v) { return owned(made_object(v)).give(); }

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

PyObject* object(const Fact& fact) {
  return std::visit(
      [](const auto& v) -> PyObject* {
        using V = std::remove_cvref_t<decltype(v)>;
        if constexpr (std::is_same_v<V, bool>) return PyBool_FromLong(v);
        if constexpr (std::is_same_v<V, int64_t>) return PyLong_FromLongLong(v);
        if constexpr (std::is_same_v<V, double>) return PyFloat_FromDouble(v);
        if constexpr (std::is_same_v<V, std::string>)
          return PyUnicode_FromStringAndSize(v.data(), Py_ssize_t(v.size()));
        if constexpr (std::is_same_v<V, Fact::List>) return list_by(v.size(), [&](size_t i) { return object(v[i]); });
        if constexpr (std::is_same_v<V, Fact::Tuple>)
          return tuple_by(v.items.size(), [&](size_t i) { return object(v.items[i]); });
        if constexpr (std::is_same_v<V, Fact::Named>) {
          OwnedRef dict = owned(PyDict_New());
          for (const auto& [name, part] : v)
            if (PyDict_SetItemString(dict, name.c_str(), owned(object(part))) < 0) return nullptr;
          return dict.give();
        }
      },
      fact.value);
}

}  // namespace shim
