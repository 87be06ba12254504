// The views of core/views.cpp, and empty tensors, as functions of shim_torch._impl.native._core. They record no history.
#include "autograd/attributes.h"
#include "core/math_bits.h"
#include "cpu/indexing.h"
#include "python/module_parameters.h"
#include "python/view_functions.h"

namespace shim {
namespace {

using Base = const TensorImpl&;
using Sizes = const Dims&;

PyObject* squeeze_(PyObject*, PyObject* const* args, Py_ssize_t n) {  // (tensor) or (tensor, dims)
  return n > 1 ? module_call::module_function<[](Base t, Sizes dims) { return squeeze(t, dims); }>(nullptr, args, n)
               : module_call::module_function<[](Base t) { return squeeze(t); }>(nullptr, args, n);
}

Tensor as_strided_(Base t, Sizes sizes, Sizes strides, std::optional<int64_t> offset) {
  return as_strided(t, sizes, strides, offset ? *offset : t.storage_offset());
}

bool can_view(Base t, Sizes shape) {  // whether view() would work
  Dims out;
  const Dims sizes = infer_size(shape, t.numel());
  return t.is_contiguous() || try_view_strides(t.sizes(), t.strides(), sizes, out);
}

Dims dense_strides_(Base t) {  // of an operator's result over this one tensor
  const Dims strides(t.strides().begin(), t.strides().end());
  return dense_strides(t.sizes(), {&strides, 1});
}

Dims indexed_strides_(Sizes sizes, Sizes kept, int64_t first, TensorList indices) {
  return indexed_strides(sizes, kept, first, {indices.begin(), indices.end()});
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

// (a, b): each Python object gets the other's tensor.
PyObject* swap_tensors_(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 2 || !is_tensor(args[0]) || !is_tensor(args[1]))
    return PyErr_Format(PyExc_TypeError, "_swap_tensor_impl() expects two tensors");
  auto *a = reinterpret_cast<PyTensor*>(args[0]), *b = reinterpret_cast<PyTensor*>(args[1]);
  std::swap(a->impl, b->impl);
  std::swap(a->impl->pyobj, b->impl->pyobj);
  Py_RETURN_NONE;
}

#define FAST(name, f) {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)), METH_FASTCALL, nullptr}
#define KEYED(name, f) \
  {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)), METH_VARARGS | METH_KEYWORDS, nullptr}

PyMethodDef views_functions[] = {FAST("_swap_tensor_impl", swap_tensors_), FAST("squeeze", squeeze_),
    function<[](Base t) { return int64_t(t.use_count()); }>("tensor_use_count"),
    function<&dense_strides_>("dense_strides"), function<&indexed_strides_>("indexed_strides"),
    function<[](Base t) { return suggest_memory_format(t); }>("suggest_memory_format"),
    function<[](Base t, Sizes s) { return view(t, s); }>("view"),
    function<[](Base t, Sizes s) { return permute(t, s); }>("permute"),
    function<[](Base t, Sizes s) { return expand(t, s); }>("expand"), function<&as_strided_>("as_strided"),
    function<[](Base t, int64_t a, int64_t b) { return transpose(t, a, b); }>("transpose"),
    function<[](Base t, int64_t d) { return unsqueeze(t, d); }>("unsqueeze"),
    function<[](Base t, int64_t d, int64_t i) { return select(t, d, i); }>("select"),
    function<[](Base t, int64_t d, int64_t from, int64_t to, int64_t by) { return slice(t, d, from, to, by); }>(
        "slice"),
    function<[](Base t, int64_t d, int64_t from, int64_t n) { return narrow(t, d, from, n); }>("narrow"),
    function<[](Base t, int64_t d, int64_t n, int64_t by) { return unfold(t, d, n, by); }>("unfold"),
    function<[](Base t, int64_t n, int64_t a, int64_t b) { return diagonal(t, n, a, b); }>("diagonal"),
    function<[](Base t, PyObject* dtype) { return view_dtype(t, dtype_of(dtype)); }>("view_dtype"),
    function<&can_view>("can_view"), function<[](Base t) { return alias(t); }>("alias"),
    function<[](Base t) { return view_as_real(t); }>("view_as_real"),
    function<[](Base t) { return view_as_complex(t); }>("view_as_complex"),
    function<[](Base t) { return conj_view(t); }>("conj_view"),
    function<[](Base t) { return neg_view(t); }>("neg_view"),
    function<[](TensorImpl& t, bool on) { set_conj(t, on); }>("_set_conj"),
    function<[](TensorImpl& t, bool on) { set_neg(t, on); }>("_set_neg"), KEYED("empty_tensor", empty_tensor),
    KEYED("empty_strided", empty_strided_), {"broadcast_shapes", broadcast_shapes_, METH_O, nullptr},
    function<[](Sizes shape, int64_t numel) { return infer_size(shape, numel); }>("infer_size"),
    function<[](Sizes shape) { return contiguous_strides(shape); }>("contiguous_strides"),
    function<[](TensorImpl& t) { t.bump_version(); }>("bump_version"), function<&set_version>("set_version"),
    {"_set_view_replay_enabled", set_view_replay, METH_O, nullptr},
    {"_is_view_replay_enabled", is_view_replay, METH_NOARGS, nullptr},
    function<[](PyObject* type) { out_of_memory_type = Py_NewRef(type); }>("set_out_of_memory_type"),
    function<[](PyObject* type) { ParameterType = Py_NewRef(type); }>("set_parameter_type"),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_views(PyObject* module) { return PyModule_AddFunctions(module, views_functions); }

}  // namespace shim
