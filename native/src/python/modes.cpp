// Thread-local modes that change calls: autocast and the default device.
#include "autograd/autocast.h"
#include "python/dispatch.h"
#include "python/owned_ref.h"
#include "python/tensors_in.h"
#include "python/torch_dispatch.h"

namespace shim {
namespace {

struct Devices {
  std::vector<PyObject*> stack;  // `with torch.device(...)`
};
thread_local Devices devices;
PyObject* process_default = nullptr;  // torch.set_default_device

PyObject* cast_value(PyObject* o, const Autocasting& to) {  // new reference
  if (is_tensor(o)) {
    const Tensor t(unwrap(o)), made = to.cast(t);
    return made.get() == t.get() ? Py_NewRef(o) : wrap(made);
  }
  if (!PyList_CheckExact(o)) return Py_NewRef(o);
  OwnedRef list = owned(PyList_New(PyList_GET_SIZE(o)));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i) PyList_SET_ITEM(list.o, i, cast_value(PyList_GET_ITEM(o, i), to));
  return list.give();
}

const TensorImpl* first_tensor(PyObject** args, size_t n) {
  const TensorImpl* first = nullptr;
  any_tensor(args, n, [&](TensorImpl& t) { return first = &t; });
  return first;
}

}  // namespace

bool apply_autocast(Operator& op, PyObject** args, size_t n) {
  return guarded([&]() -> bool {
    const TensorImpl* first = first_tensor(args, n);
    if (!first) return true;
    Autocasting to(op, *first, !dispatch_mode_active() && !torch_function_mode_active());
    if (!to) return true;
    if (to.promotes() && any_tensor(args, n, [&](TensorImpl& t) { return t.dtype() == DType::f32 && to.castable(t); }))
      to.widen();
    for (size_t i = 0; i < n; ++i)
      if (!is_tensor(args[i]) || !to.leaves_alone(*unwrap(args[i]))) Py_SETREF(args[i], cast_value(args[i], to));
    return true;
  });
}

PyObject* default_device() {
  if (!devices.stack.empty()) return devices.stack.back();
  return process_default;
}

namespace {

bool device_type(PyObject* o, DeviceType* t) {
  return guarded([&]() -> bool {
    if (o == nullptr || o == Py_None)
      *t = DeviceType::cuda;
    else
      *t = device_of(o).type;
    return true;
  });
}

PyObject* is_autocast_enabled(PyObject*, PyObject* args) {
  PyObject* o = nullptr;
  DeviceType t;
  if (!PyArg_ParseTuple(args, "|O", &o) || !device_type(o, &t)) return nullptr;
  return PyBool_FromLong((t == DeviceType::cpu || t == DeviceType::cuda) && autocast_state(t).enabled);
}
PyObject* set_autocast_enabled(PyObject*, PyObject* args) {  // (enabled) or (device_type, enabled)
  PyObject *a, *b = nullptr;
  DeviceType t;
  if (!PyArg_ParseTuple(args, "O|O", &a, &b) || !device_type(b ? a : nullptr, &t)) return nullptr;
  bool value;
  const char* argument = b ? "set_autocast_enabled(): argument 'enabled' (position 2)"
                           : "set_autocast_enabled(): argument 'enabled' (position 1)";
  if (!unpack_flag(b ? b : a, argument, &value)) return nullptr;
  autocast_state(t).enabled = value;
  Py_RETURN_NONE;
}
PyObject* get_autocast_dtype(PyObject*, PyObject* args) {
  PyObject* o;
  DeviceType t;
  if (!PyArg_ParseTuple(args, "O", &o) || !device_type(o, &t)) return nullptr;
  return dtype_object(autocast_state(t).dtype);
}
PyObject* set_autocast_dtype(PyObject*, PyObject* args) {
  PyObject *o, *dtype;
  DeviceType t;
  if (!PyArg_ParseTuple(args, "OO", &o, &dtype) || !device_type(o, &t)) return nullptr;
  if (!is_dtype(dtype)) {
    PyErr_SetString(PyExc_TypeError, "set_autocast_dtype() expects a torch.dtype");
    return nullptr;
  }
  autocast_state(t).dtype = dtype_of(dtype);
  Py_RETURN_NONE;
}
PyObject* nest(PyObject*, PyObject*) { return PyLong_FromLong(++autocast_mode().nesting); }
PyObject* unnest(PyObject*, PyObject*) { return PyLong_FromLong(--autocast_mode().nesting); }
PyObject* clear_cache(PyObject*, PyObject*) {
  clear_autocast_cache();
  Py_RETURN_NONE;
}
PyObject* cache_enabled(PyObject*, PyObject*) { return PyBool_FromLong(autocast_mode().cache); }
PyObject* set_cache_enabled(PyObject*, PyObject* o) {
  if (!PyBool_Check(o)) return PyErr_Format(PyExc_TypeError, "enabled must be a bool (got %s)", Py_TYPE(o)->tp_name);
  autocast_mode().cache = o == Py_True;
  Py_RETURN_NONE;
}

PyObject* as_device(PyObject* o) {
  return guarded([&]() -> PyObject* { return is_device(o) ? Py_NewRef(o) : device_object(device_of(o)); });
}
PyObject* set_default_device(PyObject*, PyObject* o) {
  PyObject* d = o == Py_None ? nullptr : as_device(o);
  if (!d && o != Py_None) return nullptr;
  Py_XSETREF(process_default, d);
  Py_RETURN_NONE;
}
PyObject* get_default_device(PyObject*, PyObject*) {
  PyObject* d = default_device();
  return d ? Py_NewRef(d) : device_object(Device{});
}
PyObject* mode_device(PyObject*, PyObject*) {
  PyObject* d = default_device();
  return Py_NewRef(d ? d : Py_None);
}
PyObject* enter_device(PyObject* self, PyObject*) {
  devices.stack.push_back(Py_NewRef(self));
  return Py_NewRef(self);
}
PyObject* exit_device(PyObject*, PyObject*) {
  if (!devices.stack.empty()) {
    Py_DECREF(devices.stack.back());
    devices.stack.pop_back();
  }
  Py_RETURN_NONE;
}

PyMethodDef modes_functions[] = {{"is_autocast_enabled", is_autocast_enabled, METH_VARARGS,
                                     "Whether autocast is on for a device type (cuda if none given)."},
    {"set_autocast_enabled", set_autocast_enabled, METH_VARARGS, "Turns autocast on or off for a device type."},
    {"get_autocast_dtype", get_autocast_dtype, METH_VARARGS, "The dtype autocast lowers to."},
    {"set_autocast_dtype", set_autocast_dtype, METH_VARARGS, "Sets the dtype autocast lowers to."},
    {"autocast_increment_nesting", nest, METH_NOARGS, nullptr},
    {"autocast_decrement_nesting", unnest, METH_NOARGS, nullptr},
    {"clear_autocast_cache", clear_cache, METH_NOARGS, nullptr},
    {"is_autocast_cache_enabled", cache_enabled, METH_NOARGS, nullptr},
    {"set_autocast_cache_enabled", set_cache_enabled, METH_O, nullptr},
    {"set_default_device", set_default_device, METH_O, "Device of factories called without device=; None: cpu."},
    {"get_default_device", get_default_device, METH_NOARGS, "The device factories use by default."},
    {"_default_device", mode_device, METH_NOARGS, "The default device set by a mode, or None."},
    {nullptr, nullptr, 0, nullptr}};

PyMethodDef enter_def = {"__enter__", enter_device, METH_NOARGS, nullptr};
PyMethodDef exit_def = {"__exit__", exit_device, METH_VARARGS, nullptr};

}  // namespace

int bind_modes(PyObject* module) {
  if (PyModule_AddFunctions(module, modes_functions) < 0) return -1;
  PyObject* cpu = device_object(Device{});  // `with torch.device("meta"):` on core's type
  if (!cpu) return -1;
  PyTypeObject* type = Py_TYPE(cpu);
  PyDict_SetItemString(type->tp_dict, "__enter__", PyDescr_NewMethod(type, &enter_def));
  PyDict_SetItemString(type->tp_dict, "__exit__", PyDescr_NewMethod(type, &exit_def));
  PyType_Modified(type);
  Py_DECREF(cpu);
  return PyErr_Occurred() ? -1 : 0;
}

}  // namespace shim
