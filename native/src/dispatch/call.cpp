// The call of an operator with values.
#include "dispatch/call.h"

#include <span>

#include "autograd/autocast.h"
#include "autograd/profile.h"
#include "core/lazy_clone.h"
#include "dispatch/handlers.h"
#include "dispatch/operator_device.h"
#include "dispatch/replaced_arguments.h"
#include "ops/default_device.h"
#include "ops/overlap.h"
#include "ops/same_device.h"

namespace shim {

constinit thread_local bool handlers_disabled = false, functions_disabled = false;
constinit thread_local int running_transforms = 0;
bool python_dispatch = false, sparse_seen = false, batches_seen = false, aten_kernels = false, tracing = false;

bool run_kernels(Operator& op, const Value* args, Answer& answer) {
  for (KernelCall kernel : {op.native_cpu, op.native})
    if (kernel && (kernel(op, args, answer), answer.kind != Answer::declined)) return ++op.calls_native, true;
  return false;
}

namespace {

bool run_kernels_traced(Operator& op, const Value* args, size_t n, Result& r) {
  for (KernelCall kernel : {op.native_cpu, op.native})
    if (kernel && traced_calls.kernel(kernel, op, args, n, r)) return ++op.calls_native, true;
  return false;
}

void check_has_data(const Operator& op, const Value* args, size_t n) {  // wrapper subclasses have no memory
  for (const Value& v : std::span(args, n)) {
    if (!v.is_tensor() || is_sparse(*v.t)) continue;  // those operators were chosen before
    CHECK(Kind::Runtime, has_data(*v.t), op.schema.qualified(),
        ": Cannot access data pointer of Tensor that doesn't have storage: it is of a wrapper subclass, and no "
        "__torch_dispatch__ answered the call");
  }
}

// `read`: memory holds the values, which natives may read.
__attribute__((always_inline)) inline void run_as_they_are(
    Operator& op, const Value* args, size_t n, bool read, Result& r) {
  if (__builtin_expect(python_dispatch, 0)) {
    if (op.kind != Operator::Composite && wants_dispatch(args, n))
      return interpreter_calls.has_parts(op) && (handlers_disabled || !interpreter_calls.modes())
                 ? show_parts(op, args, n, r)
                 : call_handlers(op, args, n, r);
    if (op.kind == Operator::Kernel && op.schema.name != "_unsafe_view") check_has_data(op, args, n);
  }
  const bool tangents =
      op.kind == Operator::Composite && forward_gradients() && any_tangent(args, n);  // its parts carry them on
  // What a handler asks to see, the parts of a composite too, no native function may do by itself.
  const bool seen = __builtin_expect(python_dispatch, 0) && op.kind == Operator::Composite && wants_dispatch(args, n);
  if (!tangents && !seen && read) {
    const bool traced = __builtin_expect(tracing, 0) && op.kind == Operator::Composite;
    if (traced ? run_kernels_traced(op, args, n, r) : run_kernels(op, args, r.answer)) return;
  }
  ++op.calls_body;
  std::optional<WithoutAutocast> off;  // no body of a kernel's casts what it computes with: it may run later, too
  if (op.kind == Operator::Kernel && any_autocast()) off.emplace();
  interpreter_calls.body(op, args, n, r);
}

// Kernels that do not know the bits get copies of the values; the parts of a composite resolve what they must.
__attribute__((noinline, cold)) void run_with_math_bits(Operator& op, const Value* args, size_t n, Result& r) {
  if (op.kind != Operator::Kernel || (op.traits->reads_math_bits && (op.native || op.native_cpu)))
    return run_as_they_are(op, args, n, op.kind != Operator::Composite, r);
  ReplacedArguments resolved(args, n, [](TensorImpl& t, bool) -> Tensor {
    if (!t.has_math_bits()) return {};
    return python_dispatch ? engine_ops().clone(Tensor(&t)) : resolved_copy(Tensor(&t));
  });
  run_as_they_are(op, resolved.data(), n, true, r);
  r.own();
}

}  // namespace

namespace {

// The hot way is one function: each call of another costs as much as what it looks at.
[[gnu::always_inline]] inline void run_now(Operator& op, Value* args, size_t n, Result& r) {
  if (any_math_bits(args, n)) return run_with_math_bits(op, args, n, r);
  run_as_they_are(op, args, n, true, r);
}

[[gnu::always_inline]] inline void run_without_history(Operator& op, Value* args, size_t n, Result& r) {
  __builtin_expect(tracing, 0) ? traced_calls.call(op, args, n, r) : run_now(op, args, n, r);
  if (__builtin_expect(op.traits->gradient_name != nullptr, 0) && op.kind == Operator::Composite)
    name_history(op, args, n, r.answer);
}

}  // namespace

void run_at_once(Operator& op, Value* args, size_t n, Result& r) { run_now(op, args, n, r); }
void run_functional(Operator& op, Value* args, size_t n, Result& r) { run_without_history(op, args, n, r); }

void check_same_device(const Operator& op, const Value* args, size_t n) {
  SameDevice all(op);
  for (const Value& v : std::span(args, n)) {
    if (v.is_tensor()) {
      all.see(*v.t);
    } else if (__builtin_expect(v.tag == Value::list, 0)) {
      SameDeviceOfParts parts(op);
      each_tensor(&v, 1, [&](TensorImpl& t) { parts.see(t); });
    }
  }
}

void check_overlaps(const TensorImpl& target, const Operator& f, const Value* args, size_t n) {
  check_own_places(target, f);
  each_tensor(args, n, [&](TensorImpl& read) { check_overlap(target, read, f); });
}

Tensor call_for_tensor(Operator& op, Value* args, size_t n) {
  Result r;
  call_operator(op, args, n, r);
  CHECK(Kind::Type, r.tensor(), op.schema.name, " gave no tensor");
  return Tensor(r.tensor());
}

static void mark_result(Operator& op, const Value* args, size_t n, const Answer& result) {
  if (op.kind == Operator::View && n > 0 && args[0].is_tensor() && !below_handler) mark_views(op, args, n, result);
}

void run_recorded(Operator& op, Value* args, size_t n, Result& r) {  // run, views tied, history recorded
  {
    NoGrad off;
    run_functional(op, args, n, r);
  }
  mark_result(op, args, n, r.answer);
  if (any_requires_grad(args, n)) record_history(op, args, n, r.answer, false, {});
}

Tensor call_recorded(Operator& op, const Tensor& first, const Tensor& second) {
  Value args[] = {tensor_value(first), tensor_value(second)};
  Result r;
  run_recorded(op, args, 2, r);
  return Tensor(r.tensor());
}

namespace {

// Lazy clones that the operator writes to get memory of their own first.
void own_written(const Operator& op, const Value* args, size_t n) {
  for (size_t i = 0; i < n && i < op.schema.args.size(); ++i)
    if (const auto& alias = op.schema.args[i].alias; alias && alias->write)
      each_tensor(args + i, 1, [](TensorImpl& t) {
        if (!is_sparse(t)) own_data(*t.storage());
      });
}

// Whether somebody answers in the place of the operator.
__attribute__((noinline)) bool answered(Operator& op, Value* args, size_t n, Result& r) {
  const InterpreterCalls& ask = interpreter_calls;
  if (python_dispatch) {
    if (show_composite(op, args, n, r)) return true;
    if (sparse_seen && any_sparse(args, n) && !wants_dispatch(args, n) && ask.sparse(op, args, n, r)) return true;
  }
  if (aten_kernels && ask.as_parts(op, args, n, r)) return true;
  return (op.number_kernels || op.overridden) && ask.library(op, args, n, r);
}

[[gnu::always_inline]] inline void call_with_history(Operator& op, Value* args, size_t n, Result& r) {
  const OperatorDevice current(op, args, n);
  if (__builtin_expect(lazy_clones, 0)) own_written(op, args, n);
  if (__builtin_expect(forward_gradients(), 0)) check_forward_mode(op, args, n);
  if (__builtin_expect(python_dispatch | aten_kernels | op.number_kernels | op.overridden, 0) &&
      answered(op, args, n, r))
    return;
  if (op.inplace) return run_inplace(op, args, n, r);
  if (op.out) return run_out(op, args, n, r);
  if (op.kind == Operator::Composite) {
    run_without_history(op, args, n, r);
    if (op.factory && r.tensor()) r.tensor()->storage()->version() = 0;  // filling new memory is no change
    return;
  }
  if (op.kind == Operator::Kernel) {
    // A handler sees mixed devices too: what a tensor says of its device may not be where its memory is.
    if (!(__builtin_expect(python_dispatch, 0) && wants_dispatch(args, n))) check_same_device(op, args, n);
  }
  if (__builtin_expect(forward_gradients(), 0) && any_tangent(args, n)) return call_with_tangents(op, args, n, r);
  const bool history = wants_history(args, n);
  Ref<Node> prepared;
  if (history && __builtin_expect(SavedHooks::depth(), 0)) prepared = prepare_history(op, args, n);
  {
    std::optional<NoGrad> off;
    if (history) off.emplace();
    run_without_history(op, args, n, r);
  }
  if (op.kind == Operator::View && n > 0 && args[0].is_tensor()) {
    if (r.tensor() == args[0].t || args[0].t->is_inference) return;  // views of inference tensors have no history
    if (!below_handler) mark_views(op, args, n, r.answer);
  }
  if (history) record_history(op, args, n, r.answer, false, prepared);
}

template <bool hot>
[[gnu::always_inline]] inline void call_above_autocast(Operator& op, Value* args, size_t n, Result& r) {
  if (op.device_slot >= 0 && args[op.device_slot].tag == Value::none)
    if (const std::optional<Device> d = default_device()) args[op.device_slot] = Value(*d);
  // Composites hand their arguments on to operators that lift them, but for those whose history is that of PyTorch's one operator.
  if (__builtin_expect(batches_seen, 0) && (op.kind != Operator::Composite || !op.shown.empty()) &&
      interpreter_calls.batched(op, args, n, r))
    return;
  if constexpr (hot)
    call_with_history(op, args, n, r);
  else
    call_below_modes(op, args, n, r);
}

__attribute__((noinline)) void call_with_autocast(Operator& op, Value* args, size_t n, Result& r) {
  const TensorImpl* first = nullptr;
  any_tensor(args, n, [&](TensorImpl& t) { return first = &t, true; });
  if (!first) return call_above_autocast<false>(op, args, n, r);
  std::optional<ReplacedArguments> given;
  Autocasting to(op, *first, !interpreter_calls.functions_are_seen());
  if (to && to.promotes() &&
      any_tensor(args, n, [&](TensorImpl& t) { return t.dtype() == DType::f32 && to.castable(t); }))
    to.widen();
  if (to)
    given.emplace(args, n,
        [&](TensorImpl& t, bool whole) { return whole && to.leaves_alone(t) ? Tensor() : to.cast(Tensor(&t)); });
  call_above_autocast<false>(op, given ? given->data() : args, n, r);
  if (given) r.own();
}

template <bool hot> [[gnu::always_inline]] inline void call_with_modes(Operator& op, Value* args, size_t n, Result& r) {
  if (op.traits->autocast != CastPolicy::none && any_autocast()) return call_with_autocast(op, args, n, r);
  call_above_autocast<hot>(op, args, n, r);
}

}  // namespace

void call_below_modes(Operator& op, Value* args, size_t n, Result& r) { call_with_history(op, args, n, r); }

void call_operator(Operator& op, Value* args, size_t n, Result& r) {
  if (__builtin_expect(!profile::on, 1)) return call_with_modes<true>(op, args, n, r);
  profile::Call call(op.schema.qualified());
  for (size_t i = 0; profile::with_shapes && i < n; ++i) {
    call.argument(args[i].is_tensor());
    each_tensor(args + i, 1, [&](TensorImpl& t) { call.tensor(t); });
  }
  call_with_modes<false>(op, args, n, r);
  if (TensorImpl* t = r.tensor()) call.gave(*t);
}

}  // namespace shim
