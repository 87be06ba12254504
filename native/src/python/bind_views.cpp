// The views of core/views.cpp, and empty tensors, as functions of shim_torch._impl.native._core. They record no history.
#include "core/math_bits.h"
#include "cpu/indexing.h"
#include "python/view_functions.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

using Args = PyObject* const*;

bool tensor_first(Args args, Py_ssize_t n, Py_ssize_t least, const char* name) {
  if (n < least)
    return PyErr_Format(PyExc_TypeError, "%s: expected at least %zd arguments, got %zd", name, least, n), false;
  if (!is_tensor(args[0]))
    return PyErr_Format(PyExc_TypeError, "%s: expected a torch.Tensor, got %s", name, Py_TYPE(args[0])->tp_name), false;
  return true;
}

// f(tensor, list)
template <Tensor (*F)(const TensorImpl&, IntArrayRef)> PyObject* with_dims(PyObject*, Args args, Py_ssize_t n) {
  Dims d;
  if (!tensor_first(args, n, 2, "view") || !dims_of(args[1], &d)) return nullptr;
  return guarded([&]() -> PyObject* { return wrap(F(*unwrap(args[0]), d)); });
}

bool ints(Args args, int count, int64_t* out) {
  for (int i = 0; i < count; ++i) {
    PyObject* index = PyNumber_Index(args[i]);
    if (!index) return false;
    out[i] = PyLong_AsLongLong(index);
    Py_DECREF(index);
    if (out[i] == -1 && PyErr_Occurred()) return false;
  }
  return true;
}

#define WITH_INTS(name, count, expression)                                                       \
  PyObject* name(PyObject*, Args args, Py_ssize_t n) {                                           \
    int64_t i[count];                                                                            \
    if (!tensor_first(args, n, (count) + 1, #name) || !ints(args + 1, count, i)) return nullptr; \
    return guarded([&]() -> PyObject* {                                                          \
      const TensorImpl& t = *unwrap(args[0]);                                                    \
      return wrap(expression);                                                                   \
    });                                                                                          \
  }

WITH_INTS(transpose_, 2, transpose(t, i[0], i[1]))
WITH_INTS(unsqueeze_, 1, unsqueeze(t, i[0]))
WITH_INTS(select_, 2, select(t, i[0], i[1]))
WITH_INTS(slice_, 4, slice(t, i[0], i[1], i[2], i[3]))
WITH_INTS(narrow_, 3, narrow(t, i[0], i[1], i[2]))
WITH_INTS(unfold_, 3, unfold(t, i[0], i[1], i[2]))
WITH_INTS(diagonal_, 3, diagonal(t, i[0], i[1], i[2]))

#define PLAIN(name, expression)                         \
  PyObject* name(PyObject*, PyObject* o) {              \
    if (!tensor_first(&o, 1, 1, #name)) return nullptr; \
    return guarded([&]() -> PyObject* {                 \
      const TensorImpl& t = *unwrap(o);                 \
      return wrap(expression);                          \
    });                                                 \
  }
PLAIN(alias_, alias(t))
PLAIN(view_as_real_, view_as_real(t))
PLAIN(view_as_complex_, view_as_complex(t))
PLAIN(conj_view_, conj_view(t))
PLAIN(neg_view_, neg_view(t))

PyObject* set_bit(PyObject* args, const char* name, void (*set)(TensorImpl&, bool)) {
  PyObject* tensor;
  int on;
  if (!PyArg_ParseTuple(args, "Op", &tensor, &on) || !tensor_first(&tensor, 1, 1, name)) return nullptr;
  return guarded([&]() -> PyObject* {
    set(*unwrap(tensor), on);
    Py_RETURN_NONE;
  });
}
PyObject* set_conj_(PyObject*, PyObject* args) { return set_bit(args, "_set_conj", set_conj); }
PyObject* set_neg_(PyObject*, PyObject* args) { return set_bit(args, "_set_neg", set_neg); }

PyObject* squeeze_(PyObject*, Args args, Py_ssize_t n) {  // (tensor) or (tensor, dims)
  Dims d;
  if (!tensor_first(args, n, 1, "squeeze") || (n > 1 && !dims_of(args[1], &d))) return nullptr;
  return guarded([&]() -> PyObject* { return wrap(n > 1 ? squeeze(*unwrap(args[0]), d) : squeeze(*unwrap(args[0]))); });
}

PyObject* as_strided_(PyObject*, Args args, Py_ssize_t n) {  // (tensor, sizes, strides, offset or None)
  Dims sizes, strides;
  int64_t offset = 0;
  if (!tensor_first(args, n, 3, "as_strided") || !dims_of(args[1], &sizes) || !dims_of(args[2], &strides))
    return nullptr;
  bool given = n > 3 && args[3] != Py_None;
  if (given && !ints(args + 3, 1, &offset)) return nullptr;
  return guarded([&]() -> PyObject* {
    const TensorImpl& t = *unwrap(args[0]);
    return wrap(as_strided(t, sizes, strides, given ? offset : t.storage_offset()));
  });
}

PyObject* view_dtype_(PyObject*, Args args, Py_ssize_t n) {
  if (!tensor_first(args, n, 2, "view")) return nullptr;
  return guarded([&]() -> PyObject* { return wrap(view_dtype(*unwrap(args[0]), dtype_of(args[1]))); });
}

PyObject* can_view(PyObject*, Args args, Py_ssize_t n) {  // (tensor, shape) -> whether view() would work
  Dims d, out;
  if (!tensor_first(args, n, 2, "view") || !dims_of(args[1], &d)) return nullptr;
  return guarded([&]() -> PyObject* {
    const TensorImpl& t = *unwrap(args[0]);
    Dims sizes = infer_size(d, t.numel());
    return PyBool_FromLong(t.is_contiguous() || try_view_strides(t.sizes(), t.strides(), sizes, out));
  });
}

Device resolved(PyObject* o) {
  if (!o || o == Py_None) return Device{};
  Device d = device_of(o);
  if (d.is_cpu()) d.index = -1;  // PyTorch prints cpu tensors' device without an index
  return d;
}

PyObject* empty_tensor(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"size", "dtype", "device", "pin_memory", "memory_format", nullptr};
  PyObject *size, *dtype = Py_None, *device = Py_None, *format = Py_None;
  int pin = 0;
  if (!PyArg_ParseTupleAndKeywords(
          args, kwargs, "O|OOpO:empty", const_cast<char**>(names), &size, &dtype, &device, &pin, &format))
    return nullptr;
  Dims d;
  if (!dims_of(size, &d)) return nullptr;
  return guarded([&]() -> PyObject* {
    MemoryFormat f = MemoryFormat::contiguous;
    if (format != Py_None)
      CHECK(Kind::Type, memory_format_of(format, &f), "empty(): argument 'memory_format' must be torch.memory_format");
    return wrap(empty(d, dtype == Py_None ? default_dtype() : dtype_of(dtype), resolved(device), pin, f));
  });
}

PyObject* empty_strided_(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"size", "stride", "dtype", "device", "pin_memory", nullptr};
  PyObject *size, *stride, *dtype = Py_None, *device = Py_None;
  int pin = 0;
  if (!PyArg_ParseTupleAndKeywords(
          args, kwargs, "OO|OOp:empty_strided", const_cast<char**>(names), &size, &stride, &dtype, &device, &pin))
    return nullptr;
  Dims d, s;
  if (!dims_of(size, &d) || !dims_of(stride, &s)) return nullptr;
  return guarded([&]() -> PyObject* {
    return wrap(empty_strided(d, s, dtype == Py_None ? default_dtype() : dtype_of(dtype), resolved(device), pin));
  });
}

PyObject* broadcast_shapes_(PyObject*, PyObject* shapes) {
  Dims out, d;
  PyObject* fast = PySequence_Fast(shapes, "broadcast_shapes: expected a sequence of shapes");
  if (!fast) return nullptr;
  PyObject* r = guarded([&]() -> PyObject* {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast); ++i) {
      if (!dims_of(PySequence_Fast_GET_ITEM(fast, i), &d)) return nullptr;
      out = i ? broadcast_shapes(out, d) : d;
    }
    return size_object(out);
  });
  Py_DECREF(fast);
  return r;
}

PyObject* infer_size_(PyObject*, Args args, Py_ssize_t n) {  // (shape, numel)
  Dims d;
  int64_t numel;
  if (n != 2) return PyErr_Format(PyExc_TypeError, "infer_size: expected (shape, numel)");
  if (!dims_of(args[0], &d) || !ints(args + 1, 1, &numel)) return nullptr;
  return guarded([&]() -> PyObject* { return size_object(infer_size(d, numel)); });
}

PyObject* contiguous_strides_(PyObject*, PyObject* shape) {
  Dims d;
  if (!dims_of(shape, &d)) return nullptr;
  return size_object(contiguous_strides(d));
}

PyObject* bump_version_(PyObject*, PyObject* o) {
  if (!tensor_first(&o, 1, 1, "increment_version")) return nullptr;
  unwrap(o)->bump_version();
  Py_RETURN_NONE;
}

PyObject* set_version_(PyObject*, PyObject* const* args, Py_ssize_t n) {  // (tensor, version)
  if (!tensor_first(args, n, 2, "_unsafe_set_version_counter")) return nullptr;
  const long long v = PyLong_AsLongLong(args[1]);
  if (v == -1 && PyErr_Occurred()) return nullptr;
  if (v < 0) return PyErr_Format(PyExc_RuntimeError, "Cannot set a version_counter to a value below 0: %lld", v);
  TensorImpl* t = unwrap(args[0]);
  if (t->own_version())
    t->own_version()->store(uint32_t(v));
  else
    t->storage()->version().store(uint32_t(v));
  Py_RETURN_NONE;
}

PyObject* set_oom_type(PyObject*, PyObject* type) {
  Py_INCREF(type);
  out_of_memory_type = type;
  Py_RETURN_NONE;
}

PyObject* set_parameter_type(PyObject*, PyObject* type) {
  Py_INCREF(type);
  ParameterType = type;
  Py_RETURN_NONE;
}

#define FAST(name, f) {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)), METH_FASTCALL, nullptr}
#define VIEW(name) FAST(#name, name##_)
#define KEYED(name, f) \
  {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)), METH_VARARGS | METH_KEYWORDS, nullptr}
PyObject* dense_strides_(PyObject*, PyObject* o) {  // of an operator's result over this one tensor
  return guarded([&]() -> PyObject* {
    const TensorImpl& t = *unwrap(o);
    const Dims strides(t.strides().begin(), t.strides().end());
    return size_object(dense_strides(t.sizes(), {&strides, 1}));
  });
}

PyObject* indexed_strides_(PyObject*, Args args, Py_ssize_t n) {  // (sizes, kept strides, first, indices)
  Dims sizes, kept;
  int64_t first;
  if (n != 4 || !PyList_Check(args[3]))
    return PyErr_Format(PyExc_TypeError, "indexed_strides: expected (sizes, kept strides, first, list of indices)");
  if (!dims_of(args[0], &sizes) || !dims_of(args[1], &kept) || !ints(args + 2, 1, &first)) return nullptr;
  std::vector<Tensor> indices;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[3]); ++i) {
    if (!tensor_first(&PyList_GET_ITEM(args[3], i), 1, 1, "indexed_strides")) return nullptr;
    indices.emplace_back(unwrap(PyList_GET_ITEM(args[3], i)));
  }
  return guarded([&]() -> PyObject* { return size_object(indexed_strides(sizes, kept, first, indices)); });
}

PyObject* suggest_memory_format_(PyObject*, PyObject* o) {
  return memory_format_object(suggest_memory_format(*unwrap(o)));
}

// (a, b): each Python object gets the other's tensor.
PyObject* swap_tensors_(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || !is_tensor(args[0]) || !is_tensor(args[1]))
    return PyErr_Format(PyExc_TypeError, "_swap_tensor_impl() expects two tensors");
  auto *a = reinterpret_cast<PyTensor*>(args[0]), *b = reinterpret_cast<PyTensor*>(args[1]);
  std::swap(a->impl, b->impl);
  std::swap(a->impl->pyobj, b->impl->pyobj);
  Py_RETURN_NONE;
}

PyObject* use_count_(PyObject*, PyObject* o) { return PyLong_FromUnsignedLong(unwrap(o)->use_count()); }

PyMethodDef views_functions[] = {FAST("_swap_tensor_impl", swap_tensors_),
    {"tensor_use_count", use_count_, METH_O, nullptr}, {"dense_strides", dense_strides_, METH_O, nullptr},
    FAST("indexed_strides", indexed_strides_), {"suggest_memory_format", suggest_memory_format_, METH_O, nullptr},
    FAST("view", with_dims<view>), FAST("permute", with_dims<permute>), FAST("expand", with_dims<expand>),
    VIEW(squeeze), VIEW(as_strided), VIEW(transpose), VIEW(unsqueeze), VIEW(select), VIEW(slice), VIEW(narrow),
    VIEW(unfold), VIEW(diagonal), VIEW(view_dtype), FAST("can_view", can_view), {"alias", alias_, METH_O, nullptr},
    {"view_as_real", view_as_real_, METH_O, nullptr}, {"view_as_complex", view_as_complex_, METH_O, nullptr},
    {"conj_view", conj_view_, METH_O, nullptr}, {"neg_view", neg_view_, METH_O, nullptr},
    {"_set_conj", set_conj_, METH_VARARGS, nullptr}, {"_set_neg", set_neg_, METH_VARARGS, nullptr},
    KEYED("empty_tensor", empty_tensor), KEYED("empty_strided", empty_strided_),
    {"broadcast_shapes", broadcast_shapes_, METH_O, nullptr}, FAST("infer_size", infer_size_),
    {"contiguous_strides", contiguous_strides_, METH_O, nullptr}, {"bump_version", bump_version_, METH_O, nullptr},
    FAST("set_version", set_version_), {"_set_view_replay_enabled", set_view_replay, METH_O, nullptr},
    {"_is_view_replay_enabled", is_view_replay, METH_NOARGS, nullptr},
    {"set_out_of_memory_type", set_oom_type, METH_O, nullptr},
    {"set_parameter_type", set_parameter_type, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_views(PyObject* module) { return PyModule_AddFunctions(module, views_functions); }

}  // namespace shim
