// _core.Mersenne(seed): MT19937 with the state that torch.Generator.get_state() tells.
#include "python/mersenne.h"

#include <new>

#include "python/object_methods.h"

namespace shim {
namespace module_call {

template <> struct Argument<Mersenne&> {  // only of methods: the type is known
  bool take(PyObject* o, const char**) { return (numbers_ = mersenne_of(o)) != nullptr; }
  Mersenne& value() const { return *numbers_; }

 private:
  Mersenne* numbers_ = nullptr;
};

}  // namespace module_call

namespace {

struct Object {
  PyObject_HEAD Mersenne source;
};

PyTypeObject* Type = nullptr;

Mersenne& in(PyObject* o) { return reinterpret_cast<Object*>(o)->source; }

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  if (PyTuple_GET_SIZE(args) != 1) return PyErr_Format(PyExc_TypeError, "Mersenne() takes a seed");
  const uint64_t seed = PyLong_AsUnsignedLongLongMask(PyTuple_GET_ITEM(args, 0));
  PyObject* o = PyErr_Occurred() ? nullptr : type->tp_alloc(type, 0);
  if (o) new (&in(o)) Mersenne(seed);
  return o;
}

Bytes get_state(Mersenne& numbers) {
  std::string state(Mersenne::kStateBytes, 0);
  numbers.save(reinterpret_cast<unsigned char*>(state.data()));
  return {std::move(state)};
}

void set_state(Mersenne& numbers, std::span<const char> state) {
  CHECK(Kind::Type, state.size() == Mersenne::kStateBytes, "set_state() takes the bytes of a state");
  CHECK(Kind::Runtime, numbers.restore(reinterpret_cast<const unsigned char*>(state.data())), "Invalid mt19937 state");
}

PyMethodDef methods[] = {
    object_method<[](Mersenne& m, uint64_t seed) { m.restart(seed); }>("restart", "Begins the stream of a seed."),
    object_method<&get_state>("get_state", "The state: 5056 bytes, laid out as PyTorch's."),
    object_method<&set_state>("set_state", "Takes what get_state gave. RuntimeError for bytes that are no state."), {}};
PyGetSetDef attributes[] = {object_attribute<[](Mersenne& m) { return PyLong_FromUnsignedLongLong(m.seed()); }>(
                                "seed", "The seed that the stream began with."),
    {}};
PyType_Slot slots[] = {
    slot(Py_tp_new, make), slot(Py_tp_dealloc, free_object), {Py_tp_methods, methods}, {Py_tp_getset, attributes}, {}};
PyType_Spec spec = {"shim_torch._impl.native._core.Mersenne", sizeof(Object), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

Mersenne* mersenne_of(PyObject* o) { return Py_TYPE(o) == Type ? &in(o) : nullptr; }

int bind_mersenne(PyObject* module) { return (Type = add_type(module, spec, "Mersenne")) ? 0 : -1; }

}  // namespace shim
