#include "cpu/joined_loops.h"

#include <string_view>

#include "cpu/binary_functors.h"
#include "cpu/kernel_table.h"

namespace shim {
namespace {

template <class F> struct Turned {
  template <class T> static T f(T a, T b) { return F::f(b, a); }
};

template <class First, class Then>
SHIM_CLONES void joined_block(const float* a, const float* b, const float* c, float* y, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = Then::f(First::f(a[i], b[i]), c[i]);
}
template <class First, class Then> void joined(char* out, const char* const* in, int64_t n) {
  const auto at = [&](int k) { return reinterpret_cast<const float*>(in[k]); };
  joined_block<First, Then>(at(0), at(1), at(2), reinterpret_cast<float*>(out), n);
}

template <class First> BlockKernel joined_with(std::string_view then, bool second) {
  if (then == "add") return joined<First, Add>;
  if (then == "mul") return joined<First, Mul>;
  if (then == "sub") return second ? joined<First, Turned<Sub>> : joined<First, Sub>;
  return nullptr;
}

}  // namespace

BlockKernel joined_loop(const char* first, const char* then, bool second) {
  const std::string_view name = first;
  if (name == "add") return joined_with<Add>(then, second);
  if (name == "sub") return joined_with<Sub>(then, second);
  return name == "mul" ? joined_with<Mul>(then, second) : nullptr;
}

}  // namespace shim
