// Thread-local modes that change calls: autocast and the default device.
#include "autograd/autocast.h"
#include "python/dispatch.h"
#include "python/module_function.h"
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
  return owned(list_by(size_t(PyList_GET_SIZE(o)), [&](size_t i) {
    return cast_value(PyList_GET_ITEM(o, i), to);
  })).give();
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

DeviceType device_type(PyObject* o) { return o == Py_None ? DeviceType::cuda : device_of(o).type; }

bool is_autocast_enabled(std::optional<PyObject*> device) {
  const DeviceType t = device_type(device.value_or(Py_None));
  return (t == DeviceType::cpu || t == DeviceType::cuda) && autocast_state(t).enabled;
}
// (enabled) or (device_type, enabled), told apart by their number: None is a device type, but not whether autocast is on.
PyObject* set_autocast_enabled(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 1 && n != 2) return PyErr_Format(PyExc_TypeError, "set_autocast_enabled() takes 1 or 2 arguments");
  return guarded([&]() -> PyObject* {
    AutocastState& state = autocast_state(device_type(n == 2 ? args[0] : Py_None));
    const char* name = n == 2 ? "set_autocast_enabled(): argument 'enabled' (position 2)"
                              : "set_autocast_enabled(): argument 'enabled' (position 1)";
    if (!unpack_flag(args[n - 1], name, &state.enabled)) return nullptr;
    Py_RETURN_NONE;
  });
}
DType get_autocast_dtype(PyObject* device) { return autocast_state(device_type(device)).dtype; }
void set_autocast_dtype(PyObject* device, PyObject* dtype) {
  CHECK(Kind::Type, is_dtype(dtype), "set_autocast_dtype() expects a torch.dtype");
  autocast_state(device_type(device)).dtype = dtype_of(dtype);
}
void set_cache_enabled(PyObject* o) {
  CHECK(Kind::Type, PyBool_Check(o), "enabled must be a bool (got ", Py_TYPE(o)->tp_name, ")");
  autocast_mode().cache = o == Py_True;
}

void set_default_device(PyObject* o) {
  PyObject* d = o == Py_None ? nullptr : is_device(o) ? Py_NewRef(o) : owned(device_object(device_of(o))).give();
  Py_XSETREF(process_default, d);
}
PyObject* get_default_device() {
  PyObject* d = default_device();
  return d ? Py_NewRef(d) : device_object(Device{});
}
PyObject* mode_device() {
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

PyMethodDef modes_functions[] = {function<&is_autocast_enabled>("is_autocast_enabled",
                                     "Whether autocast is on for a device type (cuda if none given)."),
    raw_function("set_autocast_enabled", &set_autocast_enabled, "Turns autocast on or off for a device type."),
    function<&get_autocast_dtype>("get_autocast_dtype", "The dtype autocast lowers to."),
    function<&set_autocast_dtype>("set_autocast_dtype", "Sets the dtype autocast lowers to."),
    function<[] { return ++autocast_mode().nesting; }>("autocast_increment_nesting"),
    function<[] { return --autocast_mode().nesting; }>("autocast_decrement_nesting"),
    function<&clear_autocast_cache>("clear_autocast_cache"),
    function<[] { return autocast_mode().cache; }>("is_autocast_cache_enabled"),
    function<&set_cache_enabled>("set_autocast_cache_enabled"),
    function<&set_default_device>("set_default_device", "Device of factories called without device=; None: cpu."),
    function<&get_default_device>("get_default_device", "The device factories use by default."),
    function<&mode_device>("_default_device", "The default device set by a mode, or None."), {}};

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
