// Calls of operators with arguments that carry tangents (autograd/forward_mode.h).
#include <functional>

#include "autograd/attributes.h"
#include "autograd/forward_mode.h"
#include "dispatch/call.h"
#include "dispatch/replaced_arguments.h"
#include "ops/output.h"

namespace shim {

namespace {

// Where history is recorded, it leads through the stand-in to the tensor.
Tensor stand_in(TensorImpl& tensor, Primals& primals) {
  const Tensor t(&tensor), tangent = tangent_of(tensor);
  if (!tangent) return {};
  Tensor fresh;
  if (t->requires_grad()) {
    fresh = view_by_operator(t);
  } else {
    fresh = detach(t);
    fresh->ensure_autograd().requires_grad = true;
  }
  primals.tensors.push_back(fresh);
  primals.tangents.push_back(tangent);
  return fresh;
}

// Runs an operator on stand-ins for the arguments and gives its results their tangents.
void run_with_tangents(Operator& op, const Value* args, size_t n, Result& r) {
  NoForwardGradients off;
  const bool history = wants_history(args, n);
  WithGrad mode;
  Primals primals;
  ReplacedArguments given(args, n, [&](TensorImpl& t, bool) { return stand_in(t, primals); });
  const std::vector<Edge> edges = edges_of(primals.tensors);  // before an operator writes to one
  op.kind == Operator::Composite ? run_functional(op, given.data(), n, r) : run_recorded(op, given.data(), n, r);
  std::vector<Tensor> outputs;
  each_tensor(r.answer, [&](TensorImpl& t) {
    if (can_have_grad(t) && t.requires_grad()) outputs.emplace_back(&t);
  });
  give_tangents(outputs, edges, primals, history);
  r.own();
}

// A view's results get the same views of the tangent; false where the tangent does not lie as the tensor does.
bool view_of_tangent(Operator& op, const Value* args, size_t n, const Answer& result) {
  const Tensor tangent = tangent_of(*args[0].t);
  if (!tangent || !tangent_lies_as(*args[0].t, tangent)) return false;
  std::vector<Value> given(args, args + n);
  given[0] = tensor_value(tangent);
  Result parts;
  run_recorded(op, given.data(), n, parts);
  std::vector<Tensor> results, tangents;
  each_tensor(result, [&](TensorImpl& t) { results.emplace_back(&t); });
  each_tensor(parts.answer, [&](TensorImpl& t) { tangents.emplace_back(&t); });
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

// A tensor whose values a Python class holds takes those of a result, without its tangent.
void take_value(const Tensor& self, const Tensor& result) {
  NoForwardGradients off;
  NoGrad no_grad;
  engine_ops().copy_(self, result);
}

}  // namespace

bool any_tangent(const Value* args, size_t n) {
  return any_tensor(args, n, [](TensorImpl& t) { return bool(tangent_of(t)); });
}

void check_forward_mode(const Operator& op, const Value* args, size_t n) {
  const char* name = op.traits->forward_error_name;
  CHECK(Kind::NotImplemented, !name || !any_tangent(args, n), no_forward_formula(name));
}

void call_with_tangents(Operator& op, Value* args, size_t n, Result& r) {
  if (op.kind == Operator::View && n > 0 && args[0].is_tensor()) {
    NoForwardGradients off;
    run_recorded(op, args, n, r);
    if (r.tensor() == args[0].t || view_of_tangent(op, args, n, r.answer)) return;
    r.clear();
  }
  try {
    run_with_tangents(op, args, n, r);
  } catch (...) {
    if (!interpreter_calls.not_implemented().starts_with("the derivative for '")) throw;
    throw Error(Kind::NotImplemented, no_forward_formula(op.schema.name));
  }
}

// The tangent of what is written is that of the functional operator. With a history it has one too, and what the backward
// saves has tangents: forward over reverse.
void run_inplace_with_tangents(Operator& op, Value* args, size_t n, bool history, Result& r) {
  Operator& f = *op.functional;
  const Tensor target(args[0].t);
  std::vector<Value> given(args, args + n);
  Tensor scratch, before;
  if (&f == &op) {  // copy_, fill_: there is no form that leaves the target alone
    scratch = empty_strided(target->sizes(), target->strides(), target->dtype(), target->device());
    given[0] = tensor_value(scratch);
  }
  const bool flows = any_tangent(given.data(), n);
  for (Value& v : given) {  // the tangent's history needs the values that are written over
    if (!flows || !history || !v.is_tensor() || v.t != target.get()) continue;
    if (!before) before = clone_by_operator(target);
    v = tensor_value(before);
  }
  Result result;
  if (flows)
    call_with_tangents(f, given.data(), n, result);
  else if (!history)
    run_functional(f, args, n, result);
  const Tensor tangent = flows ? tangent_of(*result.tensor()) : Tensor();
  r.give_argument(target.get());
  if (history) {
    NoForwardGradients off;
    Result written;
    run_inplace(op, args, n, written);
    write_tangent(target, tangent);
    const AutogradMeta* m = target->autograd();
    if (m && m->grad_fn && tangent) m->grad_fn->give_tangent(m->output_nr, tangent, forward_level());
    return;
  }
  if (!flows) {
    target->bump_version();
  } else {
    if (target->is_inference) check_inplace(target);
    const Tensor value(result.tensor());
    has_data(*target) && has_data(*value) ? write_result(target, value) : take_value(target, value);
  }
  write_tangent(target, tangent);
}

}  // namespace shim
