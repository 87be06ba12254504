#pragma once
// Launches of compiled kernels (cuda/compiled_kernel.h) in a compiled function: operators of its tree.
#include "cuda/compiled_kernel.h"
#include "trace/session.h"

namespace shim::trace {

struct LaunchValues {  // a launch's arguments, as its operator has them: the grid first
  Value values[cuda::kGrid + cuda::kMostParameters];
  size_t n;
  LaunchValues(const cuda::CompiledKernel& k, const unsigned* grid) : n(cuda::kGrid + k.parameters.size()) {
    for (size_t i = 0; i < cuda::kGrid; ++i) values[i] = Value(Value::integer, grid[i]);
  }
  Value* parameters() { return values + cuda::kGrid; }
};

// Why it runs at once; null: it may be deferred.
const char* against_launch(const cuda::CompiledKernel&, const LaunchValues&);
bool deferred_launch(Session&, Operator&, const LaunchValues&);
// Before it runs at once, and after that.
void before_launch(Session&, const LaunchValues&);
void learn_launch(Session&, Operator&, const char* why_at_once, const LaunchValues&);

}  // namespace shim::trace
