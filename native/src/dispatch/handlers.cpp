// What handlers (modes and classes of __torch_dispatch__) see of operators that PyTorch and we cut otherwise, and the engine's part in that.
#include "dispatch/handlers.h"

#include <algorithm>

#include "autograd/operator_node.h"
#include "core/held_object.h"
#include "dispatch/call.h"

namespace shim {

namespace {

bool makes_new(const Operator& op) {  // zeros_like, new_empty: results without a history, of an argument's kind
  const std::string_view name = op.schema.name;
  return name.starts_with("new_") || name.ends_with("_like");
}

// Whether the formulas for handlers give every gradient that is wanted.
bool shows_gradients(const Operator& op, const Value* args, size_t n) {
  if (op.shown.empty()) return false;
  for (size_t i = 0; i < n && i < op.schema.args.size(); ++i) {
    if (!any_requires_grad(args + i, 1)) continue;
    const std::string& name = op.schema.args[i].name;
    if (std::none_of(op.shown.begin(), op.shown.end(),
            [&](const Formula& f) { return std::count(f.inputs.begin(), f.inputs.end(), name) > 0; }))
      return false;
  }
  return true;
}

Operator& detach_operator() {
  static Operator& op = operator_named("aten::detach");
  return op;
}

Tensor detached(const Tensor& t) {  // as the class says
  Value self = tensor_value(t);
  Result r;
  call_handlers(detach_operator(), &self, 1, r);
  CHECK(Kind::Type, r.tensor(), "detach: __torch_dispatch__ of ", interpreter_objects.type_name(t->pyobj),
      " returned no tensor");
  count_together(*t, *r.tensor());
  return Tensor(r.tensor());
}

}  // namespace

void call_handlers(Operator& op, const Value* args, size_t n, Result& r) {
  const BelowHandler within;
  interpreter_calls.handlers(op, args, n, r);
}

// A composite of ours whose parts record history is shown to modes as it is, history and all; a subclass that wants gradients
// sees its parts. An operator of ours that is a composite in PyTorch runs as PyTorch's parts.
bool show_composite(Operator& op, Value* args, size_t n, Result& r) {
  const InterpreterCalls& ask = interpreter_calls;
  const bool has_parts = ask.has_parts(op);
  if ((!op.dispatch_leaf && !has_parts) || !wants_dispatch(args, n)) return false;
  if (forward_gradients() && any_tangent(args, n)) return false;  // its parts carry tangents on
  const bool grad = wants_history(args, n) && !makes_new(op);
  if (grad && op.dispatch_leaf && shows_gradients(op, args, n)) {  // below its history: PyTorch's backward operator
    {
      NoGrad off;
      call_handlers(op, args, n, r);
    }
    record_history(op, args, n, r.answer, false, {});
    return true;
  }
  if (grad && !ask.modes()) return false;
  // A fake mode alone makes leaves: the history is that of the parts, which are shown to it one by one.
  if (grad && ask.modes() == 1 && ask.innermost_mode_has("_makes_leaves")) return false;
  if (has_parts) return ask.parts(op, args, n, r), true;
  if (grad && ask.innermost_mode_has("_cuts_history")) return false;
  grad ? ask.handlers(op, args, n, r) : call_handlers(op, args, n, r);
  return true;
}

// What a subclass sees of an operator that PyTorch runs as others, where the operator itself records the history: those others.
void show_parts(Operator& op, const Value* args, size_t n, Result& r) {
  NoGrad off;
  interpreter_calls.parts(op, args, n, r);
  TensorImpl* given = r.tensor();
  if (!given || std::none_of(args, args + n, [&](const Value& v) { return v.is_tensor() && v.t == given; })) return;
  Value self = tensor_value(Tensor(given));  // never the argument: a history is recorded on it
  const Tensor result = call_for_tensor(detach_operator(), &self, 1);
  r.clear();
  r.give(result);
}

void watch_engine() {
  SubclassOps::detach = detached;
  SubclassOps::watched = [](const Tensor& t) {
    return (!handlers_disabled && interpreter_calls.modes()) || SubclassOps::is_special(*t);
  };
}

}  // namespace shim
