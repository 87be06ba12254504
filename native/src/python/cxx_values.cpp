#include "python/cxx_values.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "python/owned_ref.h"

namespace shim {

namespace {

template <class T> T* array(size_t n) {
  void* p = std::malloc(n ? n * sizeof(T) : 1);
  if (!p) throw std::bad_alloc();
  return static_cast<T*>(p);
}

// What a list's cell holds, one Python object an element.
PyObject* element_of(const ShimCell& c, size_t i) {
  switch (c.tag) {
    case SHIM_INTS: return PyLong_FromLongLong(static_cast<const int64_t*>(c.p)[i]);
    case SHIM_DOUBLES: return PyFloat_FromDouble(static_cast<const double*>(c.p)[i]);
    case SHIM_BOOLS: return PyBool_FromLong(static_cast<const uint8_t*>(c.p)[i]);
    case SHIM_TENSORS: return wrap(tensor_in(static_cast<ShimTensor* const*>(c.p)[i]));
    default: return object_of(static_cast<const ShimCell*>(c.p)[i]);
  }
}

PyObject* sequence_of(const ShimCell& c) {
  const bool list = c.tag == SHIM_TENSORS || c.tag == SHIM_LIST;
  OwnedRef all = owned(list ? PyList_New(c.n) : PyTuple_New(c.n));
  for (uint32_t i = 0; i < c.n; ++i) {
    PyObject* o = owned(element_of(c, i)).give();
    if (list)
      PyList_SET_ITEM(all.o, i, o);
    else
      PyTuple_SET_ITEM(all.o, i, o);
  }
  return all.give();
}

PyObject* dict_of(const ShimCell& c) {
  OwnedRef all = owned(PyDict_New());
  for (uint32_t i = 0; i < c.n; ++i) {
    auto* pair = static_cast<const ShimCell*>(c.p) + 2 * i;
    OwnedRef key = owned(object_of(pair[0])), value = owned(object_of(pair[1]));
    if (PyDict_SetItem(all, key, value) < 0) throw PythonError();
  }
  return all.give();
}

ShimCell text_cell(PyObject* o) {
  Py_ssize_t n;
  const char* text = PyUnicode_AsUTF8AndSize(o, &n);
  if (!text) throw PythonError();
  char* copy = array<char>(size_t(n) + 1);
  std::memcpy(copy, text, size_t(n) + 1);
  return {.tag = SHIM_STRING, .n = uint32_t(n), .p = copy, .im = 0};
}

uint32_t list_tag(PyObject* list, const ArgType* type) {
  auto of = [](ArgType::Base base) {
    return base == ArgType::Int      ? SHIM_INTS
           : base == ArgType::Float  ? SHIM_DOUBLES
           : base == ArgType::Bool   ? SHIM_BOOLS
           : base == ArgType::Tensor ? SHIM_TENSORS
                                     : SHIM_LIST;
  };
  if (type && type->base != ArgType::Any) return of(type->base);
  uint32_t found = SHIM_NONE;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i) {
    PyObject* o = PySequence_Fast_GET_ITEM(list, i);
    const uint32_t tag = is_tensor(o)       ? SHIM_TENSORS
                         : PyBool_Check(o)  ? SHIM_BOOLS
                         : PyLong_Check(o)  ? SHIM_INTS
                         : PyFloat_Check(o) ? SHIM_DOUBLES
                                            : SHIM_LIST;
    if (found != SHIM_NONE && found != tag) return SHIM_LIST;
    found = tag;
  }
  return found == SHIM_NONE ? SHIM_LIST : found;
}

void put_element(ShimCell& c, size_t i, PyObject* o, const ArgType* type) {
  void* p = const_cast<void*>(c.p);
  switch (c.tag) {
    case SHIM_INTS: static_cast<int64_t*>(p)[i] = PyLong_AsLongLong(o); break;
    case SHIM_DOUBLES: static_cast<double*>(p)[i] = PyFloat_AsDouble(o); break;
    case SHIM_BOOLS: static_cast<uint8_t*>(p)[i] = uint8_t(PyObject_IsTrue(o)); break;
    case SHIM_TENSORS:
      CHECK(Kind::Type, o == Py_None || is_tensor(o), "expected a Tensor, but got ", Py_TYPE(o)->tp_name);
      static_cast<ShimTensor**>(p)[i] = o == Py_None ? nullptr : counted(Tensor(unwrap(o)));
      break;
    default: static_cast<ShimCell*>(p)[i] = cell_of_object(o, type);
  }
  if (PyErr_Occurred()) throw PythonError();
}

ShimCell list_cell(PyObject* o, const ArgType* type) {
  OwnedRef list = owned(PySequence_Fast(o, "expected a list"));
  const size_t n = size_t(PySequence_Fast_GET_SIZE(list.o));
  ArgType element;
  if (type) {
    element = *type;
    element.list = false;
    element.optional = type->element_optional;
  }
  ShimCell c{.tag = list_tag(list, type), .n = 0, .p = array<ShimCell>(n), .im = 0};
  try {
    for (; c.n < n; ++c.n)
      put_element(c, c.n, PySequence_Fast_GET_ITEM(list.o, Py_ssize_t(c.n)), type ? &element : nullptr);
  } catch (...) {
    release_cell(c);
    throw;
  }
  return c;
}

ShimCell dict_cell(PyObject* o) {
  ShimCell c{.tag = SHIM_DICT, .n = 0, .p = array<ShimCell>(2 * size_t(PyDict_Size(o))), .im = 0};
  PyObject *key, *value;
  auto* pairs = static_cast<ShimCell*>(const_cast<void*>(c.p));
  try {
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value); ++c.n) {
      pairs[2 * c.n] = cell_of_object(key);
      try {
        pairs[2 * c.n + 1] = cell_of_object(value);
      } catch (...) {
        release_cell(pairs[2 * c.n]);
        throw;
      }
    }
  } catch (...) {
    release_cell(c);
    throw;
  }
  return c;
}

ShimCell number_cell(PyObject* o, bool real) {
  if (real || PyFloat_Check(o)) return {.tag = SHIM_DOUBLE, .n = 0, .d = PyFloat_AsDouble(o), .im = 0};
  if (PyBool_Check(o)) return {.tag = SHIM_BOOL, .n = 0, .i = o == Py_True, .im = 0};
  if (PyComplex_Check(o))
    return {.tag = SHIM_COMPLEX, .n = 0, .d = PyComplex_RealAsDouble(o), .im = PyComplex_ImagAsDouble(o)};
  return {.tag = SHIM_INT, .n = 0, .i = PyLong_AsLongLong(o), .im = 0};
}

}  // namespace

PyObject* object_of(const ShimCell& c, const ArgType* wanted) {
  const bool real = wanted && wanted->base == ArgType::Float && !wanted->list;
  switch (c.tag) {
    case SHIM_NONE: Py_RETURN_NONE;
    case SHIM_INT: return real ? PyFloat_FromDouble(double(c.i)) : PyLong_FromLongLong(c.i);
    case SHIM_DOUBLE: return PyFloat_FromDouble(c.d);
    case SHIM_BOOL: return PyBool_FromLong(c.i != 0);
    case SHIM_COMPLEX: return PyComplex_FromDoubles(c.d, c.im);
    case SHIM_TENSOR: return wrap(tensor_in(static_cast<const ShimTensor*>(c.p)));
    case SHIM_STRING: return PyUnicode_DecodeUTF8(static_cast<const char*>(c.p), c.n, "surrogateescape");
    case SHIM_DTYPE: return dtype_object(abi::make_dtype(int32_t(c.i)));
    case SHIM_DEVICE: return device_object(abi::make_device(int32_t(c.i), int32_t(c.n)));
    case SHIM_LAYOUT: return layout_object(int(c.i));
    case SHIM_MEMORY_FORMAT: return memory_format_object(MemoryFormat(c.i));
    case SHIM_OBJECT: return Py_NewRef(static_cast<PyObject*>(const_cast<void*>(c.p)));
    case SHIM_DICT: return dict_of(c);
    case SHIM_STREAM: {
      OwnedRef module = owned(PyImport_ImportModule("shim_torch._impl.extensions.cxx_function"));
      return PyObject_CallMethod(module, "stream", "Li", static_cast<long long>(c.i), int(int32_t(c.n)));
    }
    default: return sequence_of(c);
  }
}

ShimCell cell_of_object(PyObject* o, const ArgType* type) {
  ShimCell c{.tag = SHIM_NONE, .n = 0, .i = 0, .im = 0};
  MemoryFormat format;
  if (o == Py_None) return c;
  if (is_tensor(o)) return {.tag = SHIM_TENSOR, .n = 0, .p = counted(Tensor(unwrap(o))), .im = 0};
  if (PyFloat_Check(o) || PyLong_Check(o) || PyComplex_Check(o)) {
    c = number_cell(o, type && type->base == ArgType::Float && !type->list);
    if (PyErr_Occurred()) throw PythonError();
    return c;
  }
  if (PyUnicode_Check(o)) return text_cell(o);
  if (PyTuple_Check(o) || PyList_Check(o)) return list_cell(o, type && type->list ? type : nullptr);
  if (is_dtype(o)) return {.tag = SHIM_DTYPE, .n = 0, .i = int64_t(dtype_of(o)), .im = 0};
  if (is_device(o)) {
    const Device d = device_of(o);
    return {.tag = SHIM_DEVICE, .n = uint32_t(int32_t(d.index)), .i = int64_t(d.type), .im = 0};
  }
  if (memory_format_of(o, &format)) return {.tag = SHIM_MEMORY_FORMAT, .n = 0, .i = int64_t(format), .im = 0};
  if (const int layout = layout_of(o); layout >= 0) return {.tag = SHIM_LAYOUT, .n = 0, .i = layout, .im = 0};
  PyErr_Clear();
  if (PyDict_Check(o)) return dict_cell(o);
  return {.tag = SHIM_OBJECT, .n = 0, .p = Py_NewRef(o), .im = 0};
}

void release_cell(ShimCell& c) noexcept {
  auto* cells = static_cast<ShimCell*>(const_cast<void*>(c.p));
  switch (c.tag) {
    case SHIM_TENSOR: shim_cxx_drop(static_cast<ShimTensor*>(const_cast<void*>(c.p))); break;
    case SHIM_TENSORS:
      for (uint32_t i = 0; i < c.n; ++i) shim_cxx_drop(static_cast<ShimTensor* const*>(c.p)[i]);
      std::free(cells);
      break;
    case SHIM_LIST:
    case SHIM_DICT:
      for (uint32_t i = 0; i < (c.tag == SHIM_DICT ? 2 * c.n : c.n); ++i) release_cell(cells[i]);
      std::free(cells);
      break;
    case SHIM_STRING:
    case SHIM_INTS:
    case SHIM_DOUBLES:
    case SHIM_BOOLS: std::free(cells); break;
    case SHIM_OBJECT:
      if (python_lives()) {
        GilAcquire gil;
        Py_DECREF(static_cast<PyObject*>(const_cast<void*>(c.p)));
      }
      break;
    default: break;
  }
  c = {};
}

}  // namespace shim
