// CUDA C++ on the host: a block's threads are coroutines that run in turn, each to its next barrier. Included before one of our
// CUDA sources by compile.py, which also writes its table of kernels.
#include <dlfcn.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

struct Dim3 {
  unsigned x = 0, y = 0, z = 0;
};
enum Wait { kReady, kBlock, kWarp, kDone };
struct Fiber {
  ucontext_t context;
  std::vector<char> stack;
  Dim3 index;
  unsigned lane = 0, warp = 0;
  Wait wait = kReady;
};
static Dim3 threadIdx, blockIdx, blockDim, gridDim;
static ucontext_t scheduler;
static std::vector<Fiber> fibers;
static Fiber* running;
static std::function<void()> body;
alignas(16) static char exchanged[64][32][16];
static bool voted[64][32];

static void wait_for(Wait what) {
  running->wait = what;
  swapcontext(&running->context, &scheduler);
}
static void fiber_main() {
  body();
  running->wait = kDone;
}

#define __device__
#define __global__ extern "C"
#define __shared__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
static inline void __syncthreads() { wait_for(kBlock); }
static inline void __syncwarp(unsigned = 0) { wait_for(kWarp); }
static inline void __threadfence() {}
static inline void __threadfence_system() {}
// Not sched_yield(): beside busy processes a turn takes milliseconds.
static inline void __nanosleep(unsigned) { usleep(20); }
static bool trapped;  // the kernel is over, and so is the device
[[noreturn]] static inline void __trap() {
  reinterpret_cast<void (*)()>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "simulated_trap"))();
  trapped = true;
  setcontext(&scheduler);
  std::abort();
}
static inline float __uint_as_float(unsigned v) {
  float f;
  std::memcpy(&f, &v, 4);
  return f;
}
static inline unsigned __float_as_uint(float v) {
  unsigned f;
  std::memcpy(&f, &v, 4);
  return f;
}
static inline float __int_as_float(int v) {
  float f;
  std::memcpy(&f, &v, 4);
  return f;
}
static inline int __float_as_int(float v) {
  int f;
  std::memcpy(&f, &v, 4);
  return f;
}
static inline double __longlong_as_double(long long v) {
  double f;
  std::memcpy(&f, &v, 8);
  return f;
}
static inline long long __double_as_longlong(double v) {
  long long f;
  std::memcpy(&f, &v, 8);
  return f;
}
static inline float __fmul_rn(float a, float b) {
  volatile float r = a * b;
  return r;
}
static inline float __fadd_rn(float a, float b) {
  volatile float r = a + b;
  return r;
}
static inline double __dmul_rn(double a, double b) {
  volatile double r = a * b;
  return r;
}
static inline double __dadd_rn(double a, double b) {
  volatile double r = a + b;
  return r;
}
static inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __clz(unsigned v) { return v ? __builtin_clz(v) : 32; }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline void sincospif(float x, float* s, float* c) {
  *s = float(std::sin(M_PI * double(x)));
  *c = float(std::cos(M_PI * double(x)));
}
static inline void sincospi(double x, double* s, double* c) {
  *s = std::sin(M_PI * x);
  *c = std::cos(M_PI * x);
}
static inline float __fdividef(float a, float b) { return a / b; }
static inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
static inline float rsqrt(float x) { return 1.0f / std::sqrt(x); }
static inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
using std::abs;
using std::ceil;
using std::copysign;
using std::erf;
using std::exp;
using std::fabs;
using std::floor;
using std::fmod;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::log;
using std::max;
using std::min;
using std::nearbyint;
using std::pow;
using std::signbit;
using std::sqrt;
using std::tanh;
using std::trunc;
template <class A> static A shuffled(A v, unsigned from, bool in) {
  std::memcpy(exchanged[running->warp][running->lane], &v, sizeof v);
  wait_for(kWarp);
  A other;
  std::memcpy(&other, exchanged[running->warp][in ? from : running->lane], sizeof v);
  wait_for(kWarp);
  return other;
}
template <class A> static A __shfl_xor_sync(unsigned, A v, int mask) {
  return shuffled(v, running->lane ^ unsigned(mask), true);
}
template <class A> static A __shfl_sync(unsigned, A v, int from) { return shuffled(v, unsigned(from) & 31, true); }
template <class A> static A __shfl_up_sync(unsigned, A v, unsigned n) {
  return shuffled(v, running->lane - n, running->lane >= n);
}
template <class A> static A __shfl_down_sync(unsigned, A v, unsigned n) {
  return shuffled(v, running->lane + n, running->lane + n < 32);
}
static inline unsigned __ballot_sync(unsigned, int yes) {
  voted[running->warp][running->lane] = yes;
  wait_for(kWarp);
  unsigned bits = 0;
  for (unsigned i = 0; i < 32; ++i) bits |= unsigned(voted[running->warp][i]) << i;
  wait_for(kWarp);
  return bits;
}
static int block_votes, block_votes_seen;
static inline int __syncthreads_count(int yes) {
  if (!block_votes_seen++) block_votes = 0;
  block_votes += yes != 0;
  __syncthreads();
  const int n = block_votes;
  block_votes_seen = 0;
  __syncthreads();
  return n;
}
static inline int __syncthreads_or(int yes) { return __syncthreads_count(yes) != 0; }
template <class T> static T atomicAdd(T* p, T v) {
  T old = *p;
  *p = T(old + v);
  return old;
}
static inline float half_to_float(unsigned short v) {
  _Float16 h;
  std::memcpy(&h, &v, 2);
  return float(h);
}
static inline unsigned short float_to_half(float f) {
  _Float16 h = _Float16(f);
  unsigned short v;
  std::memcpy(&v, &h, 2);
  return v;
}
template <class T> static T atomicMin(T* p, T v) {
  T old = *p;
  if (v < old) *p = v;
  return old;
}
template <class T> static T atomicOr(T* p, T v) {
  T old = *p;
  *p = T(old | v);
  return old;
}
template <class T> static T atomicCAS(T* p, T compare, T value) {
  T old = *p;
  if (old == compare) *p = value;
  return old;
}
template <class T> static T atomicCAS_system(T* p, T compare, T value) { return atomicCAS(p, compare, value); }

template <class... Given, size_t... I> static void call(void (*f)(Given...), void** args, std::index_sequence<I...>) {
  f(*static_cast<std::remove_reference_t<Given>*>(args[I])...);
}

static void release(Wait what, unsigned warp) {
  for (Fiber& f : fibers)
    if (f.wait == what && (what == kBlock || f.warp == warp)) f.wait = kReady;
}

static void run_block() {
  const unsigned warps = unsigned(fibers.size() + 31) / 32;
  for (;;) {
    bool any = false, left = false;
    for (Fiber& fiber : fibers) {
      if (fiber.wait != kReady) continue;
      any = true;
      running = &fiber;
      threadIdx = fiber.index;
      swapcontext(&scheduler, &fiber.context);
      if (trapped) return;
    }
    for (unsigned w = 0; w < warps; ++w) {  // a warp's barrier: all of its threads that are left have come
      bool all = true, some = false;
      for (size_t i = w * 32; i < fibers.size() && i < size_t(w + 1) * 32; ++i) {
        all = all && (fibers[i].wait == kWarp || fibers[i].wait == kDone);
        some = some || fibers[i].wait == kWarp;
      }
      if (all && some) release(kWarp, w), any = true;
    }
    bool block = true, some = false;
    for (Fiber& f : fibers) {
      block = block && (f.wait == kBlock || f.wait == kDone);
      some = some || f.wait == kBlock;
      left = left || f.wait != kDone;
    }
    if (block && some) release(kBlock, 0), any = true;
    if (!left) return;
    if (!any) {
      std::fprintf(stderr, "threads wait for each other forever\n");
      std::abort();
    }
  }
}

// Copies of a kernel's arguments, for a graph's launches.
template <class... Given> static void** keep(void (*)(Given...), void** args) {
  void** kept = new void*[sizeof...(Given) + 1];
  size_t at = 0;
  ((kept[at] = new std::decay_t<Given>(*static_cast<std::decay_t<Given>*>(args[at])), ++at), ...);
  return kept;
}

template <class... Given>
static void run(void (*f)(Given...), unsigned gx, unsigned gy, unsigned bx, unsigned by, void** args) {
  gridDim = {gx, gy, 1};
  blockDim = {bx, by, 1};
  trapped = false;
  for (blockIdx.y = 0; blockIdx.y < gy; ++blockIdx.y)
    for (blockIdx.x = 0; blockIdx.x < gx; ++blockIdx.x) {
      body = [=] { call(f, args, std::index_sequence_for<Given...>()); };
      fibers.resize(bx * by);
      for (unsigned i = 0; i < bx * by; ++i) {
        Fiber& fiber = fibers[i];
        fiber.stack.resize(65536);
        fiber.index = {i % bx, i / bx, 0};
        fiber.lane = i % 32;
        fiber.warp = i / 32;
        fiber.wait = kReady;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        fiber.context.uc_link = &scheduler;
        makecontext(&fiber.context, fiber_main, 0);
      }
      run_block();
      if (trapped) return;
    }
}
