#include "python/forward_mode.h"

#include <functional>

#include "autograd/attributes.h"
#include "ops/kernels.h"
#include "ops/output.h"
#include "python/owned_ref.h"
#include "python/tensors_in.h"

namespace shim {

namespace {

PyObject* stand_in(PyObject* o, Primals& primals) {
  Tensor t(unwrap(o)), tangent = tangent_of(*t);
  if (!tangent) return Py_NewRef(o);
  PyObject* fresh = t->requires_grad() ? PyObject_CallMethod(o, "view_as", "O", o) : wrap(detach(t));
  if (!fresh) throw PythonError();
  if (!t->requires_grad()) unwrap(fresh)->ensure_autograd().requires_grad = true;
  primals.tensors.emplace_back(unwrap(fresh));
  primals.tangents.push_back(tangent);
  return fresh;
}

PyObject* replaced(PyObject* o, Primals& primals) {  // an argument, or a list of them
  if (is_tensor(o)) return stand_in(o, primals);
  if (!PyList_Check(o) && !PyTuple_Check(o)) return Py_NewRef(o);
  OwnedRef list = owned(PySequence_List(o));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.o); ++i)
    if (PyObject* item = PyList_GET_ITEM(list.o, i); is_tensor(item)) {
      PyList_SET_ITEM(list.o, i, stand_in(item, primals));
      Py_DECREF(item);
    }
  return PyList_Check(o) ? list.give() : PyList_AsTuple(list);
}

using Run = std::function<PyObject*(PyObject**, size_t)>;

// Runs an operator on stand-ins for the arguments and gives its results their tangents.
PyObject* run_with_tangents(PyObject* const* args, size_t n, const Run& run) {
  NoForwardGradients off;
  const bool history = GradMode::enabled() && any_requires_grad(args, n);
  WithGrad mode;
  Primals primals;
  std::vector<OwnedRef> held;
  std::vector<PyObject*> given;
  for (size_t i = 0; i < n; ++i) given.push_back(held.emplace_back(replaced(args[i], primals)));
  const std::vector<Edge> edges = edges_of(primals.tensors);  // before an operator writes to one
  OwnedRef result{run(given.data(), n)};
  if (!result.o) return nullptr;
  std::vector<Tensor> outputs;
  each_tensor(result.o, [&](TensorImpl& t) {
    if (can_have_grad(t) && t.requires_grad()) outputs.emplace_back(&t);
  });
  give_tangents(outputs, edges, primals, history);
  return result.give();
}

// A view's results get the same views of the tangent; false where the tangent does not lie as the tensor does.
bool view_of_tangent(const TensorImpl& self, PyObject* result, const std::function<PyObject*(PyObject*)>& view) {
  Tensor tangent = tangent_of(self);
  if (!tangent || !tangent_lies_as(self, tangent)) return false;
  OwnedRef given{wrap(tangent)};
  OwnedRef parts = owned(view(given.o));
  std::vector<Tensor> results, tangents;
  each_tensor(result, [&](TensorImpl& t) { results.emplace_back(&t); });
  each_tensor(parts.o, [&](TensorImpl& t) { tangents.emplace_back(&t); });
  if (result == parts.o) return true;
  for (size_t i = 0; i < results.size() && i < tangents.size(); ++i) set_tangent(results[i], tangents[i]);
  return true;
}

// An operator without a formula for an input has no tangent either: PyTorch's text for that.
std::string no_forward_formula(const std::string& name) {
  return "Trying to use forward AD with " + name +
         " that does not support it because it has not been implemented yet.\nPlease file an issue to PyTorch at "
         "https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml so that we can prioritize its "
         "implementation or submit a "
         "PR adding the implementation to derivatives.yaml";
}

void say_forward_mode_is_missing(const Operator& op) {
  Pending raised;
  if (!raised.text().starts_with("the derivative for '")) return;
  raised.drop();
  PyErr_SetString(PyExc_NotImplementedError, no_forward_formula(op.schema.name).c_str());
}

// A tensor whose values a Python class holds takes those of a result, without its tangent.
void take_value(const Tensor& self, const Tensor& result) {
  NoForwardGradients off;
  NoGrad no_grad;
  engine_ops().copy_(self, result);
}

}  // namespace

bool any_tangent(PyObject* const* args, size_t n) {
  return any_tensor(args, n, [](TensorImpl& t) { return bool(tangent_of(t)); });
}

void check_forward_mode(const Operator& op, PyObject* const* args, size_t n) {
  const char* name = op.traits->forward_error_name;
  CHECK(Kind::NotImplemented, !name || !any_tangent(args, n), no_forward_formula(name));
}

PyObject* call_with_tangents(Operator& op, PyObject* const* args, size_t n) {
  if (op.kind == Operator::View && n > 0 && is_tensor(args[0])) {
    NoForwardGradients off;
    std::vector<PyObject*> given(args, args + n);
    OwnedRef r{run_recorded(op, given.data(), n)};
    if (!r.o || r.o == args[0]) return r.give();
    const bool done = view_of_tangent(*unwrap(args[0]), r, [&](PyObject* tangent) {
      given[0] = tangent;
      return run_recorded(op, given.data(), n);
    });
    if (done) return r.give();
  }
  PyObject* r = guarded([&]() -> PyObject* {
    return run_with_tangents(args, n, [&](PyObject** given, size_t count) {
      return op.kind == Operator::Composite ? run_functional(op, given, count) : run_recorded(op, given, count);
    });
  });
  if (!r && PyErr_ExceptionMatches(PyExc_NotImplementedError)) say_forward_mode_is_missing(op);
  return r;
}

// The tangent of what is written is that of the functional operator. With a history it has one too, and what the backward
// saves has tangents: forward over reverse.
PyObject* run_inplace_with_tangents(Operator& op, PyObject** args, size_t n, bool history) {
  Operator& f = *op.functional;
  Tensor target(unwrap(args[0]));
  std::vector<PyObject*> given(args, args + n);
  OwnedRef scratch{nullptr};
  if (&f == &op) {  // copy_, fill_: there is no form that leaves the target alone
    scratch.o = wrap(empty_strided(target->sizes(), target->strides(), target->dtype(), target->device()));
    given[0] = scratch.o;
  }
  const bool flows = any_tangent(given.data(), n);
  OwnedRef before{nullptr};  // the tangent's history needs the values that are written over
  for (size_t i = 0; flows && history && i < n; ++i) {
    if (given[i] != args[0]) continue;
    if (!before.o) before.o = PyObject_CallMethod(args[0], "clone", nullptr);
    if (!before.o) return nullptr;
    given[i] = before.o;
  }
  OwnedRef result{nullptr};
  if (flows || !history) {
    result.o = flows ? call_with_tangents(f, given.data(), n) : run_functional(f, args, n);
    if (!result.o) return nullptr;
  }
  const Tensor tangent = flows ? tangent_of(*unwrap(result.o)) : Tensor();
  if (history) {
    NoForwardGradients off;
    OwnedRef done{run_inplace(op, args, n)};
    if (!done.o) return nullptr;
    write_tangent(target, tangent);
    const AutogradMeta* m = target->autograd();
    if (m && m->grad_fn && tangent) m->grad_fn->give_tangent(m->output_nr, tangent, forward_level());
    return Py_NewRef(args[0]);
  }
  if (!flows) {
    target->bump_version();
  } else {
    if (target->is_inference) check_inplace(target);
    const Tensor value(unwrap(result.o));
    has_data(*target) && has_data(*value) ? write_result(target, value) : take_value(target, value);
  }
  write_tangent(target, tangent);
  return Py_NewRef(args[0]);
}

}  // namespace shim
