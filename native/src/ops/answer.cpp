#include "ops/answer.h"

#include <span>

namespace shim {

void drop(Answer& a) {
  if (a.kind == Answer::tensor) a.take_tensor();
  if (a.kind == Answer::tuple || a.kind == Answer::list) {
    for (Answer& part : std::span(a.parts, size_t(a.i))) drop(part);
    a.drop_room();
  }
  a.kind = Answer::declined;
}

Value value_of(const Answer& a, ValueRoom& room) {
  switch (a.kind) {
    case Answer::declined: return {};
    case Answer::boolean: return {Value::boolean, a.i};
    case Answer::integer: return {Value::integer, a.i};
    case Answer::tuple:
    case Answer::list: {
      const auto n = size_t(a.i);
      Value* items = room.take(n);
      for (size_t k = 0; k < n; ++k) items[k] = value_of(a.parts[k], room);
      return {Value::list, uint32_t(n), items};
    }
    default: return Value(a.t);
  }
}

}  // namespace shim
