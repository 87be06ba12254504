// In-place operators, derived from the functional one.
#include <algorithm>
#include <span>

#include "autograd/forward_mode.h"
#include "dispatch/call.h"
#include "dispatch/handlers.h"
#include "ops/out_dtype.h"
#include "ops/output.h"

namespace shim {
namespace {

// Whether a formula that will run names `self`: one of its inputs wants a gradient.
bool saves_self(const Operator& op, const Value* args) {
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

// The arguments with another tensor in the place of the first, unless that is null.
std::vector<Value> with_self(const Value* args, size_t n, const Tensor& self) {
  std::vector<Value> given(args, args + n);
  if (self) given[0] = tensor_value(self);
  return given;
}

// The functional operator on what self was, copied into self; what its parts save is not what is written to.
void composite_inplace(Operator& op, Value* args, size_t n, Result& r) {
  const Tensor target(args[0].t);
  Tensor before;
  if (wants_history(args, n)) {
    check_inplace(target);
    before = before_write(target);
  }
  std::vector<Value> given = with_self(args, n, before);
  Result result;
  run_functional(*op.functional, given.data(), n, result);
  if (result.tensor()) check_inplace_result(*op.functional, *result.tensor(), *target);
  CHECK(Kind::Type, result.tensor(), op.schema.qualified(), ": the functional result is not a tensor");
  copy_by_operator(target, Tensor(result.tensor()));
  r.give_argument(target.get());
}

// __torch_dispatch__ writes; versions and history are still ours.
void dispatch_inplace(Operator& op, Value* args, size_t n, Result& r) {
  Operator& f = *op.functional;
  const Tensor target(args[0].t);
  const bool history = wants_history(args, n);
  if (history || target->is_inference) check_inplace(target);
  Tensor before;
  if (history && saves_self(f, args)) before = clone_by_operator(target);
  const uint32_t version = target->version();
  Result unused;
  call_handlers(op, args, n, unused);
  if (target->version() == version) target->bump_version();
  r.give_argument(target.get());
  if (history && f.kind != Operator::Composite)
    record_history(f, with_self(args, n, before).data(), n, r.answer, true, {});
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

bool given_again(const TensorImpl& target, const Value* args, size_t n) {
  return std::any_of(args + 1, args + n,
      [&](const Value& v) { return v.is_tensor() && (v.t == &target || v.t->storage() == target.storage()); });
}

// Computes and writes. Natives write in one pass, where no history is wanted; else the functional operator's result is written.
void write_inplace(Operator& op, Value* args, size_t n, const Tensor& target, bool history, bool apart) {
  Operator& f = *op.functional;
  if (!history && !apart) {
    HeldAnswer written;
    if (run_kernels(op, args, written)) return target->bump_version();
  }
  Result result;
  try {
    NoGrad off;
    run_functional(f, args, n, result);
  } catch (...) {
    check_before_kernel(f, args, n, *target, true);
    throw;
  }
  TensorImpl* value = result.tensor();
  CHECK(Kind::Type, value, op.schema.qualified(), ": the functional result is not a tensor");
  check_inplace_result(f, *value, *target);
  if (value == target.get())
    target->bump_version();  // a native kernel wrote it already
  else
    write_result(target, Tensor(value));
}

}  // namespace

constinit thread_local int own_bodies = 0;

void check_before_kernel(const Operator& f, const Value* args, size_t n, const TensorImpl& target, bool in_place) {
  const DType lacking = interpreter_calls.lacking_dtype();
  if (lacking == DType::undefined) return;
  Dims sizes;
  for (const Value& v : std::span(args, in_place ? n : 0))
    if (v.is_tensor()) sizes = broadcast_shapes(sizes, v.t->sizes());
  CHECK(Kind::Runtime, !in_place || std::ranges::equal(sizes, target.sizes()), "output with shape ",
      bracketed(target.sizes()), " doesn't match the broadcast shape ", bracketed(sizes));
  check_result_cast(f, lacking, target.dtype());
}

void run_inplace(Operator& op, Value* args, size_t n, Result& r) {
  Operator& f = *op.functional;
  CHECK(Kind::Type, args[0].is_tensor(), op.schema.qualified(), " writes to a tensor");
  if (__builtin_expect(gradient_transforms, 0)) check_captured(op, *args[0].t);
  const bool tangents = __builtin_expect(forward_gradients(), 0) && any_tangent(args, n);
  if (__builtin_expect(python_dispatch, 0) && !tangents && wants_dispatch(args, n))
    return dispatch_inplace(op, args, n, r);
  if (f.kind == Operator::Composite) return composite_inplace(op, args, n, r);
  const Tensor target(args[0].t);
  const bool apart =
      any_math_bits(args, n) && !op.traits->reads_math_bits;  // computed of copies, then written through the bits
  const bool history = wants_history(args, n);
  if (!tangents && (history || target->is_inference)) check_inplace(target);
  if (!apart) check_overlaps(*target, f, args + 1, n - 1);
  check_same_device(op, args, n);
  if (tangents) return run_inplace_with_tangents(op, args, n, history, r);
  CHECK(Kind::Runtime, !is_complex(target->dtype()) || f.schema.name != "abs",
      "In-place abs is not supported for complex tensors.");
  Tensor before;
  if (history && saves_self(f, args)) before = before_write(target);
  std::vector<Value> saved;
  if (history) saved = with_self(args, n, before);
  Ref<Node> prepared;  // x.mul_(x) saves the x that it writes over: backward then sees that it changed
  if (history && given_again(*target, args, n)) prepared = prepare_history(f, saved.data(), n);
  if (__builtin_expect(tracing && !apart, 0))
    traced_calls.write(op, args, n,
        [&](bool deferred) { deferred ? target->bump_version() : write_inplace(op, args, n, target, history, apart); });
  else
    write_inplace(op, args, n, target, history, apart);
  r.give_argument(target.get());
  if (history) record_history(f, saved.data(), n, r.answer, true, prepared);
}

}  // namespace shim
