// What the autograd engine does where __torch_dispatch__ looks on: its own operators are calls that handlers see.
#include "autograd/autograd.h"
#include "dispatch/call.h"
#include "python/owned_ref.h"
#include "autograd/formula_plan.h"
#include "python/torch_dispatch_state.h"

namespace shim {

using namespace torch_dispatch;

namespace {

Tensor detached(const Tensor& t) {  // as the class says
  static Operator* op = find_operator("aten::detach", "");
  OwnedRef o{wrap(t)};
  PyObject* args[1] = {o.o};
  OwnedRef r{op ? call_torch_dispatch(*op, args, 1) : nullptr};
  if (!r.o) throw PythonError();
  CHECK(Kind::Type, is_tensor(r.o), "detach: __torch_dispatch__ of ", Py_TYPE(o.o)->tp_name, " returned no tensor");
  count_together(*t, *unwrap(r.o));
  return Tensor(unwrap(r.o));
}

bool special(const TensorImpl& t) {
  return classes_seen && !handlers_disabled && t.pyobj && has_handler(Py_TYPE(static_cast<PyObject*>(t.pyobj)));
}

bool in_sight(const Tensor& t) { return dispatch_mode_active() || special(*t); }

}  // namespace

// From the first mode or class on, the engine's own operators are calls that handlers see.
void torch_dispatch::prepare_engine() {
  static bool done = false;
  if (done) return;
  done = true;
  SubclassOps::special = special;
  SubclassOps::detach = detached;
  SubclassOps::watched = in_sight;
  OwnedRef mark{helper("prepare")};
  OwnedRef r{mark.o ? PyObject_CallNoArgs(mark.o) : nullptr};
  if (!r.o) PyErr_WriteUnraisable(Py_None);
}

}  // namespace shim
