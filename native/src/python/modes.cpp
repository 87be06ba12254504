// Thread-local modes that change calls: autocast and the default device.
#include <map>
#include <utility>

#include "python/dispatch.h"
#include "python/linear_backward.h"
#include "python/torch_dispatch.h"

namespace shim {
namespace {

struct Autocast {
  AutocastState cpu{false, DType::bf16}, cuda{false, DType::f16};
  int nesting = 0;
  bool cache = true;
};
thread_local Autocast autocast;

struct Devices {
  std::vector<PyObject*> stack;  // `with torch.device(...)`
};
thread_local Devices devices;
PyObject* process_default = nullptr;  // torch.set_default_device

bool castable(PyObject* o, const AutocastState& s, DeviceType type) {
  if (!is_tensor(o)) return false;
  const TensorImpl* t = unwrap(o);
  return s.enabled && t->device().type == type && is_floating(t->dtype()) && t->dtype() != DType::f64 &&
         t->itemsize() > 1;
}

PyObject* cast_to(PyObject* o, DType dtype) {  // new reference
  if (unwrap(o)->dtype() == dtype) return Py_NewRef(o);
  PyObject* d = dtype_object(dtype);
  PyObject* r = PyObject_CallMethod(o, "to", "O", d);
  Py_DECREF(d);
  return r;
}

// The casts of weights to the lower dtype within the outermost region, so that layers that share a weight share its cast and
// that cast's node. Each holds its weight: an address stays that of one tensor.
struct Cast {
  Tensor of;
  PyObject* cast;
};
using Casts = std::map<std::pair<const TensorImpl*, DType>, Cast>;
thread_local Casts* casts = nullptr;  // a pointer: a thread may end without the GIL

void clear_casts() {
  Casts* old = std::exchange(casts, nullptr);
  if (!old) return;
  for (auto& [key, c] : *old) Py_DECREF(c.cast);
  delete old;
}

bool is_weight(PyObject* o) {  // a leaf in float32 that wants a gradient, and no view
  TensorImpl* t = unwrap(o);
  if (t->dtype() != DType::f32 || !t->requires_grad() || !is_plain(Tensor(t))) return false;
  const AutogradMeta* m = t->autograd();
  return m && !m->grad_fn && !m->base;
}

PyObject* cast_to_lower(PyObject* o, DType dtype) {  // new reference
  const bool kept = autocast.cache && autocast.nesting > 0 && dtype != DType::f32 && !dispatch_mode_active() &&
                    !torch_function_mode_active();
  if (!kept || !is_weight(o)) return cast_to(o, dtype);
  const std::pair<const TensorImpl*, DType> key{unwrap(o), dtype};
  if (casts)
    if (auto it = casts->find(key); it != casts->end()) return Py_NewRef(it->second.cast);
  PyObject* cast = cast_to(o, dtype);
  if (!cast || !GradMode::enabled()) return cast;  // one without history would serve later calls that want it
  if (!casts) casts = new Casts();
  casts->insert_or_assign(key, Cast{Tensor(unwrap(o)), Py_NewRef(cast)});
  return cast;
}

PyObject* cast_value(PyObject* o, DType dtype, const AutocastState& s, DeviceType type) {  // new reference
  if (castable(o, s, type)) return dtype == s.dtype ? cast_to_lower(o, dtype) : cast_to(o, dtype);
  if (!PyList_CheckExact(o)) return Py_NewRef(o);
  PyObject* list = PyList_New(PyList_GET_SIZE(o));
  for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(o); ++i) {
    PyObject* e = cast_value(PyList_GET_ITEM(o, i), dtype, s, type);
    if (!e) {
      Py_DECREF(list);
      return nullptr;
    }
    PyList_SET_ITEM(list, i, e);
  }
  return list;
}

const TensorImpl* first_tensor(PyObject** args, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (is_tensor(args[i])) return unwrap(args[i]);
    if (PyList_CheckExact(args[i]) && PyList_GET_SIZE(args[i]) && is_tensor(PyList_GET_ITEM(args[i], 0)))
      return unwrap(PyList_GET_ITEM(args[i], 0));
  }
  return nullptr;
}

// The widest of the floating dtypes among the arguments.
DType widest(PyObject** args, size_t n, const AutocastState& s, DeviceType type) {
  DType wide = s.dtype;
  auto see = [&](PyObject* o) {
    if (castable(o, s, type) && unwrap(o)->dtype() == DType::f32) wide = DType::f32;
  };
  for (size_t i = 0; i < n; ++i) {
    see(args[i]);
    if (PyList_CheckExact(args[i]))
      for (Py_ssize_t k = 0; k < PyList_GET_SIZE(args[i]); ++k) see(PyList_GET_ITEM(args[i], k));
  }
  return wide;
}

}  // namespace

AutocastState& autocast_state(DeviceType t) { return t == DeviceType::cuda ? autocast.cuda : autocast.cpu; }
bool any_autocast() { return autocast.cpu.enabled || autocast.cuda.enabled; }

bool apply_autocast(Operator& op, PyObject** args, size_t n) {
  const TensorImpl* t = first_tensor(args, n);
  if (!t || op.inplace || op.out) return true;
  const DeviceType type = t->device().type;
  if (type != DeviceType::cpu && type != DeviceType::cuda) return true;
  const AutocastState s = autocast_state(type);
  if (!s.enabled) return true;
  DType target;
  bool raises = false;  // to float32 what is in the lower precision
  switch (op.traits->autocast) {
    case CastPolicy::lower_precision: target = s.dtype; break;
    case CastPolicy::float16: target = DType::f16; break;
    case CastPolicy::promote: target = widest(args, n, s, type); break;
    default: raises = true; target = DType::f32;
  }
  if (op.traits->autocast == (type == DeviceType::cpu ? CastPolicy::float32_cuda : CastPolicy::float32_cpu))
    return true;
  AutocastState& live = autocast_state(type);
  live.enabled = false;  // the casts themselves are not autocast
  bool ok = true;
  for (size_t i = 0; ok && i < n; ++i) {
    if (raises && is_tensor(args[i]) && unwrap(args[i])->dtype() != s.dtype && unwrap(args[i])->dtype() != DType::f16 &&
        unwrap(args[i])->dtype() != DType::bf16)
      continue;
    PyObject* v = cast_value(args[i], target, s, type);
    if (v)
      Py_SETREF(args[i], v);
    else
      ok = false;
  }
  live.enabled = s.enabled;
  return ok;
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
PyObject* nest(PyObject*, PyObject*) { return PyLong_FromLong(++autocast.nesting); }
PyObject* unnest(PyObject*, PyObject*) { return PyLong_FromLong(--autocast.nesting); }
PyObject* clear_cache(PyObject*, PyObject*) {
  clear_casts();
  Py_RETURN_NONE;
}
PyObject* cache_enabled(PyObject*, PyObject*) { return PyBool_FromLong(autocast.cache); }
PyObject* set_cache_enabled(PyObject*, PyObject* o) {
  if (!PyBool_Check(o)) return PyErr_Format(PyExc_TypeError, "enabled must be a bool (got %s)", Py_TYPE(o)->tp_name);
  autocast.cache = o == Py_True;
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
