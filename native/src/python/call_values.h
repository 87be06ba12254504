#pragma once
// Calls of operators from compiled code, with values. Needs the GIL.
#include <span>

#include "python/dispatch.h"
#include "python/lent_objects.h"

namespace shim {

// Calls it with a value an argument; take(result, lent).
template <class Take> void call_values(Operator& op, Value* args, Take&& take) {
  const size_t n = op.schema.args.size();
  for (Value& v : std::span(args, n))
    if (v.tag == Value::tensors) v.tag = Value::list;
  Result r;
  call_operator(op, args, n, r);
  ValueRoom room;
  Values held;
  take(r.object() ? held.of(object_in(r)) : value_of(r.answer, room));
}

}  // namespace shim
