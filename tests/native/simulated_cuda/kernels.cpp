// The matrix products' kernels of native/src/cuda/kernels on the host: a block's threads are coroutines that run in turn, each to
// its next barrier. SOURCE names a file with the sources, whose inline PTX was replaced by the functions here.
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

struct Index {
  unsigned x = 0, y = 0, z = 0;
};
struct Fiber {
  ucontext_t context;
  std::vector<char> stack;
  Index index;
  bool done = false;
};
static Index threadIdx, blockIdx, blockDim, gridDim;
static ucontext_t scheduler;
static std::vector<Fiber> fibers;
static Fiber* running;
static std::function<void()> body;
static double exchanged[64][32];

// Where threads meet: the block (0), or a warp, which here is a row of threads (1 + threadIdx.y). Finished threads do not count.
struct Meeting {
  unsigned alive = 0, arrived = 0, number = 0;
};
static Meeting meetings[65];

static void open_if_complete(Meeting& m) {
  if (!m.arrived || m.arrived < m.alive) return;
  m.arrived = 0;
  ++m.number;
}

static void meet(Meeting& m) {
  const unsigned number = m.number;
  ++m.arrived;
  open_if_complete(m);
  while (m.number == number) swapcontext(&running->context, &scheduler);
}
static void meet_warp() { meet(meetings[1 + threadIdx.y]); }

static void fiber_main() {
  body();
  running->done = true;
  for (Meeting* m : {&meetings[0], &meetings[1 + running->index.y]}) {
    --m->alive;
    open_if_complete(*m);
  }
}

struct float4 {
  float x, y, z, w;
};
struct double2 {
  double x, y;
};
struct uint2 {
  unsigned x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};
#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(...)
static void __syncthreads() { meet(meetings[0]); }
static void __threadfence() {}
static float __uint_as_float(unsigned v) {
  float f;
  std::memcpy(&f, &v, 4);
  return f;
}
static unsigned atomicAdd(unsigned* p, unsigned v) { return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); }
template <class A> static A __shfl_xor_sync(unsigned, A v, int mask) {
  exchanged[threadIdx.y][threadIdx.x] = v;
  meet_warp();
  A other = A(exchanged[threadIdx.y][threadIdx.x ^ unsigned(mask)]);
  meet_warp();
  return other;
}
static float half_to_float(unsigned short v) {
  _Float16 h;
  std::memcpy(&h, &v, 2);
  return float(h);
}
static unsigned short float_to_half(float f) {
  _Float16 h = _Float16(f);
  unsigned short v;
  std::memcpy(&v, &h, 2);
  return v;
}
static unsigned short float_to_bfloat16(float f) {
  uint32_t x;
  std::memcpy(&x, &f, 4);
  return std::isnan(f) ? 0x7fff : (unsigned short)((x + 0x7fff + ((x >> 16) & 1)) >> 16);
}
using std::erf;
template <class P> static P __ldcg(const P* p) { return *p; }
template <class P> static P __ldcs(const P* p) { return *p; }
#define __expf expf
#define __fdividef(x, y) ((x) / (y))

// The tensor cores' m16n8k16 with float32 sums: every lane gives its part of A and B, and then adds its part of the result.
static unsigned operands[64][32][6];
static void tensor_core(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1);

#include SOURCE

static void tensor_core(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  unsigned(*warp)[6] = operands[threadIdx.y];
  const unsigned own[6] = {a[0], a[1], a[2], a[3], b0, b1};
  std::memcpy(warp[threadIdx.x], own, sizeof own);
  meet_warp();
  const auto number = [](unsigned word, int half) { return double(get(T(half ? word >> 16 : word & 0xffff))); };
  const int g = int(threadIdx.x) / 4, t = int(threadIdx.x) % 4;
  for (int i = 0; i < 4; ++i) {
    const int row = g + 8 * (i / 2), column = 2 * t + i % 2;
    double sum = d[i];
    for (int k = 0; k < 16; ++k) {
      const unsigned from_a = warp[(row % 8) * 4 + k % 8 / 2][row / 8 + 2 * (k / 8)],
                     from_b = warp[column * 4 + k % 8 / 2][4 + k / 8];
      sum += number(from_a, k % 2) * number(from_b, k % 2);
    }
    d[i] = float(sum);
  }
  meet_warp();
}

template <class... P, size_t... I> static void call(void (*f)(P...), void** args, std::index_sequence<I...>) {
  f(*static_cast<std::remove_reference_t<P>*>(args[I])...);
}

template <class... P>
static void run(void (*f)(P...), unsigned gx, unsigned gy, unsigned bx, unsigned by, void** args) {
  gridDim = {gx, gy, 1};
  blockDim = {bx, by, 1};
  for (blockIdx.y = 0; blockIdx.y < gy; ++blockIdx.y)
    for (blockIdx.x = 0; blockIdx.x < gx; ++blockIdx.x) {
      body = [=] { call(f, args, std::index_sequence_for<P...>()); };
      fibers.resize(bx * by);
      meetings[0] = {bx * by};
      for (unsigned y = 0; y < by; ++y) meetings[1 + y] = {bx};
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

// Copies of a kernel's arguments, for a graph's launches.
template <class... P> static void** keep(void (*)(P...), void** args) {
  void** kept = new void*[sizeof...(P) + 1];
  size_t at = 0;
  ((kept[at] = new std::decay_t<P>(*static_cast<std::decay_t<P>*>(args[at])), ++at), ...);
  return kept;
}

#define ENTRY(f) \
  if (std::strcmp(name, #f) == 0) return each(f)
template <class F> static auto with_entry(const char* name, F&& each) -> decltype(each(columns_sum)) {
  ENTRY(columns_sum);
  ENTRY(columns_relu);
  ENTRY(columns_gelu);
  ENTRY(columns_gelu_tanh);
  ENTRY(activate_relu);
  ENTRY(activate_gelu);
  ENTRY(activate_gelu_tanh);
  ENTRY(outer_product);
  ENTRY(few_rows_1);
  ENTRY(few_rows_2);
  ENTRY(skinny_8);
  ENTRY(skinny_16);
  ENTRY(skinny_backward_8);
  ENTRY(skinny_backward_16);
#if TYPE == 1 || TYPE == 2
  ENTRY(skinny_8_tall);
  ENTRY(skinny_16_tall);
#else
  ENTRY(skinny_4);
  ENTRY(skinny_backward_4);
#endif
  return {};
}
extern "C" void simulated_launch(const char* name, unsigned gx, unsigned gy, unsigned bx, unsigned by, void** args) {
  with_entry(name, [&](auto f) { return run(f, gx, gy, bx, by, args), 0; });
}
extern "C" void** simulated_keep(const char* name, void** args) {
  return with_entry(name, [&](auto f) { return keep(f, args); });
}
