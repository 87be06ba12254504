// The CUDA sources of native/src/gemm/kernels_source.h on the host: a block's threads are threads, its barrier a barrier.
// SOURCE names a file with the sources, whose inline PTX was replaced by the two functions here.
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

struct Index { unsigned x = 0, y = 0, z = 0; };
static thread_local Index threadIdx;
static Index blockIdx, blockDim, gridDim;
static std::unique_ptr<std::barrier<>> block_barrier;
static std::vector<std::unique_ptr<std::barrier<>>> warp_barriers;
static double exchanged[64][32];

#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(n)
static void __syncthreads() { block_barrier->arrive_and_wait(); }
static void __threadfence() {}
static float __uint_as_float(unsigned v) { float f; std::memcpy(&f, &v, 4); return f; }
static unsigned atomicAdd(unsigned* p, unsigned v) { return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); }
template <class A> static A __shfl_xor_sync(unsigned, A v, int mask) {
  auto& barrier = *warp_barriers[threadIdx.y];
  exchanged[threadIdx.y][threadIdx.x] = v;
  barrier.arrive_and_wait();
  A other = A(exchanged[threadIdx.y][threadIdx.x ^ unsigned(mask)]);
  barrier.arrive_and_wait();
  return other;
}
static float half_to_float(unsigned short v) { _Float16 h; std::memcpy(&h, &v, 2); return float(h); }
static unsigned short float_to_half(float f) { _Float16 h = _Float16(f); unsigned short v; std::memcpy(&v, &h, 2); return v; }
static unsigned short float_to_bfloat16(float f) {
  uint32_t x;
  std::memcpy(&x, &f, 4);
  return std::isnan(f) ? 0x7fff : (unsigned short)((x + 0x7fff + ((x >> 16) & 1)) >> 16);
}
using std::erf;

#include SOURCE

template <class... P, size_t... I>
static void call(void (*f)(P...), void** args, std::index_sequence<I...>) { f(*static_cast<std::remove_reference_t<P>*>(args[I])...); }

template <class... P>
static void run(void (*f)(P...), unsigned gx, unsigned gy, unsigned bx, unsigned by, void** args) {
  gridDim = {gx, gy, 1};
  blockDim = {bx, by, 1};
  for (blockIdx.y = 0; blockIdx.y < gy; ++blockIdx.y)
    for (blockIdx.x = 0; blockIdx.x < gx; ++blockIdx.x) {
      block_barrier = std::make_unique<std::barrier<>>(bx * by);
      warp_barriers.clear();
      for (unsigned w = 0; w < by; ++w) warp_barriers.push_back(std::make_unique<std::barrier<>>(bx));
      std::vector<std::thread> threads;
      for (unsigned y = 0; y < by; ++y)
        for (unsigned x = 0; x < bx; ++x)
          threads.emplace_back([=] {
            threadIdx = {x, y, 0};
            call(f, args, std::index_sequence_for<P...>());
          });
      for (auto& t : threads) t.join();
    }
}

#define ENTRY(f) if (std::strcmp(name, #f) == 0) return run(f, gx, gy, bx, by, args);
extern "C" void simulated_launch(const char* name, unsigned gx, unsigned gy, unsigned bx, unsigned by, void** args) {
  ENTRY(columns_sum) ENTRY(columns_relu) ENTRY(columns_gelu) ENTRY(columns_gelu_tanh)
  ENTRY(activate_relu) ENTRY(activate_gelu) ENTRY(activate_gelu_tanh)
  ENTRY(few_rows_1) ENTRY(few_rows_2) ENTRY(few_rows_4) ENTRY(few_rows_8) ENTRY(few_rows_16)
}
