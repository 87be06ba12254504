#pragma once
// Calls of operators from compiled code, with values. Needs the GIL.
#include "autograd/direct_call.h"
#include "ops/answer.h"
#include "python/dispatch.h"
#include "python/owned_ref.h"
#include "python/values.h"

namespace shim {

// Whether something that only Python knows of has a say in a call; else kernels answer without an object of Python's.
bool python_has_a_say(const Operator&, const Value* args);
void bind_values(const Operator&, const Value* args, Bound&);  // as Python's bound arguments

// Calls it with a value an argument; take(result, lent).
template <class Take> void call_values(Operator& op, Value* args, Take&& take) {
  const size_t n = op.schema.args.size();
  for (Value& v : std::span(args, n))
    if (v.tag == Value::tensors) v.tag = Value::list;
  if (HeldAnswer answer; !python_has_a_say(op, args) && call_directly(op, args, n, answer)) {
    ValueRoom room;
    return take(value_of(answer, room));
  }
  Bound b;
  bind_values(op, args, b);
  const OwnedRef result = owned(call_operator(op, b));
  Values held;
  take(held.of(result));
}

}  // namespace shim
