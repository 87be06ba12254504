// Memory of the simulated driver: the host's, filled so that it is never zero by luck, and copies that may wait.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <vector>

#include "driver_contexts.h"
#include "driver_graphs.h"
#include "driver_order.h"

extern "C" {

int cuMemGetInfo_v2(size_t* f, size_t* t) {
  *f = *t = size_t(1) << 34;
  return 0;
}

constexpr size_t kLittle = 1 << 20;  // what is larger is only there to empty caches

struct Memory {
  size_t size;
  Context* owner;
  bool pooled;
};
static auto& sizes = *new std::map<unsigned long long, Memory>();
static size_t taken = 0, room = size_t(1) << 34;
size_t simulated_memory() { return taken; }
void simulated_room(size_t n) { room = n; }

// Whether the current context may work on the memory at an address: the host's, its own, or another's that is open to it.
static bool in_reach(unsigned long long p) {
  auto after = sizes.upper_bound(p);
  if (after == sizes.begin()) return true;
  const auto& [start, m] = *std::prev(after);
  if (p >= start + m.size || m.owner == current) return true;
  return m.pooled ? m.owner->pool_open_to[current->device] : current->reaches[m.owner->device];
}

// Fresh memory is never zero by luck.
static int allocate(unsigned long long* p, size_t n, Context* owner, bool pooled) {
  if (!owner) return kInvalidContext;
  if (owner->failure) return owner->failure;
  if (n == 0) return 1;
  if (taken + n > room) return 2;
  void* m = std::aligned_alloc(512, (n + 511) / 512 * 512);
  std::memset(m, 0xa5, n < kLittle ? n : kLittle);
  *p = reinterpret_cast<uintptr_t>(m);
  sizes[*p] = {n, owner, pooled};
  taken += n;
  return 0;
}
int cuMemAlloc_v2(unsigned long long* p, size_t n) { return allocate(p, n, current, false); }
int cuMemAllocAsync(unsigned long long* p, size_t n, void* stream) {
  return context_of(stream) != current ? kInvalidHandle : allocate(p, n, current, true);
}
int cuMemFree_v2(unsigned long long p) {
  if (!sizes.count(p)) return 1;
  taken -= sizes[p].size;
  sizes.erase(p);
  std::free(reinterpret_cast<void*>(p));
  return 0;
}
int cuMemFreeAsync(unsigned long long p, void* stream) {
  return context_of(stream) != current ? kInvalidHandle : cuMemFree_v2(p);
}
int cuMemHostAlloc(void** p, size_t n, unsigned) {
  if (failure()) return failure();
  *p = std::malloc(n);
  return 0;
}
int cuMemFreeHost(void* p) {
  std::free(p);
  return 0;
}
int cuDeviceGetDefaultMemPool(void** p, int device) {
  *p = &contexts[device];
  return 0;
}
int cuDeviceGetMemPool(void** p, int device) {
  *p = &contexts[device];
  return 0;
}
struct Access {
  int type, device, flags;
};
int cuMemPoolSetAccess(Context* pool, const Access* access, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (access[i].type != 1 || !peers() || access[i].device == pool->device) return kInvalidValue;
    pool->pool_open_to[access[i].device] = access[i].flags == 3;
  }
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
static int copy(unsigned long long to, unsigned long long from, size_t n) {
  if (copies_wait) return copies.push_back({to, from, n}), 0;
  std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), n);
  return 0;
}
int cuMemcpyAsync(unsigned long long to, unsigned long long from, size_t n, void* stream) {
  if (failure()) return failure();
  if (!in_reach(to) || !in_reach(from)) return kInvalidValue;
  note("copy", stream);
  simulated_work(stream);
  if (Graph* graph = recorded(stream)) return graph->work.push_back([=] { copy(to, from, n); }), 0;
  return copy(to, from, n);
}
static bool owned_by(unsigned long long p, Context* c) {
  auto after = sizes.upper_bound(p);
  return after != sizes.begin() && std::prev(after)->second.owner == c;
}
int cuMemcpyPeerAsync(unsigned long long to, Context* to_context, unsigned long long from, Context* from_context,
    size_t n, void* stream) {
  if (failure()) return failure();
  if (!owned_by(to, to_context) || !owned_by(from, from_context)) return kInvalidValue;
  note(in_reach(to) && in_reach(from) ? "peer copy" : "staged copy", stream);
  return copy(to, from, n);
}
int cuMemsetD16Async(unsigned long long p, unsigned short v, size_t n, void* stream) {
  if (failure()) return failure();
  if (context_of(stream) != current) return kInvalidHandle;
  if (!in_reach(p)) return kInvalidValue;
  const auto set = [=] {
    for (size_t i = 0; i < n; ++i) reinterpret_cast<unsigned short*>(p)[i] = v;
  };
  if (Graph* graph = recorded(stream)) return graph->work.push_back(set), 0;
  set();
  return 0;
}
int cuMemsetD32Async(unsigned long long p, unsigned v, size_t n, void* stream) {
  if (failure()) return failure();
  if (context_of(stream) != current) return kInvalidHandle;
  if (!in_reach(p)) return kInvalidValue;
  const auto set = [=] {
    for (size_t i = 0; i < n; ++i) reinterpret_cast<unsigned*>(p)[i] = v;
  };
  if (Graph* graph = recorded(stream)) return graph->work.push_back(set), 0;
  set();
  return 0;
}

}  // extern "C"
