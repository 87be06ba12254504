// The module's functions about forward mode: levels and tangents.
#include "autograd/forward_mode.h"
#include "autograd/function_node.h"
#include "python/module_function.h"

namespace shim {

namespace {

Tensor get(PyObject* t) { return is_tensor(t) && forward_level() ? tangent_of(*unwrap(t)) : Tensor(); }

int enter_level() { return enter_forward_level(), 0; }

bool pause(PyObject* on) {  // torch._C._set_fwd_grad_enabled -> whether it was on; the level stays open
  CHECK(Kind::Type, PyBool_Check(on), "enabled must be a bool (got ", Py_TYPE(on)->tp_name, ")");
  return let_tangents_count(on == Py_True);
}

const ModulePart forward_mode_functions{
    {function<&enter_level>("_enter_dual_level"), function<&leave_forward_level>("_exit_dual_level"),
        function<[](const Tensor& t, const Tensor& tangent) { set_tangent(t, tangent); }>("_set_tangent"),
        function<&get>("_get_tangent"), function<&want_own_tangents>("_want_own_tangents"),
        function<[] { return forward_level() != 0; }>("_is_dual_level_open"), function<&pause>("_pause_tangents")}};

}  // namespace

}  // namespace shim
