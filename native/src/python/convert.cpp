// Which Python values a schema type takes, and what they become.
#include <cstring>

#include "python/arguments.h"
#include "python/dispatch.h"
#include "python/foreign.h"
#include "python/owned_ref.h"

namespace shim {

thread_local const char* binding_name = "operator";

namespace {

struct NumpyTypes {
  PyTypeObject *generic = nullptr, *integer = nullptr, *floating = nullptr, *boolean = nullptr;
  static NumpyTypes& get() {
    static NumpyTypes t;
    if (!t.generic) {
      PyObject* numpy = PyImport_ImportModule("numpy");
      if (!numpy) return PyErr_Clear(), t;
      auto type = [&](const char* name) {
        return reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(numpy, name));
      };
      t.generic = type("generic");
      t.integer = type("integer");
      t.floating = type("floating");
      t.boolean = type("bool_");
      Py_DECREF(numpy);
    }
    return t;
  }
};

bool numpy_is(PyObject* o, PyTypeObject* NumpyTypes::* which) {
  PyTypeObject* type = NumpyTypes::get().*which;
  return type && PyObject_TypeCheck(o, type);
}

Fit take(PyObject* o, PyObject** out) { return *out = Py_NewRef(o), Fit::yes; }
Fit made(PyObject* o, PyObject** out) {
  *out = o;
  return o ? Fit::yes : Fit::error;
}
Fit item(PyObject* o, PyObject** out) { return made(PyObject_CallMethod(o, "item", nullptr), out); }

// An index that an object gives.
Fit index_of(PyObject* o, PyObject** out) {
  OwnedRef index{PyNumber_Index(o)};
  return !index.o ? Fit::error : readable_int(index) ? made(index.give(), out) : Fit::unreadable;
}

bool plain_zero_dim(PyObject* o) { return is_tensor(o) && unwrap(o)->dim() == 0 && !unwrap(o)->requires_grad(); }

Fit tensor_index(PyObject* o, PyObject** out) {
  const Fit fit = item(o, out);
  if (fit != Fit::yes || readable_int(*out)) return fit;
  Py_CLEAR(*out);
  PyErr_SetString(PyExc_RuntimeError, "value cannot be converted to type int64_t without overflow");
  return Fit::error;
}

Fit to_int(PyObject* o, PyObject** out) {
  if (PyLong_CheckExact(o)) return readable_int(o) ? take(o, out) : Fit::unreadable;
  if (PyBool_Check(o)) return Fit::no;
  if (PyLong_Check(o) || numpy_is(o, &NumpyTypes::integer)) return index_of(o, out);
  if (is_tensor(o)) return plain_zero_dim(o) && is_integral(unwrap(o)->dtype()) ? tensor_index(o, out) : Fit::no;
  if (!PyIndex_Check(o) || (torch_function_enabled() && has_torch_function(o)))
    return Fit::no;                  // the latter: left to its override
  const Fit fit = index_of(o, out);  // numpy.array(3)
  if (fit != Fit::error) return fit;
  PyErr_Clear();  // numpy.array(3.0), or its __index__ raises
  return Fit::no;
}

Fit to_float(PyObject* o, PyObject** out) {
  if (PyFloat_CheckExact(o)) return take(o, out);
  if (PyFloat_Check(o) || PyLong_Check(o)) {
    *out = PyNumber_Float(o);
    if (*out) return Fit::yes;
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return Fit::error;
    PyErr_Clear();
    return Fit::unreadable;
  }
  if (numpy_is(o, &NumpyTypes::floating) || numpy_is(o, &NumpyTypes::integer)) return made(PyNumber_Float(o), out);
  if (!plain_zero_dim(o) || is_complex(unwrap(o)->dtype())) return Fit::no;
  const OwnedRef number{PyObject_CallMethod(o, "item", nullptr)};
  return number.o ? made(PyNumber_Float(number), out) : Fit::error;
}

bool is_number(PyObject* o) { return PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o); }

Fit to_scalar(PyObject* o, PyObject** out) {
  if (PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o)) return take(o, out);
  if (numpy_is(o, &NumpyTypes::generic)) {
    if (PyFloat_Check(o)) return made(PyNumber_Float(o), out);  // numpy.float64 is a float too
    if (!PyNumber_Check(o) && !numpy_is(o, &NumpyTypes::boolean)) return Fit::no;
    return item(o, out);
  }
  if (is_number(o)) return take(o, out);
  if (plain_zero_dim(o)) return item(o, out);
  return Fit::no;
}

Fit to_bool(PyObject* o, PyObject** out) {
  if (PyBool_Check(o)) return take(o, out);
  if (numpy_is(o, &NumpyTypes::boolean)) return made(PyBool_FromLong(PyObject_IsTrue(o)), out);
  if (plain_zero_dim(o) && unwrap(o)->dtype() == DType::b8) return item(o, out);
  return Fit::no;
}

Fit to_tensor(PyObject* o, const Slot& s, Bound& b, PyObject** out) {
  if (is_tensor_exact(o)) return take(o, out);
  if (is_tensor(o)) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != ParameterType) b.overloaded = true;
    return take(o, out);
  }
  if (s.number_ok && (is_number(o) || numpy_is(o, &NumpyTypes::generic))) return to_scalar(o, out);
  if (!is_number(o) && o != Py_None && !PyUnicode_Check(o) && has_torch_function(o)) {
    b.overloaded = true;
    return take(o, out);
  }
  return Fit::no;
}

Fit to_dtype_object(PyObject* o, PyObject** out) {
  if (is_dtype(o)) return take(o, out);
  auto* t = reinterpret_cast<PyTypeObject*>(o);
  if (t == &PyFloat_Type) return made(dtype_object(DType::f64), out);
  if (t == &PyLong_Type) return made(dtype_object(DType::i64), out);
  if (t == &PyBool_Type) return made(dtype_object(DType::b8), out);
  if (t == &PyComplex_Type) return made(dtype_object(DType::c128), out);
  return Fit::no;
}

__attribute__((noinline)) Fit to_device_object(PyObject* o, PyObject** out) {
  if (is_device(o)) return take(o, out);
  if (!PyUnicode_Check(o) && (!PyLong_Check(o) || PyBool_Check(o))) return Fit::no;
  if (PyUnicode_Check(o) && !readable_text(o)) return Fit::unreadable;
  return made(guarded([&]() -> PyObject* { return device_object(device_of(o)); }), out);
}

__attribute__((noinline)) Fit to_text(PyObject* o, PyObject** out) {
  return !PyUnicode_Check(o) ? Fit::no : readable_text(o) ? take(o, out) : Fit::unreadable;
}

bool class_named(PyObject* o, const char* name) {
  const char* type = Py_TYPE(o)->tp_name;
  const char* dot = std::strrchr(type, '.');
  return std::strcmp(dot ? dot + 1 : type, name) == 0;
}

// Of a dictionary's keys and values; those of other types are the kernel's to refuse.
bool is_of_type(std::string_view type, PyObject* o) {
  if (type == "str") return PyUnicode_Check(o);
  if (type == "int") return PyLong_Check(o);
  if (type == "float") return PyFloat_Check(o) || PyLong_Check(o);
  if (type == "bool") return PyBool_Check(o);
  return type != "Tensor" || is_tensor(o);
}

Fit to_dictionary(std::string_view type, PyObject* o, PyObject** out) {
  if (!PyDict_Check(o)) return Fit::no;
  const auto [keys, values] = dictionary_types(type);
  Py_ssize_t at = 0;
  PyObject *key, *value;
  while (!keys.empty() && PyDict_Next(o, &at, &key, &value))
    if (!is_of_type(keys, key) || !is_of_type(values, value)) return Fit::no;
  return take(o, out);
}

Fit one(const ArgType& t, const Slot& s, PyObject* o, Bound& b, PyObject** out) {
  switch (t.base) {
    case ArgType::Tensor: return to_tensor(o, s, b, out);
    case ArgType::Int: return to_int(o, out);
    case ArgType::Float: return to_float(o, out);
    case ArgType::Scalar: return to_scalar(o, out);
    case ArgType::Bool: return to_bool(o, out);
    case ArgType::Str: return to_text(o, out);
    case ArgType::ScalarType: return to_dtype_object(o, out);
    case ArgType::Device: return to_device_object(o, out);
    case ArgType::MemoryFormat: {
      MemoryFormat m;
      return memory_format_of(o, &m) ? take(o, out) : Fit::no;
    }
    case ArgType::Layout: return class_named(o, "layout") ? take(o, out) : Fit::no;
    case ArgType::Generator: return class_named(o, "Generator") ? take(o, out) : Fit::no;
    default: return t.other.starts_with("Dict(") ? to_dictionary(t.other, o, out) : take(o, out);
  }
}

Fit wrong_element(const Argument& a, size_t i, PyObject* element, size_t position) {
  raise(wrong_element_error(a, binding_name, i, position, Py_TYPE(element)->tp_name, tensor_note(element)));
  return Fit::error;
}

bool exact_ints(PyObject* tuple) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    if (!PyLong_CheckExact(PyTuple_GET_ITEM(tuple, i)) || !readable_int(PyTuple_GET_ITEM(tuple, i))) return false;
  return true;
}

// What overrides torch's functions may stand where it does not fit, for the override may know what to do with it.
// PyTorch takes tensors of subclasses so for sizes only.
Fit left_to_override(PyObject* o, bool tensors_too, Bound& b, PyObject** out) {
  if (PyUnicode_Check(o) || PyBool_Check(o) || is_number(o) || is_tensor_exact(o)) return Fit::no;
  if (is_tensor(o) && (!tensors_too || reinterpret_cast<PyObject*>(Py_TYPE(o)) == ParameterType)) return Fit::no;
  if (!torch_function_enabled() || !has_torch_function(o)) return Fit::no;
  b.overloaded = true;
  return take(o, out);
}

Fit size_element(const ArgType& t, size_t i, PyObject* o, Bound& b, PyObject** out) {
  if (i > 0 && PyBool_Check(o)) return made(PyLong_FromLong(o == Py_True), out);
  if (PyLong_CheckExact(o) || left_to_override(o, t.list_size <= 0, b, out) == Fit::no) return to_int(o, out);
  return Fit::yes;
}

Fit to_list(const Argument& a, const Slot& s, PyObject* o, size_t position, Bound& b, PyObject** out) {
  const ArgType& t = a.type;
  const bool tensors = t.base == ArgType::Tensor;
  if (!PyTuple_Check(o) && !PyList_Check(o)) {
    if (t.list_size <= 0 || tensors) return Fit::no;
    PyObject* single = nullptr;  // int[2] given 3: (3, 3)
    Fit f = one(t, s, o, b, &single);
    if (f != Fit::yes) return f;
    const OwnedRef held{single};
    return made(tuple_by(size_t(t.list_size), [&](size_t) { return Py_NewRef(single); }), out);
  }
  if (t.base == ArgType::Int && PyTuple_CheckExact(o) && exact_ints(o)) return take(o, out);
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  PyObject* result = tensors ? PyList_New(n) : PyTuple_New(n);
  if (!result) return Fit::error;
  Slot plain;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* element = PySequence_Fast_GET_ITEM(o, i);
    PyObject* value = nullptr;
    Fit f = t.element_optional && element == Py_None ? take(element, &value)
            : t.base == ArgType::Int                 ? size_element(t, size_t(i), element, b, &value)
                                                     : one(t, plain, element, b, &value);
    if (f != Fit::yes) {
      if (f == Fit::no && !t.element_optional && (tensors || i > 0)) f = wrong_element(a, size_t(i), element, position);
      Py_DECREF(result);
      return f;
    }
    if (tensors)
      PyList_SET_ITEM(result, i, value);
    else
      PyTuple_SET_ITEM(result, i, value);
  }
  return made(result, out);
}

}  // namespace

Fit convert_argument(const Argument& a, const Slot& s, PyObject* o, size_t position, Bound& b, PyObject** out) {
  if (o == Py_None) {
    if (a.type.optional) return take(o, out);  // the usual case first
    const NoneAs as = none_as(a);
    return as == NoneAs::misfit ? Fit::no : as == NoneAs::itself ? take(o, out) : made(PyTuple_New(0), out);
  }
  Fit f = a.type.list ? to_list(a, s, o, position, b, out) : one(a.type, s, o, b, out);
  if (f != Fit::no) return f;
  return left_to_override(o, a.type.list && a.type.base == ArgType::Int && a.type.list_size <= 0, b, out);
}

}  // namespace shim
