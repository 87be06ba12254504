#pragma once
#include <utility>

#include "autograd/recording.h"
#include "ops/operator.h"
#include "ops/result.h"

namespace shim {

struct BelowHandler {  // one runs
  bool was = std::exchange(below_handler, true);
  BelowHandler() = default;
  BelowHandler(const BelowHandler&) = delete;
  ~BelowHandler() { below_handler = was; }
};

void call_handlers(Operator&, const Value* args, size_t n, Result&);
bool show_composite(Operator&, Value* args, size_t n, Result&);  // whether handlers answered
void show_parts(Operator&, const Value* args, size_t n, Result&);
void watch_engine();  // from the first mode or class on, the engine's own operators are calls that handlers see

}  // namespace shim
