// Memory of the simulated driver: the host's, filled so that it is never zero by luck, and copies that may wait.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

extern "C" {

static int failure = 0;  // what every call gives after a kernel trapped: CUDA_ERROR_LAUNCH_FAILED
void simulated_trap() { failure = 719; }
static int pool_object;

int cuMemGetInfo_v2(size_t* f, size_t* t) {
  *f = *t = size_t(1) << 34;
  return 0;
}

constexpr size_t kLittle = 1 << 20;  // what is larger is only there to empty caches

static auto& sizes = *new std::map<unsigned long long, size_t>();
static size_t taken = 0, room = size_t(1) << 34;
size_t simulated_memory() { return taken; }
void simulated_room(size_t n) { room = n; }

// Fresh memory is never zero by luck.
int cuMemAlloc_v2(unsigned long long* p, size_t n) {
  if (failure) return failure;
  if (n == 0) return 1;
  if (taken + n > room) return 2;
  void* m = std::aligned_alloc(512, (n + 511) / 512 * 512);
  std::memset(m, 0xa5, n < kLittle ? n : kLittle);
  *p = reinterpret_cast<uintptr_t>(m);
  taken += sizes[*p] = n;
  return 0;
}
int cuMemAllocAsync(unsigned long long* p, size_t n, void*) { return cuMemAlloc_v2(p, n); }
int cuMemFree_v2(unsigned long long p) {
  if (!sizes.count(p)) return 1;
  taken -= sizes[p];
  sizes.erase(p);
  std::free(reinterpret_cast<void*>(p));
  return 0;
}
int cuMemFreeAsync(unsigned long long p, void*) { return cuMemFree_v2(p); }
int cuMemHostAlloc(void** p, size_t n, unsigned) {
  if (failure) return failure;
  *p = std::malloc(n);
  return 0;
}
int cuMemFreeHost(void* p) {
  std::free(p);
  return 0;
}
int cuDeviceGetDefaultMemPool(void** p, int) {
  *p = &pool_object;
  return 0;
}
int cuDeviceGetMemPool(void** p, int) {
  *p = &pool_object;
  return 0;
}
int cuMemPoolSetAttribute(void*, int, void*) { return 0; }
int cuMemPoolGetAttribute(void*, int, void* v) {
  *static_cast<uint64_t*>(v) = 0;
  return 0;
}
int cuMemPoolTrimTo(void*, size_t) { return 0; }
// While copies wait, they are made at the next synchronisation, as a GPU that is busy makes them.
struct Copy {
  unsigned long long to, from;
  size_t bytes;
};
static auto& copies = *new std::vector<Copy>();
static bool copies_wait = false;
static int make_copies() {
  for (const Copy& c : copies) std::memmove(reinterpret_cast<void*>(c.to), reinterpret_cast<void*>(c.from), c.bytes);
  copies.clear();
  return 0;
}
void simulated_copies_wait(int wait) { copies_wait = wait; }
int cuMemcpyAsync(unsigned long long to, unsigned long long from, size_t n, void*) {
  if (failure) return failure;
  if (copies_wait) return copies.push_back({to, from, n}), 0;
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), n);
  return 0;
}
int cuMemsetD16Async(unsigned long long p, unsigned short v, size_t n, void*) {
  if (failure) return failure;
  for (size_t i = 0; i < n; ++i) reinterpret_cast<unsigned short*>(p)[i] = v;
  return 0;
}
int cuMemsetD32Async(unsigned long long p, unsigned v, size_t n, void*) {
  if (failure) return failure;
  for (size_t i = 0; i < n; ++i) reinterpret_cast<unsigned*>(p)[i] = v;
  return 0;
}

}  // extern "C"
