// In-place operators, derived from the functional one.
#include <algorithm>

#include "autograd/autograd.h"
#include "ops/output.h"
#include "python/dispatch.h"
#include "python/forward_mode.h"
#include "python/lacking_kernel.h"
#include "python/owned_ref.h"
#include "python/math_bits.h"
#include "python/torch_dispatch.h"
#include "python/trace.h"
#include "python/values.h"

namespace shim {
namespace {

// Whether a formula that will run names `self`: one of its inputs wants a gradient.
bool saves_self(const Operator& op, PyObject* const* args) {
  auto wanted = [&](const std::string& input) {
    for (size_t i = 0; i < op.schema.args.size(); ++i)
      if (op.schema.args[i].name == input) return any_requires_grad(args + i, 1);
    return false;
  };
  auto names = [&](const std::vector<Formula>& formulas) {
    for (const Formula& f : formulas)
      if (std::find(f.parameters.begin(), f.parameters.end(), "self") != f.parameters.end() &&
          std::any_of(f.inputs.begin(), f.inputs.end(), wanted))
        return true;
    return false;
  };
  return names(op.formulas) || names(op.fused);
}

// The functional operator on what self was, copied into self; what its parts save is not what is written to.
PyObject* composite_inplace(Operator& op, PyObject** args, size_t n) {
  PyObject* self = args[0];
  Tensor target(unwrap(self));
  std::vector<PyObject*> given(args, args + n);
  OwnedRef before{nullptr};
  if (GradMode::enabled() && any_requires_grad(args, n)) {
    check_inplace(target);
    before.o = wrap(before_write(target));
    given[0] = before.o;
  }
  OwnedRef result{run_functional(*op.functional, given.data(), n)};
  if (!result.o) return nullptr;
  if (is_tensor(result.o)) check_inplace_result(*op.functional, *unwrap(result.o), *target);
  OwnedRef done{PyObject_CallMethod(self, "copy_", "O", result.o)};
  return done.o ? Py_NewRef(self) : nullptr;
}

// __torch_dispatch__ writes; versions and history are still ours.
PyObject* dispatch_inplace(Operator& op, PyObject** args, size_t n) {
  Operator& f = *op.functional;
  Tensor target(unwrap(args[0]));
  const bool history = GradMode::enabled() && any_requires_grad(args, n);
  if (history || target->is_inference) check_inplace(target);
  OwnedRef before{nullptr};
  if (history && saves_self(f, args)) before.o = PyObject_CallMethod(args[0], "clone", nullptr);
  const uint32_t version = target->version();
  OwnedRef r{call_torch_dispatch(op, args, n)};
  if (!r.o) return nullptr;
  if (target->version() == version) target->bump_version();
  if (history && f.kind != Operator::Composite) {
    std::vector<PyObject*> saved(args, args + n);
    if (before.o) saved[0] = before.o;
    record_history(f, saved.data(), n, args[0], true);
    if (PyErr_Occurred()) return nullptr;
  }
  return Py_NewRef(args[0]);
}

// A function that is differentiated writes to what it was given and to what it made, nothing else.
void check_captured(const Operator& op, const TensorImpl& target) {
  if (target.made_in >= gradient_transforms || own_bodies) return;
  const Schema& s = op.schema;
  fail(Kind::Runtime,
      "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
      "(aten::",
      s.name, s.overload.empty() ? "" : ".", s.overload,
      ") that would mutate a captured Tensor. This is not supported; please rewrite the function being transformed to "
      "explicitly accept the mutated Tensor(s) as inputs.");
}

bool given_again(const TensorImpl& target, PyObject* const* args, size_t n) {
  return std::any_of(args + 1, args + n,
      [&](PyObject* o) { return is_tensor(o) && (unwrap(o) == &target || unwrap(o)->storage() == target.storage()); });
}

// Computes and writes. Natives write in one pass, where no history is wanted; else the functional operator's result is written.
bool write_inplace(Operator& op, PyObject** args, size_t n, const Tensor& target, bool history, bool apart) {
  Operator& f = *op.functional;
  if ((op.native_cpu || op.native) && !history && !apart) {
    const Values values(args, n);
    for (KernelCall native : {op.native_cpu, op.native}) {
      if (!native || !run_native_inplace(native, op, values.data())) continue;
      ++op.calls_native;
      target->bump_version();
      return true;
    }
  }
  OwnedRef result{nullptr};
  {
    NoGrad off;
    result.o = run_functional(f, args, n);
  }
  if (!result.o) {
    check_before_kernel(f, args, n, *target, true);
    return false;
  }
  PyObject* value = result.o;
  CHECK(Kind::Type, is_tensor(value), op.schema.qualified(), ": the functional result is not a tensor");
  TensorImpl* r = unwrap(value);
  check_inplace_result(f, *r, *target);
  if (r == target.get())
    target->bump_version();  // a native kernel wrote it already
  else
    write_result(target, Tensor(r));
  return true;
}

}  // namespace

constinit thread_local int own_bodies = 0;

PyObject* run_inplace(Operator& op, PyObject** args, size_t n) {
  Operator& f = *op.functional;
  PyObject* self = args[0];
  if (__builtin_expect(gradient_transforms, 0)) check_captured(op, *unwrap(self));
  const bool tangents = __builtin_expect(forward_gradients(), 0) && any_tangent(args, n);
  if (__builtin_expect(python_dispatch, 0) && !tangents && wants_dispatch(args, n))
    return dispatch_inplace(op, args, n);
  if (f.kind == Operator::Composite) return composite_inplace(op, args, n);
  Tensor target(unwrap(self));
  const bool apart =
      any_math_bits(args, n) && !op.traits->reads_math_bits;  // computed of copies, then written through the bits
  const bool history = GradMode::enabled() && any_requires_grad(args, n);
  if (!tangents && (history || target->is_inference)) check_inplace(target);
  if (!apart) check_overlaps(*target, f, args + 1, n - 1);
  check_same_device(op, args, n);
  if (tangents) return run_inplace_with_tangents(op, args, n, history);
  CHECK(Kind::Runtime, !is_complex(target->dtype()) || f.schema.name != "abs",
      "In-place abs is not supported for complex tensors.");
  OwnedRef before{nullptr};
  if (history && saves_self(f, args)) before.o = wrap(before_write(target));
  std::vector<PyObject*> saved;
  if (history) saved.assign(args, args + n);
  if (before.o) saved[0] = before.o;
  Ref<Node> prepared;  // x.mul_(x) saves the x that it writes over: backward then sees that it changed
  if (history && given_again(*target, args, n)) prepared = prepare_history(f, saved.data(), n);
  if (__builtin_expect(tracing && !apart, 0)) {
    TracedInplace traced(op, args, n);
    if (traced.deferred())
      target->bump_version();
    else if (!write_inplace(op, args, n, target, history, apart))
      return nullptr;
    traced.ran();
  } else if (!write_inplace(op, args, n, target, history, apart)) {
    return nullptr;
  }
  if (history) {
    record_history(f, saved.data(), n, self, true, prepared);
    if (PyErr_Occurred()) return nullptr;
  }
  return Py_NewRef(self);
}

}  // namespace shim
