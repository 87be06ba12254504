#pragma once
// Calls of operators from compiled code, with values.
#include <span>

#include "dispatch/call.h"
#include "ops/interpreter_function.h"

namespace shim {

// Calls it with a value an argument; take(result, lent).
template <class Take> void call_values(Operator& op, Value* args, Take&& take) {
  const size_t n = op.schema.args.size();
  for (Value& v : std::span(args, n))
    if (v.tag == Value::tensors) v.tag = Value::list;
  Result r;
  call_operator(op, args, n, r);
  if (r.object()) return interpreter_functions.see(r.object(), take);
  ValueRoom room;
  take(value_of(r.answer, room));
}

}  // namespace shim
