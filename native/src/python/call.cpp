// The call of an operator once its arguments are bound.

#include "autograd/autograd.h"
#include "autograd/profile.h"
#include "core/lazy_clone.h"
#include "core/sparse.h"
#include "ops/overlap.h"
#include "ops/same_device.h"
#include "python/batching.h"
#include "python/call_values.h"
#include "python/dispatch.h"
#include "python/forward_mode.h"
#include "python/owned_ref.h"
#include "python/library_table.h"
#include "python/math_bits.h"
#include "python/operator_device.h"
#include "python/sparse_dispatch.h"
#include "python/tensors_in.h"
#include "python/torch_dispatch.h"
#include "python/trace.h"
#include "python/values.h"

namespace shim {
namespace {

PyObject* vectorcall(PyObject* f, PyObject** args, size_t n) { return PyObject_Vectorcall(f, args, n, nullptr); }

// What a subclass sees of an operator that PyTorch runs as others, where the operator itself records the history: those others.
PyObject* call_parts(Operator& op, PyObject** args, size_t n) {
  NoGrad off;
  PyObject* r = vectorcall(python_of(op).dispatch_parts, args, n);
  for (size_t i = 0; r && i < n; ++i)
    if (r == args[i])
      Py_SETREF(r, PyObject_CallMethod(args[i], "detach", nullptr));  // never the argument: a history is recorded on it
  return r;
}

// What NumPy raises in a kernel's body, as PyTorch's kernels would (shim_torch/_impl/table/body_errors.py).
__attribute__((noinline, cold)) void translate_body_error() {
  Pending raised;
  OwnedRef module{PyImport_ImportModule("shim_torch._impl.table.body_errors")};
  OwnedRef error{module.o ? PyObject_CallMethod(module.o, "translated", "O", raised.value()) : nullptr};
  PyErr_Clear();
  if (!error.o || error.o == raised.value()) return;
  raised.drop();
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.o)), error);
}

__attribute__((noinline)) PyObject* run_body(Operator& op, PyObject** args, size_t n) {
  PyObject* r;
  if (__builtin_expect(gradient_transforms, 0)) {
    ++own_bodies;
    r = vectorcall(python_of(op).run, args, n);
    --own_bodies;
  } else {
    r = vectorcall(python_of(op).run, args, n);
  }
  if (__builtin_expect(!r, 0) && op.kind == Operator::Kernel && (op.schema.ns == "aten" || op.schema.ns == "shim"))
    translate_body_error();
  return r;
}

// `read`: memory holds the values, which natives may read.
__attribute__((always_inline)) inline PyObject* run_as_they_are(Operator& op, PyObject** args, size_t n, bool read) {
  if (__builtin_expect(python_dispatch, 0)) {
    if (op.kind != Operator::Composite && wants_dispatch(args, n))
      return python_of(op).dispatch_parts && !dispatch_mode_active() ? call_parts(op, args, n)
                                                                     : call_torch_dispatch(op, args, n);
    if (op.kind == Operator::Kernel && op.schema.name != "_unsafe_view") check_has_data(op, args, n);
  }
  const bool tangents =
      op.kind == Operator::Composite && forward_gradients() && any_tangent(args, n);  // its parts carry them on
  // What a handler asks to see, the parts of a composite too, no native function may do by itself.
  const bool seen = __builtin_expect(python_dispatch, 0) && op.kind == Operator::Composite && wants_dispatch(args, n);
  if (!tangents && !seen && read && (op.native_cpu || op.native)) {
    const Values values(args, n);
    for (KernelCall native : {op.native_cpu, op.native}) {
      if (!native) continue;
      PyObject* r = __builtin_expect(tracing, 0) && op.kind == Operator::Composite
                        ? run_native_traced(native, op, args, n, values.data())
                        : run_native(native, op, values.data());
      if (r) {
        ++op.calls_native;
        return r;
      }
      if (PyErr_Occurred()) return nullptr;
    }
  }
  ++op.calls_body;
  if (!python_of(op).run) {
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

PyObject* run_at_once(Operator& op, PyObject** args, size_t n) {
  if (any_math_bits(args, n)) return run_with_math_bits(op, args, n);
  return run_as_they_are(op, args, n, true);
}

}  // namespace

PyObject* run_functional(Operator& op, PyObject** args, size_t n) {
  PyObject* r = __builtin_expect(tracing, 0) ? run_traced(op, args, n, run_at_once) : run_at_once(op, args, n);
  if (r && __builtin_expect(op.traits->gradient_name != nullptr, 0) && op.kind == Operator::Composite)
    name_history(op, args, n, r);
  return r;
}

void check_same_device(const Operator& op, PyObject* const* args, size_t n) {
  SameDevice all(op);
  for (size_t i = 0; i < n; ++i) {
    if (is_tensor(args[i])) {
      all.see(*unwrap(args[i]));
    } else if (__builtin_expect(PyList_Check(args[i]), 0)) {
      SameDeviceOfParts parts(op);
      each_tensor(args[i], [&](TensorImpl& t) { parts.see(t); });
    }
  }
}

void check_overlaps(const TensorImpl& target, const Operator& f, PyObject* const* args, size_t n) {
  check_own_places(target, f);
  each_tensor(args, n, [&](TensorImpl& read) { check_overlap(target, read, f); });
}

bool python_has_a_say(const Operator& op, const Value* args) {
  return python_dispatch || batched_class || aten_kernels || cuda::several_devices ||
         (op.device_slot >= 0 && args[op.device_slot].tag == Value::none && default_device());
}

void bind_values(const Operator& op, const Value* args, Bound& b) {
  b.reset(op.schema.args.size());
  for (size_t i = 0; i < b.size(); ++i) {
    const ArgType& type = op.schema.args[i].type;
    Value v = args[i];
    if (v.tag == Value::list && type.list && type.base == ArgType::Tensor) v.tag = Value::tensors;
    b.set(i, object_of(v));
  }
}

PyObject* with_history(Operator& op, PyObject* const* args, size_t n, PyObject* result, const Ref<Node>& prepared) {
  OwnedRef r{result};  // a pack hook may raise
  record_history(op, args, n, r, false, prepared);
  return PyErr_Occurred() ? nullptr : r.give();
}

// A factory's result, which is to require gradients where requires_grad=True was given. Steals.
static PyObject* as_wanted(PyObject* result, const Bound& b) {
  if (result && b.requires_grad && is_tensor(result) && !make_require_grad(result)) Py_CLEAR(result);
  return result;
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
  return any_requires_grad(args, n) ? with_history(op, args, n, r) : r;
}

// Lazy clones that the operator writes to get memory of their own first.
static void own_written(const Operator& op, PyObject* const* args, size_t n) {
  for (size_t i = 0; i < n && i < op.schema.args.size(); ++i)
    if (const auto& alias = op.schema.args[i].alias; alias && alias->write)
      each_tensor(args[i], [](TensorImpl& t) {
        if (!is_sparse(t)) own_data(*t.storage());
      });
}

static PyObject* call_bound(Operator& op, Bound& b) {
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
    const OperatorDevice current(op, args, n);
    if (__builtin_expect(lazy_clones, 0)) own_written(op, args, n);
    if (__builtin_expect(forward_gradients(), 0)) check_forward_mode(op, args, n);
    if (__builtin_expect(python_dispatch, 0) && (op.dispatch_leaf || python_of(op).dispatch_parts)) {
      bool done;
      PyObject* r = dispatch_composite(op, args, n, &done);
      if (done) return as_wanted(r, b);
    }
    if (__builtin_expect(python_dispatch, 0) && sparse_seen && any_sparse(args, n) && !wants_dispatch(args, n)) {
      bool done;
      PyObject* r = call_sparse(op, args, n, &done);
      if (done) return as_wanted(r, b);
    }
    if (__builtin_expect(aten_kernels, 0)) {
      bool done;
      PyObject* r = run_as_parts(op, args, n, &done);
      if (done) return r;
    }
    if (__builtin_expect(op.number_kernels || op.overridden, 0)) {
      bool done = false;
      PyObject* r = run_override(op, args, n, &done);
      if (done) return r;
    }
    if (op.inplace) return run_inplace(op, args, n);
    if (op.out) return as_wanted(run_out(op, args, n), b);
    if (op.kind == Operator::Composite) {
      PyObject* r = run_functional(op, args, n);
      if (r && op.factory && is_tensor(r)) unwrap(r)->storage()->version() = 0;  // filling new memory is no change
      return as_wanted(r, b);
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
    return as_wanted(history ? with_history(op, args, n, r, prepared) : r, b);
  });
}

PyObject* call_operator(Operator& op, Bound& b) {
  if (__builtin_expect(!profile::on, 1)) return call_bound(op, b);
  return guarded([&] {
    profile::Call call(op.schema.qualified());
    for (size_t i = 0; profile::with_shapes && i < b.size(); ++i) {
      call.argument(is_tensor(b.data()[i]));
      each_tensor(b.data()[i], [&](TensorImpl& t) { call.tensor(t); });
    }
    PyObject* r = call_bound(op, b);
    if (r && is_tensor(r)) call.gave(*unwrap(r));
    return r;
  });
}

}  // namespace shim
