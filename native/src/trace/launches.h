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

struct KnownLaunch {  // of a kernel that was launched before
  cuda::CompiledKernel code;
  std::vector<size_t> places;  // of its arguments' values among those of a call
  Operator* op = nullptr;      // that stands for its launches, once a compiled function had one

  Operator& as_operator(const std::function<std::string(size_t place)>& name, void* kept);  // which keeps the kernel
  void put(const Value* call, Value* to) const {
    for (size_t place : places) *to++ = call[place];
  }
};

// Once it has an operator. Deferred where the session's tree knows the launch.
void launch(Session&, KnownLaunch&, const unsigned* grid, const Value* call);
// It was launched by others; null: nothing is known of it.
void learn_launched(Session&, KnownLaunch*, const unsigned* grid, const Value* call, size_t n);

}  // namespace shim::trace
