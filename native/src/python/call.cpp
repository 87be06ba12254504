// The call of an operator once its arguments are bound.

#include "autograd/autograd.h"
#include "core/lazy_clone.h"
#include "python/batching.h"
#include "python/dispatch.h"
#include "python/overlap.h"
#include "python/forward_mode.h"
#include "python/owned_ref.h"
#include "python/library_table.h"
#include "python/math_bits.h"
#include "python/sparse_dispatch.h"
#include "python/torch_dispatch.h"

namespace shim {
namespace {

PyObject* vectorcall(PyObject* f, PyObject** args, size_t n) { return PyObject_Vectorcall(f, args, n, nullptr); }

// The call that made a view of a wrapper, for another base.
class CallReplay final : public ViewReplay {
 public:
  CallReplay(Operator& op, PyObject* const* args, size_t n) : op_(op) {
    for (size_t i = 0; i < n; ++i) args_.emplace_back(i ? Py_NewRef(args[i]) : nullptr);
  }
  ~CallReplay() override {
    if (!python_lives()) return;
    GilAcquire gil;
    for (PyObject* a : args_) Py_XDECREF(a);
  }
  void traverse(Visitor& v) const override {
    for (PyObject* a : args_) v.python(a);
  }
  Tensor apply(const Tensor& base) override {
    OwnedRef self{wrap(base)};
    std::vector<PyObject*> given(args_);
    given[0] = self.o;
    OwnedRef r{nullptr};
    if (GradMode::enabled()) {
      r.o = run_recorded(op_, given.data(), given.size());
    } else {
      r.o = run_functional(op_, given.data(), given.size());
    }
    if (!r.o) throw PythonError();
    CHECK(Kind::Runtime, is_tensor(r.o), op_.schema.qualified(), ": __torch_dispatch__ of a view returned no tensor");
    return Tensor(unwrap(r.o));
  }

 private:
  Operator& op_;
  std::vector<PyObject*> args_;
};

// A view's results are tied to their base before history is recorded.
void mark_views(Operator& op, PyObject* const* args, size_t n, PyObject* result, bool several = false) {
  PyObject* base = args[0];
  if (result == base) return;
  if (is_tensor(result)) {
    if (__builtin_expect(python_dispatch, 0)) count_together(*unwrap(base), *unwrap(result));
    const Tensor view(unwrap(result)), source(unwrap(base));
    if (is_sparse(*source) && op.formulas.empty())
      return;  // indices: PyTorch's views that are not differentiable have no base
    if (__builtin_expect(python_dispatch, 0) && !has_data(*source) && !has_data(*view) && !is_sparse(*source))
      mark_replayed_view(view, source, several, Ref<ViewReplay>(new CallReplay(op, args, n)));
    else
      mark_view(view, source, several);
  } else if (PyTuple_Check(result) || PyList_Check(result)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i)
      mark_views(op, args, n, PySequence_Fast_GET_ITEM(result, i), true);
  }
}

}  // namespace

namespace {

// What a subclass sees of an operator that PyTorch runs as others, where the operator itself records the history: those others.
PyObject* call_parts(Operator& op, PyObject** args, size_t n) {
  NoGrad off;
  PyObject* r = vectorcall(op.dispatch_parts, args, n);
  for (size_t i = 0; r && i < n; ++i)
    if (r == args[i])
      Py_SETREF(r, PyObject_CallMethod(args[i], "detach", nullptr));  // never the argument: a history is recorded on it
  return r;
}

// What NumPy raises in a kernel's body, as PyTorch's kernels would (shim_torch/_impl/table/body_errors.py).
__attribute__((noinline, cold)) void translate_body_error() {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  OwnedRef module{PyImport_ImportModule("shim_torch._impl.table.body_errors")};
  PyObject* error = module.o ? PyObject_CallMethod(module.o, "translated", "O", value) : nullptr;
  if (!error || error == value) {
    PyErr_Clear();
    Py_XDECREF(error);
    return PyErr_Restore(type, value, trace);
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  Py_DECREF(error);
  Py_DECREF(type);
  Py_DECREF(value);
  Py_XDECREF(trace);
}

__attribute__((noinline)) PyObject* run_body(Operator& op, PyObject** args, size_t n) {
  PyObject* r;
  if (__builtin_expect(gradient_transforms, 0)) {
    ++own_bodies;
    r = vectorcall(op.run, args, n);
    --own_bodies;
  } else {
    r = vectorcall(op.run, args, n);
  }
  if (__builtin_expect(!r, 0) && op.kind == Operator::Kernel && (op.schema.ns == "aten" || op.schema.ns == "shim"))
    translate_body_error();
  return r;
}

// `read`: memory holds the values, which natives may read.
__attribute__((always_inline)) inline PyObject* run_as_they_are(Operator& op, PyObject** args, size_t n, bool read) {
  if (__builtin_expect(python_dispatch, 0)) {
    if (op.kind != Operator::Composite && wants_dispatch(args, n))
      return op.dispatch_parts && !dispatch_mode_active() ? call_parts(op, args, n) : call_torch_dispatch(op, args, n);
    if (op.kind == Operator::Kernel && op.schema.name != "_unsafe_view") check_has_data(op, args, n);
  }
  const bool tangents =
      op.kind == Operator::Composite && forward_gradients() && any_tangent(args, n);  // its parts carry them on
  // What a handler asks to see, the parts of a composite too, no native function may do by itself.
  const bool seen = __builtin_expect(python_dispatch, 0) && op.kind == Operator::Composite && wants_dispatch(args, n);
  if (!tangents && !seen && read) {
    for (NativeFn native : {op.native_cpu, op.native}) {
      if (!native) continue;
      PyObject* r = native(op, args, n);
      if (r) {
        ++op.calls_native;
        return r;
      }
      if (PyErr_Occurred()) return nullptr;
    }
  }
  ++op.calls_body;
  if (!op.run) {
    raise_no_kernel(op, args, n);
    return nullptr;
  }
  return run_body(op, args, n);
}

// Kernels that do not know the bits get copies of the values; the parts of a composite resolve what they must.
__attribute__((noinline, cold)) PyObject* run_with_math_bits(Operator& op, PyObject** args, size_t n) {
  if (op.kind != Operator::Kernel || (op.traits->reads_math_bits && (op.native || op.native_cpu)))
    return run_as_they_are(op, args, n, op.kind != Operator::Composite);
  ResolvedArguments resolved(args, n, python_dispatch);
  return run_as_they_are(op, resolved.data(), n, true);
}

}  // namespace

PyObject* run_functional(Operator& op, PyObject** args, size_t n) {
  if (any_math_bits(args, n)) return run_with_math_bits(op, args, n);
  return run_as_they_are(op, args, n, true);
}

// Tensors that become one must be on one device; other lists (of indices, of foreach operators) may mix them.
void check_same_device_of_parts(const Operator& op, PyObject* list) {
  if (op.schema.name != "cat" && op.schema.name != "stack") return;
  const TensorImpl* first = nullptr;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* item = PyList_GET_ITEM(list, i);
    if (!is_tensor(item)) continue;
    const TensorImpl* t = unwrap(item);
    if (!first) first = t;
    CHECK(Kind::Runtime, t->device() == first->device(),
        "Expected all tensors to be on the same device, but found at least two devices, ", to_string(first->device()),
        " and ", to_string(t->device()), "! (when checking argument tensors of ", op.schema.name, ")");
  }
}

void check_same_device(const Operator& op, PyObject* const* args, size_t n) {
  const TensorImpl* first = nullptr;
  for (size_t i = 0; i < n; ++i) {
    if (__builtin_expect(PyList_Check(args[i]), 0)) check_same_device_of_parts(op, args[i]);
    if (!is_tensor(args[i])) continue;
    const TensorImpl* t = unwrap(args[i]);
    if (!first) {
      first = t;
      continue;
    }
    if (t->device() == first->device()) continue;
    auto stands_in = [&](const TensorImpl* x) { return op.pointwise && x->device().is_cpu() && x->dim() == 0; };
    if (stands_in(t)) continue;
    if (stands_in(first)) {
      first = t;
      continue;
    }
    if (op.schema.name == "copy_") return;  // moves between devices
    fail(Kind::Runtime, "Expected all tensors to be on the same device, but found at least two devices, ",
        to_string(first->device()), " and ", to_string(t->device()), "!");
  }
}

PyObject* run_recorded(Operator& op, PyObject** args, size_t n) {  // run, views tied, history recorded
  PyObject* r;
  {
    NoGrad off;
    r = run_functional(op, args, n);
  }
  if (!r) return nullptr;
  if (op.kind == Operator::View && n > 0 && is_tensor(args[0]) && r != args[0] && !below_python_dispatch())
    mark_views(op, args, n, r);
  try {
    if (any_requires_grad(args, n)) record_history(op, args, n, r, false);
  } catch (...) {
    Py_DECREF(r);
    throw;
  }
  if (PyErr_Occurred()) Py_CLEAR(r);
  return r;
}

namespace {

// An operator without a formula for an input has no tangent either: PyTorch's text for that.
std::string no_forward_formula(const std::string& name) {
  return "Trying to use forward AD with " + name +
         " that does not support it because it has not been implemented yet.\nPlease file an issue to PyTorch at "
         "https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml so that we can prioritize its "
         "implementation or submit a "
         "PR adding the implementation to derivatives.yaml";
}

void say_forward_mode_is_missing(const Operator& op) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject* text = value ? PyObject_Str(value) : nullptr;
  const char* said = text ? PyUnicode_AsUTF8(text) : nullptr;
  const bool ours = said && std::string(said).starts_with("the derivative for '");
  Py_XDECREF(text);
  if (!ours) return PyErr_Restore(type, value, trace);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  PyErr_SetString(PyExc_NotImplementedError, no_forward_formula(op.schema.name).c_str());
}

}  // namespace

PyObject* call_with_tangents(Operator& op, PyObject* const* args, size_t n) {
  if (op.kind == Operator::View && n > 0 && is_tensor(args[0])) {
    struct Off {
      int old = forward_gradients();
      Off() { forward_gradients() = 0; }
      ~Off() { forward_gradients() = old; }
    } off;
    std::vector<PyObject*> given(args, args + n);
    PyObject* r = run_recorded(op, given.data(), n);
    if (!r || r == args[0]) return r;
    const bool done = view_of_tangent(*unwrap(args[0]), r, [&](PyObject* tangent) {
      given[0] = tangent;
      return run_recorded(op, given.data(), n);
    });
    if (done) return r;
    Py_DECREF(r);
  }
  PyObject* r = guarded([&]() -> PyObject* {
    return run_with_tangents(args, n, [&](PyObject** given, size_t count) {
      return op.kind == Operator::Composite ? run_functional(op, given, count) : run_recorded(op, given, count);
    });
  });
  if (!r && PyErr_ExceptionMatches(PyExc_NotImplementedError)) say_forward_mode_is_missing(op);
  return r;
}

// Operators of which PyTorch has no forward-mode formula, and what it calls them.
void check_forward_mode(const Operator& op, PyObject* const* args, size_t n) {
  const char* name = op.traits->forward_error_name;
  CHECK(Kind::NotImplemented, !name || !any_tangent(args, n), no_forward_formula(name));
}

// Lazy clones that the operator writes to get memory of their own first.
static void own_written(const Operator& op, PyObject* const* args, size_t n) {
  auto own = [](PyObject* o) {
    if (is_tensor(o) && !is_sparse(*unwrap(o))) own_data(*unwrap(o)->storage());
  };
  for (size_t i = 0; i < n && i < op.schema.args.size(); ++i) {
    const auto& alias = op.schema.args[i].alias;
    if (!alias || !alias->write) continue;
    own(args[i]);
    if (PyList_CheckExact(args[i]))
      for (Py_ssize_t k = 0; k < PyList_GET_SIZE(args[i]); ++k) own(PyList_GET_ITEM(args[i], k));
  }
}

PyObject* call_operator(Operator& op, Bound& b) {
  PyObject** args = b.data();
  const size_t n = b.size();
  if (op.traits->autocast != CastPolicy::none && any_autocast() && !apply_autocast(op, args, n)) return nullptr;
  if (op.device_slot >= 0 && args[op.device_slot] == Py_None) {
    if (PyObject* d = default_device()) b.set(size_t(op.device_slot), Py_NewRef(d));
  }
  // Composites hand their arguments on to operators that lift them, but for those whose history is that of PyTorch's one operator.
  if (__builtin_expect(batched_class != nullptr, 0) && (op.kind != Operator::Composite || !op.shown.empty()) &&
      !lift_to_batch(b))
    return nullptr;
  args = b.data();
  return guarded([&]() -> PyObject* {
    if (__builtin_expect(lazy_clones, 0)) own_written(op, args, n);
    if (__builtin_expect(forward_gradients(), 0)) check_forward_mode(op, args, n);
    if (__builtin_expect(python_dispatch, 0) && (op.dispatch_leaf || op.dispatch_parts)) {
      bool done;
      PyObject* r = dispatch_composite(op, args, n, &done);
      if (done) return r && b.requires_grad && is_tensor(r) && !make_require_grad(r) ? nullptr : r;
    }
    if (__builtin_expect(python_dispatch, 0) && sparse_seen && any_sparse(args, n) && !wants_dispatch(args, n)) {
      bool done;
      PyObject* r = call_sparse(op, args, n, &done);
      if (done) return r && b.requires_grad && is_tensor(r) && !make_require_grad(r) ? nullptr : r;
    }
    if (__builtin_expect(aten_kernels, 0)) {
      bool done;
      PyObject* r = run_as_parts(op, args, n, &done);
      if (done) return r;
    }
    if (__builtin_expect(op.number_kernels, 0) || !op.overrides.empty()) {
      bool done = false;
      PyObject* r = run_override(op, args, n, &done);
      if (done) return r;
    }
    if (op.inplace) return run_inplace(op, args, n);
    if (op.out) {
      PyObject* r = run_out(op, args, n);
      if (r && b.requires_grad && is_tensor(r) && !make_require_grad(r)) Py_CLEAR(r);
      return r;
    }
    if (op.kind == Operator::Composite) {
      PyObject* r = run_functional(op, args, n);
      if (r && op.factory && is_tensor(r)) unwrap(r)->storage()->version() = 0;  // filling new memory is no change
      if (r && b.requires_grad && is_tensor(r) && !make_require_grad(r)) Py_CLEAR(r);
      return r;
    }
    if (op.kind == Operator::Kernel) {
      // A handler sees mixed devices too: what a tensor says of its device may not be where its memory is.
      if (!(__builtin_expect(python_dispatch, 0) && wants_dispatch(args, n))) check_same_device(op, args, n);
    }
    if (__builtin_expect(forward_gradients(), 0) && any_tangent(args, n)) return call_with_tangents(op, args, n);
    const bool grad_mode = GradMode::enabled();
    const bool history = grad_mode && any_requires_grad(args, n);
    PyObject* r;
    Ref<Node> prepared;
    if (history) {
      if (__builtin_expect(SavedHooks::depth(), 0)) prepared = prepare_history(op, args, n);
      NoGrad off;
      r = run_functional(op, args, n);
    } else {
      r = run_functional(op, args, n);
    }
    if (!r) return nullptr;
    if (op.kind == Operator::View && n > 0 && is_tensor(args[0])) {
      if (r == args[0] || unwrap(args[0])->is_inference) return r;  // views of inference tensors have no history
      if (!below_python_dispatch()) mark_views(op, args, n, r);
    }
    if (history) {
      try {
        record_history(op, args, n, r, false, prepared);
      } catch (...) {  // a pack hook raised
        Py_DECREF(r);
        throw;
      }
      if (PyErr_Occurred()) {
        Py_DECREF(r);
        return nullptr;
      }
    }
    if (b.requires_grad && is_tensor(r) && !make_require_grad(r)) Py_CLEAR(r);
    return r;
  });
}

}  // namespace shim
