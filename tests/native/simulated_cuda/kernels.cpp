// The CUDA sources of native/src/gemm/kernels_source.h on the host: a block's threads are coroutines that run in turn, each to
// its next barrier. SOURCE names a file with the sources, whose inline PTX was replaced by the functions here.
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

struct Index { unsigned x = 0, y = 0, z = 0; };
struct Fiber { ucontext_t context; std::vector<char> stack; Index index; bool done = false; };
static Index threadIdx, blockIdx, blockDim, gridDim;
static ucontext_t scheduler;
static std::vector<Fiber> fibers;
static Fiber* running;
static std::function<void()> body;
static double exchanged[64][32];

static void wait_for_others() { swapcontext(&running->context, &scheduler); }
static void fiber_main() {
  body();
  running->done = true;
}

#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(n)
static void __syncthreads() { wait_for_others(); }
static void __threadfence() {}
static float __uint_as_float(unsigned v) { float f; std::memcpy(&f, &v, 4); return f; }
static unsigned atomicAdd(unsigned* p, unsigned v) { return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); }
template <class A> static A __shfl_xor_sync(unsigned, A v, int mask) {
  exchanged[threadIdx.y][threadIdx.x] = v;
  wait_for_others();
  A other = A(exchanged[threadIdx.y][threadIdx.x ^ unsigned(mask)]);
  wait_for_others();
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
      body = [=] { call(f, args, std::index_sequence_for<P...>()); };
      fibers.resize(bx * by);
      for (unsigned i = 0; i < bx * by; ++i) {
        Fiber& fiber = fibers[i];
        fiber.stack.resize(32768);
        fiber.index = {i % bx, i / bx, 0};
        fiber.done = false;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        fiber.context.uc_link = &scheduler;
        makecontext(&fiber.context, fiber_main, 0);
      }
      for (bool left = true; left;) {
        left = false;
        for (Fiber& fiber : fibers) {
          if (fiber.done) continue;
          running = &fiber;
          threadIdx = fiber.index;
          swapcontext(&scheduler, &fiber.context);
          left = left || !fiber.done;
        }
      }
    }
}

#define ENTRY(f) if (std::strcmp(name, #f) == 0) return run(f, gx, gy, bx, by, args);
extern "C" void simulated_launch(const char* name, unsigned gx, unsigned gy, unsigned bx, unsigned by, void** args) {
  ENTRY(columns_sum) ENTRY(columns_relu) ENTRY(columns_gelu) ENTRY(columns_gelu_tanh)
  ENTRY(activate_relu) ENTRY(activate_gelu) ENTRY(activate_gelu_tanh)
  ENTRY(few_rows_1) ENTRY(few_rows_2) ENTRY(few_rows_4) ENTRY(few_rows_8) ENTRY(few_rows_16)
}
