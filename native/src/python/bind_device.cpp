// torch.device: a place for tensors.
#include <string>

#include "python/foreign.h"
#include "python/builtin_types.h"
#include "python/object_methods.h"
#include "python/torch_function_state.h"

namespace shim {

namespace {

struct PyDevice {
  PyObject_HEAD Device device;
};

PyTypeObject* DeviceType_;

Device device_in(PyObject* o) { return reinterpret_cast<PyDevice*>(o)->device; }

bool names_device(PyObject* o) { return is_device(o) || PyUnicode_Check(o) || (PyLong_Check(o) && !PyBool_Check(o)); }

PyObject* no_device_given(PyObject* got) {
  const std::string type = got ? Py_TYPE(got)->tp_name : "";
  const std::string why =
      got ? "      didn't match because some of the arguments have invalid types: (!" + type + "!)\n" : "";
  return PyErr_Format(PyExc_TypeError,
      "device() received an invalid combination of arguments - got (%s), but expected one of:\n * (torch.device "
      "device)\n%s"
      " * (str type, int index = -1)\n",
      type.c_str(), why.c_str());
}

PyObject* device_new(PyTypeObject* self, PyObject* args, PyObject* kwargs) {
  static const char *names[] = {"type", "index", nullptr}, *device_names[] = {"device", nullptr};
  PyObject *type = nullptr, *index = nullptr;
  if (torch_function_mode_active() && level_outside() == 1) {  // not of our own code
    const OwnedRef keywords{kwargs ? Py_NewRef(kwargs) : PyDict_New()};
    return torch_function::dispatch(reinterpret_cast<PyObject*>(self), {}, args, keywords);
  }
  if (kwargs && PyDict_GetItemString(kwargs, "device")) {
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:device", const_cast<char**>(device_names), &type)) return nullptr;
  } else if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:device", const_cast<char**>(names), &type, &index)) {
    return nullptr;
  }
  if (!type || ((!index || index == Py_None) && !names_device(type))) return no_device_given(type);
  if (index && index != Py_None && (!PyLong_Check(index) || PyBool_Check(index)))
    return PyErr_Format(
        PyExc_TypeError, "device(): argument 'index' (position 2) must be int, not %s", Py_TYPE(index)->tp_name);
  return guarded([&]() -> PyObject* {
    if (!index || index == Py_None) return device_object(device_of(type));
    if (!PyUnicode_Check(type))
      return PyErr_Format(PyExc_TypeError, "device(): argument 'type' must be str, not %s", Py_TYPE(type)->tp_name);
    int64_t i;
    if (!unpack_int(index, &i)) return nullptr;
    Device d = parse_device(utf8(type));
    CHECK(Kind::Runtime, d.index < 0,
        "type (string) must not include an index because index was passed explicitly: ", utf8(type));
    CHECK(Kind::Runtime, i >= 0, "Device index must not be negative");
    CHECK(Kind::Runtime, i < 128, "Device index out of range: ", i);
    return device_object({d.type, int8_t(i)});
  });
}

PyObject* device_repr(PyObject* o) {
  Device d = device_in(o);
  if (d.index < 0) return PyUnicode_FromFormat("device(type='%s')", device_type_name(d.type));
  return PyUnicode_FromFormat("device(type='%s', index=%d)", device_type_name(d.type), int(d.index));
}
PyObject* device_str(PyObject* o) { return PyUnicode_FromString(to_string(device_in(o)).c_str()); }
Py_hash_t device_hash(PyObject* o) {
  return (Py_hash_t(device_in(o).type) << 16 | Py_hash_t(uint8_t(device_in(o).index))) + 0x5eed;
}

PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if (!is_device(a) || !is_device(b) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((device_in(a) == device_in(b)) == (op == Py_EQ));
}

PyObject* device_reduce(PyObject* o, PyObject*) {
  return Py_BuildValue("O(s)", rebuild_named, to_string(device_in(o)).c_str());
}

PyObject* device_index(PyObject* o) {
  const int index = device_in(o).index;
  return index < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(index);
}

PyGetSetDef device_getset[] = {
    object_attribute<[](PyObject* o) { return PyUnicode_InternFromString(device_type_name(device_in(o).type)); }>(
        "type"),
    object_attribute<&device_index>("index"), {}};
PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr}, {}};
PyType_Slot device_slots[] = {slot(Py_tp_new, device_new), slot(Py_tp_repr, device_repr), slot(Py_tp_str, device_str),
    slot(Py_tp_hash, device_hash), slot(Py_tp_richcompare, device_compare), {Py_tp_getset, device_getset},
    {Py_tp_methods, device_methods}, documentation_slot("A place for tensors: a type and, optionally, an index."), {}};
PyType_Spec device_spec = {"torch.device", sizeof(PyDevice), 0, Py_TPFLAGS_DEFAULT, device_slots};

}  // namespace

PyObject* device_object(Device d) {
  static PyObject* cache[32][10];  // index -1 .. 8 of every type
  bool cached = d.index < 9 && size_t(d.type) < 32;
  if (cached && cache[size_t(d.type)][d.index + 1]) return Py_NewRef(cache[size_t(d.type)][d.index + 1]);
  auto* o = reinterpret_cast<PyDevice*>(DeviceType_->tp_alloc(DeviceType_, 0));
  if (!o) return nullptr;
  o->device = d;
  if (cached) cache[size_t(d.type)][d.index + 1] = Py_NewRef(reinterpret_cast<PyObject*>(o));
  return reinterpret_cast<PyObject*>(o);
}

bool is_device(PyObject* o) { return Py_TYPE(o) == DeviceType_; }

Device device_of(PyObject* o) {
  if (is_device(o)) return device_in(o);
  if (PyUnicode_Check(o)) return parse_device(utf8(o));
  if (PyLong_Check(o)) {
    int64_t i = 0;
    if (!unpack_int(o, &i)) throw PythonError();
    CHECK(Kind::Runtime, i >= 0 && i < 128, "Device index must not be negative");
    return {DeviceType::cuda, int8_t(i)};
  }
  fail(Kind::Type, "expected a torch.device, str or int, not ", Py_TYPE(o)->tp_name, foreign_note(o));
}

int bind_device(PyObject* module) {
  DeviceType_ = add_type(module, device_spec, "device");
  return DeviceType_ ? 0 : -1;
}

}  // namespace shim
