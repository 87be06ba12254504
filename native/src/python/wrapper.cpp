// Making tensors of subclasses, and what they leave to their handlers: sizes, strides, device, layout.
#include "python/wrapper.h"

#include <string_view>

#include "python/owned_ref.h"
#include "python/tensor_type.h"
#include "python/torch_dispatch.h"

namespace shim {
namespace {

// What a wrapper leaves to its handler, by PyTorch's arguments; false with an error.
bool asks_of(PyObject* policy, int device, int layout, uint8_t* asks) {
  *asks = uint8_t((device ? kAskDevice : 0) | (layout ? kAskLayout : 0));
  if (policy == Py_None) return true;
  const char* name = PyUnicode_Check(policy) ? PyUnicode_AsUTF8(policy) : nullptr;
  const std::string_view given = name ? name : "";
  if (given == "sizes")
    *asks |= kAskSizes | kAskStrides;
  else if (given == "strides")
    *asks |= kAskStrides;
  else
    return PyErr_Format(PyExc_ValueError, "Unknown sizes_strides_policy: %S; expected 'strides' or 'sizes'", policy),
           false;
  return true;
}

// The handler's answer; null without an error where it has none (None, or the handlers are off).
PyObject* answer(PyObject* self, uint8_t what, const char* name, PyObject* argument = nullptr) {
  return unwrap(self)->asks_handler & what ? ask_handler(self, name, argument) : nullptr;
}

}  // namespace

PyObject* asked_object(PyObject* self, uint8_t what, const char* name, PyObject* own) {
  OwnedRef kept{own};
  PyObject* r = kept.o ? answer(self, what, name) : nullptr;
  return r || PyErr_Occurred() ? r : Py_NewRef(own);
}

PyObject* asked_integer(PyObject* self, uint8_t what, const char* name, int64_t own) {
  return asked_object(self, what, name, PyLong_FromLongLong(own));
}

PyObject* asked_dim(PyObject* self) {
  if (!(unwrap(self)->asks_handler & kAskSizes) || !has_dispatch_handler(self))
    return PyLong_FromLongLong(unwrap(self)->dim());
  PyObject* r = ask_handler(self, "aten::dim", nullptr);
  if (PyErr_Occurred() || (r && PyLong_Check(r))) return r;
  PyErr_Format(PyExc_RuntimeError, "dim returned invalid type %s, expected int", r ? Py_TYPE(r)->tp_name : "NoneType");
  Py_XDECREF(r);
  return nullptr;
}

PyObject* asked_device(PyObject* self) {
  return asked_object(self, kAskDevice, "prim::device", device_object(unwrap(self)->device()));
}

bool asked_dims(PyObject* self, uint8_t what, const char* name, Dims* own) {
  OwnedRef r{answer(self, what, name)};
  return r.o ? dims_of(r.o, own) : !PyErr_Occurred();
}

PyObject* asked_size(PyObject* self) {
  Dims sizes(unwrap(self)->sizes().begin(), unwrap(self)->sizes().end());
  return asked_dims(self, kAskSizes, "aten::sym_size", &sizes) ? size_object(sizes) : nullptr;
}

PyObject* asked_contiguous(PyObject* self, PyObject* format) {
  MemoryFormat f = MemoryFormat::contiguous;
  if (format && !memory_format_of(format, &f))
    return PyErr_Format(PyExc_TypeError,
        "is_contiguous(): argument 'memory_format' must be torch.memory_format, not %s", Py_TYPE(format)->tp_name);
  PyObject* r = answer(self, kAskStrides, "aten::is_contiguous", f == MemoryFormat::contiguous ? nullptr : format);
  if (r || PyErr_Occurred()) return r;
  return guarded([&] { return PyBool_FromLong(unwrap(self)->is_contiguous(f)); });
}

PyObject* make_subclass(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"cls", "data", "require_grad", "dispatch_sizes_strides_policy", "dispatch_device",
      "dispatch_layout", "device_for_backend_keys", nullptr};
  PyObject *cls, *data, *policy = Py_None, *keys = Py_None;
  int require_grad = 0, dispatch_device = 0, dispatch_layout = 0;
  uint8_t asks = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|p$OppO:_make_subclass", const_cast<char**>(names), &cls, &data,
          &require_grad, &policy, &dispatch_device, &dispatch_layout, &keys) ||
      !asks_of(policy, dispatch_device, dispatch_layout, &asks))
    return nullptr;
  if (!PyType_Check(cls) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), TensorBaseType))
    return PyErr_Format(PyExc_TypeError,
        PyType_Check(cls) ? "Creating a Tensor subclass from a class that does not inherit from Tensor is not "
                            "possible. Make sure your class inherits from Tensor."
                          : "cls must be a type (got %s)",
        Py_TYPE(cls)->tp_name);
  if (!is_tensor(data))
    return PyErr_Format(
        PyExc_TypeError, "_make_subclass(): argument 'data' must be Tensor, not %s", Py_TYPE(data)->tp_name);
  PyObject* made = guarded([&]() -> PyObject* {
    CHECK(Kind::Runtime, !require_grad || is_floating(unwrap(data)->dtype()) || is_complex(unwrap(data)->dtype()),
        "Only Tensors of floating point and complex dtype can require gradients");
    Tensor t = alias(*unwrap(data));
    t->own_version() = std::make_shared<std::atomic<uint32_t>>(0);
    t->asks_handler = asks;
    return wrap_as(t, reinterpret_cast<PyTypeObject*>(cls));
  });
  if (made && require_grad && !make_require_grad(made))
    Py_CLEAR(made);  // not the attribute: a subclass may catch that one
  return made;
}

// A tensor of a subclass with sizes, dtype and device, but no memory: its __torch_dispatch__ knows what it holds.
PyObject* wrapper_subclass(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"cls", "size", "strides", "storage_offset", "memory_format", "dtype", "layout",
      "device", "pin_memory", "requires_grad", "dispatch_sizes_strides_policy", "dispatch_device", "dispatch_layout",
      "_extra_dispatch_keys", "storage_size", nullptr};
  PyObject *cls, *size, *strides = Py_None, *offset = Py_None, *format = Py_None, *dtype = Py_None, *layout = Py_None,
                        *device = Py_None, *policy = Py_None, *keys = Py_None, *storage = Py_None;
  int pin = 0, requires_grad = 0, dispatch_device = 0, dispatch_layout = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OOOOOOppOppOO:_make_wrapper_subclass", const_cast<char**>(names),
          &cls, &size, &strides, &offset, &format, &dtype, &layout, &device, &pin, &requires_grad, &policy,
          &dispatch_device, &dispatch_layout, &keys, &storage))
    return nullptr;
  if (!PyType_Check(cls) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), TensorBaseType))
    return PyErr_Format(
        PyExc_TypeError, "cls must be a type that inherits from Tensor (got %s)", Py_TYPE(cls)->tp_name);
  if (!class_has_handler(reinterpret_cast<PyTypeObject*>(cls)))
    return PyErr_Format(
        PyExc_TypeError, "%s must define __torch_dispatch__", reinterpret_cast<PyTypeObject*>(cls)->tp_name);
  Dims sizes, steps;
  uint8_t asks = 0;
  if (!asks_of(policy, dispatch_device, dispatch_layout, &asks)) return nullptr;
  if (!dims_of(size, &sizes) || (strides != Py_None && !dims_of(strides, &steps))) return nullptr;
  const int64_t start = offset == Py_None ? 0 : PyLong_AsLongLong(offset),
                given_bytes = storage == Py_None ? -1 : PyLong_AsLongLong(storage);
  if (PyErr_Occurred()) return nullptr;
  PyObject* made = guarded([&]() -> PyObject* {
    DType t = dtype == Py_None ? default_dtype() : dtype_of(dtype);
    Device on = device == Py_None ? Device{} : device_of(device);
    MemoryFormat wanted = MemoryFormat::contiguous;
    if (format != Py_None) memory_format_of(format, &wanted);
    if (strides == Py_None)
      steps = wanted == MemoryFormat::channels_last ? channels_last_strides(sizes) : contiguous_strides(sizes);
    CHECK(Kind::Runtime, sizes.size() == steps.size(), "mismatch in length of strides and shape");
    size_t bytes =
        given_bytes >= 0 ? size_t(given_bytes) : storage_bytes(sizes, steps, itemsize(t)) + size_t(start) * itemsize(t);
    Ref<Storage> none(new Storage(nullptr, bytes, on, nullptr, nullptr));
    none->set_resizable(false);
    Tensor wrapper(new TensorImpl(none, t, sizes, steps, start));
    wrapper->asks_handler = asks;
    return wrap_as(wrapper, reinterpret_cast<PyTypeObject*>(cls));
  });
  if (made && requires_grad && !make_require_grad(made))
    Py_CLEAR(made);  // not the attribute: a subclass may catch that one
  return made;
}

}  // namespace shim
