// Thread-local modes that change calls: autocast and the default device.
#include "autograd/autocast.h"
#include "ops/default_device.h"
#include "python/dispatch.h"
#include "python/module_function.h"
#include "python/owned_ref.h"

namespace shim {
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
  default_device_seen = true;
  process_device = o == Py_None ? std::nullopt : std::optional(device_of(o));
}
PyObject* get_default_device() { return device_object(default_device().value_or(Device{})); }
PyObject* mode_device() { return default_device() ? get_default_device() : Py_NewRef(Py_None); }
PyObject* enter_device(PyObject* self, PyObject*) {
  default_device_seen = true;
  default_devices.push_back(device_of(self));
  return Py_NewRef(self);
}
PyObject* exit_device(PyObject*, PyObject*) {
  if (!default_devices.empty()) default_devices.pop_back();
  Py_RETURN_NONE;
}

PyMethodDef enter_def = {"__enter__", enter_device, METH_NOARGS, nullptr};
PyMethodDef exit_def = {"__exit__", exit_device, METH_VARARGS, nullptr};

int add_device_context(PyObject*) {
  PyObject* cpu = device_object(Device{});  // `with torch.device("meta"):` on core's type
  if (!cpu) return -1;
  PyTypeObject* type = Py_TYPE(cpu);
  PyDict_SetItemString(type->tp_dict, "__enter__", PyDescr_NewMethod(type, &enter_def));
  PyDict_SetItemString(type->tp_dict, "__exit__", PyDescr_NewMethod(type, &exit_def));
  PyType_Modified(type);
  Py_DECREF(cpu);
  return PyErr_Occurred() ? -1 : 0;
}

const ModulePart modes_functions{
    {function<&is_autocast_enabled>(
         "is_autocast_enabled", "Whether autocast is on for a device type (cuda if none given)."),
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
        function<&mode_device>("_default_device", "The default device set by a mode, or None.")},
    add_device_context};

}  // namespace

}  // namespace shim
