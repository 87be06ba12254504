#pragma once
// What kernels call: loops, atomics of every element type, shuffles within a warp.
#include <shim/cuda.h>

#define C10_WARP_SIZE 32
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(a) __launch_bounds__(a)
#define C10_LAUNCH_BOUNDS_2(a, b) __launch_bounds__(a, b)
#define CUDA_KERNEL_ASSERT(condition) assert(condition)
#define CUDA_KERNEL_LOOP_TYPE(i, n, index_type)                                                                \
  for (int64_t i##_shim_at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, i##_shim_once = 1; i##_shim_once; \
      i##_shim_once = 0)                                                                                       \
    for (index_type i = index_type(i##_shim_at); i##_shim_at < (n);                                            \
        i##_shim_at += int64_t(blockDim.x) * gridDim.x, i = index_type(i##_shim_at))
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)

namespace at {
namespace cuda {
namespace detail {
constexpr int CUDA_NUM_THREADS = 1024;
inline int GET_BLOCKS(int64_t n, int64_t threads = CUDA_NUM_THREADS) {
  TORCH_INTERNAL_ASSERT(n > 0, "CUDA kernel launch blocks must be positive, but got N=", n);
  const int64_t blocks = (n - 1) / threads + 1;
  TORCH_INTERNAL_ASSERT(blocks <= std::numeric_limits<int>::max(), "Can't schedule too many blocks on CUDA device");
  return int(blocks);
}
}  // namespace detail
}  // namespace cuda
}  // namespace at

#if defined(__CUDACC__)
namespace shim {
// Of types that the hardware has no addition of: compare and swap of the word that they lie in. What was there before.
template <class T, class F> __device__ T changed_atomically(T* address, F&& change) {
  static_assert(sizeof(T) <= 8);
  if constexpr (sizeof(T) >= 4) {
    using Word = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
    auto* word = reinterpret_cast<Word*>(address);
    Word old = *word, seen;
    do {
      seen = old;
      T now;
      memcpy(&now, &seen, sizeof(T));
      now = change(now);
      Word wanted;
      memcpy(&wanted, &now, sizeof(T));
      old = atomicCAS(word, seen, wanted);
    } while (seen != old);
    T before;
    memcpy(&before, &old, sizeof(T));
    return before;
  } else {
    const size_t shift = (reinterpret_cast<size_t>(address) & 3) * 8;
    auto* word = reinterpret_cast<unsigned*>(reinterpret_cast<size_t>(address) & ~size_t(3));
    const unsigned mask = (sizeof(T) == 1 ? 0xffu : 0xffffu) << shift;
    unsigned old = *word, seen;
    T now;
    do {
      seen = old;
      const unsigned bits = (seen & mask) >> shift;
      memcpy(&now, &bits, sizeof(T));
      const T next = change(now);
      unsigned wanted = 0;
      memcpy(&wanted, &next, sizeof(T));
      old = atomicCAS(word, seen, (seen & ~mask) | (wanted << shift));
    } while (seen != old);
    return now;
  }
}
}  // namespace shim

template <class T> __device__ inline T gpuAtomicAdd(T* address, T value) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int> ||
                std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long>)
    return atomicAdd(address, value);
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
    return T(atomicAdd(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value)));
  else if constexpr (std::is_same_v<T, bool>)
    return shim::changed_atomically(address, [&](T was) { return was || value; });
  else if constexpr (std::is_same_v<T, c10::Half>)
    return atomicAdd(reinterpret_cast<__half*>(address), __half(__ushort_as_half(value.x)));
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  else if constexpr (std::is_same_v<T, c10::BFloat16>)
    return atomicAdd(reinterpret_cast<__nv_bfloat16*>(address), __ushort_as_bfloat16(value.x));
#endif
  else
    return shim::changed_atomically(address, [&](T was) { return T(was + value); });
}
template <class T> __device__ inline void gpuAtomicAdd(c10::complex<T>* address, c10::complex<T> value) {
  gpuAtomicAdd(&address->real_, value.real_);
  gpuAtomicAdd(&address->imag_, value.imag_);
}
template <class T> __device__ inline void gpuAtomicAddNoReturn(T* address, T value) { gpuAtomicAdd(address, value); }
template <class T> __device__ inline T gpuAtomicMul(T* address, T value) {
  return shim::changed_atomically(address, [&](T was) { return T(was * value); });
}
template <class T> __device__ inline T gpuAtomicMax(T* address, T value) {  // a NaN stays
  return shim::changed_atomically(address, [&](T was) { return was != was || was > value ? was : value; });
}
template <class T> __device__ inline T gpuAtomicMin(T* address, T value) {
  return shim::changed_atomically(address, [&](T was) { return was != was || was < value ? was : value; });
}
// Sources call these by CUDA's name for our types too.
__device__ inline c10::Half atomicAdd(c10::Half* address, c10::Half value) { return gpuAtomicAdd(address, value); }
__device__ inline c10::BFloat16 atomicAdd(c10::BFloat16* a, c10::BFloat16 value) { return gpuAtomicAdd(a, value); }
__device__ inline int64_t atomicAdd(int64_t* address, int64_t value) { return gpuAtomicAdd(address, value); }

namespace shim {
template <class T, class F> __device__ T shuffled(T v, F&& f) {  // our types by their bits
  if constexpr (std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>)
    return T(uint16_t(f(unsigned(v.x))), T::from_bits());
  else
    return f(v);
}
}  // namespace shim
#define SHIM_SHUFFLE(name, shuffle, by)                                                                       \
  template <class T> __device__ inline T name(T v, by n, int width = warpSize, unsigned mask = 0xffffffffu) { \
    return shim::shuffled(v, [=](auto bits) { return shuffle(mask, bits, n, width); });                       \
  }
SHIM_SHUFFLE(WARP_SHFL, __shfl_sync, int)
SHIM_SHUFFLE(WARP_SHFL_XOR, __shfl_xor_sync, int)
SHIM_SHUFFLE(WARP_SHFL_UP, __shfl_up_sync, unsigned)
SHIM_SHUFFLE(WARP_SHFL_DOWN, __shfl_down_sync, unsigned)
#undef SHIM_SHUFFLE
__device__ inline unsigned WARP_BALLOT(int predicate, unsigned mask = 0xffffffff) {
  return __ballot_sync(mask, predicate);
}
__device__ inline int getLaneId() {
  int lane;
  asm("mov.s32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
#endif
