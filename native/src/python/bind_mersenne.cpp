// _core.Mersenne(seed): MT19937 with the state that torch.Generator.get_state() tells.
#include "python/mersenne.h"

#include <new>

namespace shim {
namespace {

struct Object {
  PyObject_HEAD Mersenne source;
};

PyTypeObject* Type = nullptr;

Mersenne& in(PyObject* o) { return reinterpret_cast<Object*>(o)->source; }

bool seed_of(PyObject* o, uint64_t* seed) {
  *seed = PyLong_AsUnsignedLongLongMask(o);
  return !PyErr_Occurred();
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* given;
  uint64_t seed;
  if (!PyArg_ParseTuple(args, "O", &given) || !seed_of(given, &seed)) return nullptr;
  PyObject* o = type->tp_alloc(type, 0);
  if (o) new (&in(o)) Mersenne(seed);
  return o;
}

void drop(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* restart(PyObject* o, PyObject* given) {
  uint64_t seed;
  if (!seed_of(given, &seed)) return nullptr;
  in(o).restart(seed);
  Py_RETURN_NONE;
}

PyObject* get_state(PyObject* o, PyObject*) {
  PyObject* bytes = PyBytes_FromStringAndSize(nullptr, Mersenne::kStateBytes);
  if (bytes) in(o).save(reinterpret_cast<unsigned char*>(PyBytes_AS_STRING(bytes)));
  return bytes;
}

PyObject* set_state(PyObject* o, PyObject* bytes) {
  if (!PyBytes_Check(bytes) || PyBytes_GET_SIZE(bytes) != Py_ssize_t(Mersenne::kStateBytes))
    return PyErr_Format(PyExc_TypeError, "set_state() takes the bytes of a state");
  if (!in(o).restore(reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(bytes))))
    return PyErr_Format(PyExc_RuntimeError, "Invalid mt19937 state");
  Py_RETURN_NONE;
}

PyObject* seed(PyObject* o, void*) { return PyLong_FromUnsignedLongLong(in(o).seed()); }

PyMethodDef methods[] = {{"restart", restart, METH_O, "Begins the stream of a seed."},
    {"get_state", get_state, METH_NOARGS, "The state: 5056 bytes, laid out as PyTorch's."},
    {"set_state", set_state, METH_O, "Takes what get_state gave. RuntimeError for bytes that are no state."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef attributes[] = {{"seed", seed, nullptr, "The seed that the stream began with.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)}, {Py_tp_dealloc, reinterpret_cast<void*>(drop)},
    {Py_tp_methods, methods}, {Py_tp_getset, attributes}, {0, nullptr}};
PyType_Spec spec = {"shim_torch._impl.native._core.Mersenne", sizeof(Object), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

Mersenne* mersenne_of(PyObject* o) { return Py_TYPE(o) == Type ? &in(o) : nullptr; }

int bind_mersenne(PyObject* module) {
  Type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return Type && PyModule_AddObjectRef(module, "Mersenne", reinterpret_cast<PyObject*>(Type)) == 0 ? 0 : -1;
}

}  // namespace shim
