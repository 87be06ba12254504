// Making tensors of subclasses, and what they leave to their handlers: sizes, strides, device, layout.
#include "python/wrapper.h"

#include <string_view>

#include "autograd/attributes.h"
#include "kernels/option_parameters.h"
#include "python/schema_function.h"
#include "python/torch_dispatch.h"

namespace shim {

PyTypeObject* subclass_of_tensor(PyObject* cls, Kind error) {
  CHECK(Kind::Type, PyType_Check(cls), "cls must be a type (got ", Py_TYPE(cls)->tp_name, ")");
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  CHECK(error, PyType_IsSubtype(type, TensorBaseType),
      "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your class "
      "inherits from Tensor.");
  return type;
}

namespace {

using Policy = std::optional<std::string_view>;
constexpr char kNoGradients[] = "Only Tensors of floating point and complex dtype can require gradients";

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

PyObject* asked_contiguous(PyObject* self, MemoryFormat f) {
  const OwnedRef format{f == MemoryFormat::contiguous ? nullptr : memory_format_object(f)};
  PyObject* r = answer(self, kAskStrides, "aten::is_contiguous", format);
  return r || PyErr_Occurred() ? r : PyBool_FromLong(unwrap(self)->is_contiguous(f));
}

namespace {

PyObject* make_subclass(
    PyObject* cls, TensorImpl& data, bool require_grad, Policy policy, bool device, bool layout, Ignored) {
  PyTypeObject* type = subclass_of_tensor(cls, Kind::Type);
  Tensor t = alias(data);
  t->own_version() = std::make_shared<std::atomic<uint32_t>>(0);
  t->asks_handler = asks_of(policy, device, layout);
  if (require_grad) set_requires_grad(*t, true, kNoGradients);  // not the attribute: a subclass may catch that one
  return wrap_as(t, type);
}

// A tensor of a subclass with sizes, dtype and device, but no memory: its __torch_dispatch__ knows what it holds.
PyObject* wrapper_subclass(PyObject* cls, IntArrayRef sizes, std::optional<IntArrayRef> strides,
    std::optional<int64_t> offset, std::optional<MemoryFormat> format, std::optional<DType> dtype, Ignored,
    std::optional<Device> device, Ignored, bool requires_grad, Policy policy, bool ask_device, bool ask_layout, Ignored,
    std::optional<int64_t> nbytes) {
  PyTypeObject* type = subclass_of_tensor(cls, Kind::Type);
  CHECK(Kind::Type, class_has_handler(type), type->tp_name, " must define __torch_dispatch__");
  const Tensor wrapper = without_memory(
      sizes, dtype.value_or(default_dtype()), device.value_or(Device{}), {strides, format, offset.value_or(0), nbytes});
  wrapper->asks_handler = asks_of(policy, ask_device, ask_layout);
  if (requires_grad) set_requires_grad(*wrapper, true, kNoGradients);
  return wrap_as(wrapper, type);
}

const TensorPart wrapper_methods{
    {static_schema_method<&make_subclass,
         "_make_subclass(Any cls, Tensor data, bool require_grad=False, *, str? dispatch_sizes_strides_policy=None, "
         "bool "
         "dispatch_device=False, bool dispatch_layout=False, Any? device_for_backend_keys=None)">(),
        static_schema_method<&wrapper_subclass,
            "_make_wrapper_subclass(Any cls, SymInt[] size, SymInt[]? strides=None, SymInt? storage_offset=None, "
            "MemoryFormat? "
            "memory_format=None, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool "
            "pin_memory=False, "
            "bool requires_grad=False, str? dispatch_sizes_strides_policy=None, bool dispatch_device=False, bool "
            "dispatch_layout=False, Any? _extra_dispatch_keys=None, SymInt? storage_size=None)">()}};

}  // namespace

}  // namespace shim
