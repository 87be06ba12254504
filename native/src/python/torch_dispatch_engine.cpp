// What the autograd engine does where __torch_dispatch__ looks on: its own operators are calls that handlers see.
#include "autograd/autograd.h"
#include "core/sparse.h"
#include "python/owned_ref.h"
#include "autograd/formula_plan.h"
#include "python/torch_dispatch_state.h"

namespace shim {

extern Tensor (*zeros_as)(const Tensor& like, IntArrayRef sizes, IntArrayRef strides);  // autograd/inplace.cpp

using namespace torch_dispatch;

void count_together(TensorImpl& base, TensorImpl& view) {  // whatever was done to it within the handler
  if (base.own_version())
    view.own_version() = base.own_version();
  else if (view.storage() == base.storage())
    view.own_version().reset();
}

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
  return classes_seen && !disabled && t.pyobj && has_handler(Py_TYPE(static_cast<PyObject*>(t.pyobj)));
}

bool in_sight(const Tensor& t) { return dispatch_mode_active() || special(*t); }
bool by_method(const Tensor& t) { return in_sight(t) || is_sparse(*t); }  // not by the engine's own functions

template <class... A> Tensor method(const Tensor& self, const char* name, A... args) {  // args: new references
  OwnedRef n{PyUnicode_InternFromString(name)};
  PyObject* objects[] = {wrap(self), args...};
  OwnedRef r{PyObject_VectorcallMethod(n.o, objects, sizeof...(A) + 1, nullptr)};
  for (PyObject* o : objects) Py_XDECREF(o);
  if (!r.o) throw PythonError();
  return is_tensor(r.o) ? Tensor(unwrap(r.o)) : Tensor();
}

EngineOps plain;  // what the engine uses where nobody looks

Tensor zeros_as_its_class(const Tensor& like, IntArrayRef sizes, IntArrayRef strides) {
  const Tensor made = method(like, "new_empty_strided", size_object(sizes), size_object(strides));
  return method(made, "zero_");
}

}  // namespace

// From the first mode or class on, the engine's own operators are calls that handlers see.
void torch_dispatch::prepare_engine() {
  static bool done = false;
  if (done) return;
  done = true;
  plain = engine_ops();
  EngineOps& e = engine_ops();
  e.add = [](const Tensor& a, const Tensor& b) {
    return by_method(a) || by_method(b) ? method(a, "add", wrap(b)) : plain.add(a, b);
  };
  e.add_ = [](const Tensor& a, const Tensor& b) {
    by_method(a) || by_method(b) ? void(method(a, "add_", wrap(b))) : plain.add_(a, b);
  };
  e.sum_to = [](const Tensor& a, IntArrayRef s) {
    return by_method(a) ? method(a, "sum_to_size", size_object(s)) : plain.sum_to(a, s);
  };
  e.cast = [](const Tensor& a, DType t) { return by_method(a) ? method(a, "to", dtype_object(t)) : plain.cast(a, t); };
  e.clone = [](const Tensor& a) { return by_method(a) ? method(a, "clone") : plain.clone(a); };
  e.copy_ = [](const Tensor& a, const Tensor& b) {
    by_method(a) || by_method(b) ? void(method(a, "copy_", wrap(b))) : plain.copy_(a, b);
  };
  SubclassOps::special = special;
  zeros_as = zeros_as_its_class;
  SubclassOps::detach = detached;
  SubclassOps::watched = in_sight;
  OwnedRef mark{helper("prepare")};
  OwnedRef r{mark.o ? PyObject_CallNoArgs(mark.o) : nullptr};
  if (!r.o) PyErr_WriteUnraisable(Py_None);
}

}  // namespace shim
