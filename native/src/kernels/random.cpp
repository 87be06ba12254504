// Kernels of the operators in records/random.
#include "cpu/random_kernels.h"
#include "kernels/call.h"
#include "kernels/registry.h"
#include "kernels/option_parameters.h"

namespace shim {
namespace {

// What factories are told, in the order of their schemas.
using Type = std::optional<DType>;
using Order = std::optional<Layout>;
using Place = std::optional<Device>;
using Pinned = std::optional<bool>;
using Format = std::optional<MemoryFormat>;

// f(numbers of the default generator), which stays alive meanwhile.
template <class F> Outcome<Tensor> by_default_generator(F&& f) {
  const GeneratorLease source(nullptr);
  if (!source) return NotMine{"no default generator"};
  return f(*source);
}

Outcome<Tensor> rand(IntArrayRef sizes, Mersenne& s, Type dtype, Order layout, Place, Pinned pinned) {
  return new_uniform(sizes, s, {dtype, layout, pinned});
}
Outcome<Tensor> randn(IntArrayRef sizes, Mersenne& s, Type dtype, Order layout, Place, Pinned pinned) {
  return new_normal(0, 1, sizes, s, {dtype, layout, pinned});
}
Outcome<Tensor> normal_of_size(
    double mean, double deviation, IntArrayRef sizes, Mersenne& s, Type dtype, Order layout, Place, Pinned pinned) {
  return new_normal(mean, deviation, sizes, s, {dtype, layout, pinned});
}
Outcome<Tensor> randint_from(
    int64_t low, int64_t high, IntArrayRef sizes, Mersenne& s, Type dtype, Order layout, Place, Pinned pinned) {
  return new_integers(low, high, sizes, s, {dtype, layout, pinned});
}
Outcome<Tensor> randint_to(
    int64_t high, IntArrayRef sizes, Mersenne& s, Type dtype, Order layout, Place, Pinned pinned) {
  return new_integers(0, high, sizes, s, {dtype, layout, pinned});
}
Outcome<Tensor> randperm(int64_t n, Mersenne& s, Type dtype, Order layout, Place, Pinned pinned) {
  return new_permutation(n, s, {dtype, layout, pinned});
}
template <bool normal>
Outcome<Tensor> rand_like(const Tensor& self, Type dtype, Order layout, Place, Pinned pinned, Format format) {
  return by_default_generator([&](Mersenne& s) {
    const RandomOptions options{dtype, layout, pinned, format};
    return normal ? normal_like(self, s, options) : uniform_like(self, s, options);
  });
}
Outcome<Tensor> randint_like_from(
    const Tensor& self, int64_t low, int64_t high, Type dtype, Order layout, Place, Pinned pinned, Format format) {
  return by_default_generator(
      [&](Mersenne& s) { return integers_like(self, low, high, s, {dtype, layout, pinned, format}); });
}
Outcome<Tensor> randint_like_to(
    const Tensor& self, int64_t high, Type dtype, Order layout, Place place, Pinned pinned, Format format) {
  return randint_like_from(self, 0, high, dtype, layout, place, pinned, format);
}

}  // namespace

void register_random_kernels() {
  register_kernel<&uniform_, kCpu>("draw_uniform");
  register_kernel<&normal_, kCpu>("draw_normal");
  register_kernel<&exponential_, kCpu>("draw_exponential");
  register_kernel<&bernoulli_, kCpu>("draw_chance");
  register_kernel<&random_, kCpu>("draw_integer");
  register_kernel<&random_to_, kCpu>("draw_integer");
  register_kernel<&random_from_, kCpu>("draw_integer");
  register_kernel<&rand, kCpu>("rand");
  register_kernel<&randn, kCpu>("randn");
  register_kernel<&normal_of_size, kCpu>("new_normal");
  register_kernel<&randint_to, kCpu>("randint");
  register_kernel<&randint_from, kCpu>("randint");
  register_kernel<&randperm, kCpu>("randperm");
  register_kernel<&rand_like<false>, kCpu>("rand_like");
  register_kernel<&rand_like<true>, kCpu>("randn_like");
  register_kernel<&randint_like_to, kCpu>("randint_like");
  register_kernel<&randint_like_from, kCpu>("randint_like");
  register_kernel<&bernoulli, kCpu>("bernoulli");
}

}  // namespace shim
