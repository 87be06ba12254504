#pragma once
// A small pool of threads for large pointwise work and reductions.
#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/interpreter_lock.h"

namespace shim {

constexpr int64_t kGrain = 32768;  // elements a thread is worth waking for
// Asked first by a thread that we start. False: there is no memory for its thread-local variables, of which the first one that it
// uses would end the process.
bool thread_locals_fit();
int num_threads();
void set_num_threads(int n);
// f(begin, end), lent for one call.
class RangeFunction {
 public:
  template <class F>
  RangeFunction(const F& f)
      : it_(&f), call_([](const void* it, int64_t begin, int64_t end) { (*static_cast<const F*>(it))(begin, end); }) {}
  void operator()(int64_t begin, int64_t end) const { call_(it_, begin, end); }

 private:
  const void* it_;
  void (*call_)(const void*, int64_t, int64_t);
};
// Calls f(begin, end) over disjoint ranges that cover [0, n); on the calling thread alone where n is less than two grains.
void parallel_for(int64_t n, int64_t grain, RangeFunction f);
// f(), without the interpreter's lock where the work of so many elements is worth letting go of it.
template <class F> auto unlocked(int64_t elements, F&& f) {
  if (elements < 2 * kGrain) return f();
  Unlocked others_run;
  return f();
}
// The same to the end of a scope.
class UnlockedWork {
 public:
  explicit UnlockedWork(int64_t elements) {
    if (elements >= 2 * kGrain) others_run_.emplace();
  }

 private:
  std::optional<Unlocked> others_run_;
};
// f(i) for all i in [0, n), each the work of `work` elements.
template <class F> void parallel_each(int64_t n, int64_t work, F&& f) {
  parallel_for(n, std::max<int64_t>(1, kGrain / std::max<int64_t>(work, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

}  // namespace shim
