#pragma once
// Generators of CUDA: kernels draw Philox's numbers from a seed and an offset that are reserved for them.
#include <shim/cuda.h>

namespace at {
struct PhiloxCudaState {  // by value to the kernel
  PhiloxCudaState() = default;
  PhiloxCudaState(uint64_t seed, uint64_t offset) : seed_(seed), offset_(offset) {}
  uint64_t seed_ = 0, offset_ = 0;
};
struct CUDAGeneratorImpl : c10::GeneratorImpl {
  PhiloxCudaState philox_cuda_state(uint64_t numbers) {  // 32-bit numbers a thread
    uint64_t state[2];
    shim::check(shim_cxx_generator(&cell, SHIM_PHILOX, numbers, state));
    return {state[0], state[1]};
  }
  std::pair<uint64_t, uint64_t> philox_engine_inputs(uint64_t numbers) {
    const PhiloxCudaState s = philox_cuda_state(numbers);
    return {s.seed_, s.offset_};
  }
  static DeviceType device_type() { return kCUDA; }
};
namespace cuda {
namespace detail {
inline const Generator& getDefaultCUDAGenerator(DeviceIndex i = -1) {
  static std::array<Generator, 128> known;
  static std::mutex one_at_a_time;
  OptionalLocked others_run;  // whoever has the lock may want the GIL
  std::lock_guard<std::mutex> lock(one_at_a_time);
  if (i < 0) i = current_device();
  auto& g = known.at(size_t(i));
  if (!g.defined()) {
    ShimCell c{};
    shim::check(shim_cxx_default_generator(int32_t(kCUDA), i, &c));
    g = Generator(c);
  }
  return g;
}
}  // namespace detail
namespace philox {
C10_HOST_DEVICE inline std::tuple<uint64_t, uint64_t> unpack(PhiloxCudaState s) { return {s.seed_, s.offset_}; }
}  // namespace philox
}  // namespace cuda
template <class T> T* check_generator(std::optional<Generator> g) {
  TORCH_CHECK(g.has_value(), "Expected Generator but received nullopt");
  TORCH_CHECK(g->defined(), "Generator with undefined implementation is not allowed");
  TORCH_CHECK(g->device().type() == T::device_type(), "Expected a '", T::device_type(),
      "' device type for generator but found '", g->device().type(), "'");
  return g->get<T>();
}
template <class T> T* get_generator_or_default(const std::optional<Generator>& g, const Generator& otherwise) {
  return g && g->defined() ? check_generator<T>(g) : check_generator<T>(otherwise);
}
}  // namespace at
