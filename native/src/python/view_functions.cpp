// _view_func of the tensor type: a view's steps taken from another base.
#include <utility>

#include "autograd/attributes.h"
#include "autograd/nodes.h"
#include "python/object.h"
#include "python/view_functions.h"

namespace shim {
namespace {

thread_local bool replaying = false;

PyObject* replay(PyObject* self, PyObject* args, PyObject* kwargs, const char* name, bool checked) {
  static const char* names[] = {"new_base", "symint_visitor_fn", "tensor_visitor_fn", nullptr};
  PyObject *base = nullptr, *ints = Py_None, *tensors = Py_None;
  const std::string format = std::string("|OOO:") + name;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, format.c_str(), const_cast<char**>(names), &base, &ints, &tensors))
    return nullptr;
  if (!base) return PyErr_Format(PyExc_TypeError, "%s() missing 1 required positional arguments: \"new_base\"", name);
  if (!is_tensor(base))
    return PyErr_Format(
        PyExc_TypeError, "%s(): argument 'new_base' (position 1) must be Tensor, not %s", name, Py_TYPE(base)->tp_name);
  return guarded([&]() -> PyObject* { return wrap(replay_view(Tensor(unwrap(self)), Tensor(unwrap(base)), checked)); });
}

}  // namespace

PyObject* view_func(PyObject* self, PyObject* args, PyObject* kwargs) {
  return replay(self, args, kwargs, "_view_func", true);
}
PyObject* view_func_unsafe(PyObject* self, PyObject* args, PyObject* kwargs) {
  return replay(self, args, kwargs, "_view_func_unsafe", false);
}

bool set_view_replay(PyObject* on) {
  bool given;
  if (!unpack_flag(on, "set_view_replay_enabled(): argument 'enabled' (position 1)", &given)) throw PythonError();
  return std::exchange(replaying, given);
}
bool is_view_replay() { return replaying; }
PyObject* rev_view_func_unsafe(PyObject* self, PyObject* view) {
  if (!is_tensor(view))
    return PyErr_Format(PyExc_TypeError,
        "_rev_view_func_unsafe(): argument 'new_view' (position 1) must be Tensor, not %s", Py_TYPE(view)->tp_name);
  return guarded([&] { return wrap(reversed_view(*unwrap(self), Tensor(unwrap(view)), replaying)); });
}

}  // namespace shim
