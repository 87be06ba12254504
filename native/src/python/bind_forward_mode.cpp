// The module's functions about forward mode: levels and tangents.
#include <atomic>

#include "autograd/forward_mode.h"
#include "python/function.h"
#include "python/module_function.h"

namespace shim {

namespace {

std::atomic<uint64_t> next_level{1};
thread_local bool allowed = true;  // torch._C._set_fwd_grad_enabled

int enter_level() {
  CHECK(Kind::Runtime, !forward_level(), "Nested forward mode AD is not supported at the moment");
  forward_gradients() = allowed;
  forward_level() = next_level++;
  return 0;
}

void leave_level() {
  CHECK(Kind::Runtime, forward_level(), "Trying to exit a forward AD level but none is open");
  forward_gradients() = 0;
  forward_level() = 0;
}

Tensor get(PyObject* t) { return is_tensor(t) && forward_level() ? tangent_of(*unwrap(t)) : Tensor(); }

PyObject* pause(PyObject*, PyObject* on) {  // -> whether it was on; the level stays open
  const bool was = allowed;
  if (!PyBool_Check(on)) return PyErr_Format(PyExc_TypeError, "enabled must be a bool (got %s)", Py_TYPE(on)->tp_name);
  allowed = on == Py_True;
  if (forward_level()) forward_gradients() = allowed;
  return PyBool_FromLong(was);
}

const ModulePart forward_mode_functions{{function<&enter_level>("_enter_dual_level"),
    function<&leave_level>("_exit_dual_level"),
    function<[](const Tensor& t, const Tensor& tangent) { set_tangent(t, tangent); }>("_set_tangent"),
    function<&get>("_get_tangent"), function<&want_own_tangents>("_want_own_tangents"),
    function<[] { return forward_level() != 0; }>("_is_dual_level_open"), {"_pause_tangents", pause, METH_O, nullptr}}};

}  // namespace

}  // namespace shim
