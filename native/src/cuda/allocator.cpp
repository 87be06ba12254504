// CUDA memory: the driver's stream-ordered pool, which CuPy is given too, so that both sides share one.
#include <map>
#include <mutex>
#include <vector>

#include "cuda/driver.h"

namespace shim::cuda {

// Memory taken while a stream is captured must outlive every replay: it is allocated outside the capture, is reused
// within it, and goes back when the graph does.
struct GraphPool {
  int device = 0;
  bool open = true;
  std::mutex lock;
  std::multimap<size_t, CUdeviceptr> unused;
  std::vector<CUdeviceptr> all;
  size_t live = 0;
  bool released = false;
};

namespace {

constexpr int kReleaseThreshold = 4, kReservedCurrent = 5, kReservedHigh = 6, kUsedCurrent = 7, kUsedHigh = 8;

struct Block {                                  // the deleter's context
  CUstream stream;
  int device;
  size_t bytes;
  GraphPool* pool;
};

thread_local GraphPool* tls_graph_pool = nullptr;

std::string human(uint64_t bytes) {
  const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 4) { value /= 1024; ++unit; }
  char text[64];
  snprintf(text, sizeof text, unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
  return text;
}

[[noreturn]] void out_of_memory(int device, size_t bytes) {
  size_t free_bytes = 0, total = 0;
  driver().mem_info(&free_bytes, &total);
  MemoryStats s = memory_stats(device);
  fail(Kind::OutOfMemory, "CUDA out of memory. Tried to allocate ", human(bytes), ". GPU ", device, " has a total capacity of ",
       human(total), " of which ", human(free_bytes), " is free. Of the memory in the pool, ", human(s.used), " is in use and ",
       human(s.reserved - s.used), " is reserved but unused; torch.cuda.empty_cache() gives that back.");
}

CUmemoryPool pool_of(int device) {
  static std::mutex lock;
  static std::vector<CUmemoryPool> pools;
  std::lock_guard<std::mutex> guard(lock);
  if (pools.size() <= size_t(device)) pools.resize(size_t(device) + 1, nullptr);
  CUmemoryPool& pool = pools[size_t(device)];
  if (!pool) {
    const Driver& d = driver();
    primary_context(device);
    check(d.pool_current(&pool, device), "cuDeviceGetMemPool");
    uint64_t keep = ~uint64_t(0);               // hand nothing back to the system at a synchronisation
    d.pool_set(pool, kReleaseThreshold, &keep);
  }
  return pool;
}

void free_graph_block(Block* block, void* data) {
  GraphPool* pool = block->pool;
  bool last = false;
  {
    std::lock_guard<std::mutex> guard(pool->lock);
    pool->unused.emplace(block->bytes, reinterpret_cast<CUdeviceptr>(data));
    last = --pool->live == 0 && pool->released;
  }
  if (last) release_graph_pool(pool);
}

void free_block(void* context, void* data) {
  Block* block = static_cast<Block*>(context);
  const Driver& d = driver();
  if (block->pool) {
    free_graph_block(block, data);
  } else if (data) {
    CUcontext before = nullptr;
    d.ctx_get(&before);
    if (before != primary_context(block->device)) d.ctx_set(primary_context(block->device));
    if (d.mem_free_async(reinterpret_cast<CUdeviceptr>(data), block->stream) != 0)
      d.mem_free(reinterpret_cast<CUdeviceptr>(data));      // the stream is gone, or is being captured
    if (before) d.ctx_set(before);
  }
  delete block;
}

CUdeviceptr graph_memory(GraphPool* pool, size_t bytes) {
  std::lock_guard<std::mutex> guard(pool->lock);
  ++pool->live;
  auto fit = pool->unused.lower_bound(bytes);
  if (fit != pool->unused.end() && fit->first <= 2 * bytes) {
    CUdeviceptr p = fit->second;
    pool->unused.erase(fit);
    return p;
  }
  CUdeviceptr p = 0;
  if (driver().mem_alloc(&p, bytes) != 0) out_of_memory(pool->device, bytes);
  pool->all.push_back(p);
  return p;
}

Ref<Storage> allocate_cuda(size_t bytes, Device device) {
  const Driver& d = require("torch.empty");
  int index = device.index < 0 ? current_device() : device.index;
  Device where{DeviceType::cuda, int8_t(index)};
  OnDevice current(index);
  CUstream stream = current_stream(index);
  CUdeviceptr p = 0;
  GraphPool* pool = bytes && tls_graph_pool && tls_graph_pool->open ? tls_graph_pool : nullptr;
  size_t rounded = (bytes + 511) / 512 * 512;
  if (pool) {
    p = graph_memory(pool, rounded);
  } else if (bytes) {
    pool_of(index);
    CUresult r = d.mem_alloc_async(&p, rounded, stream);
    if (r == kOutOfMemory) {
      d.stream_synchronize(stream);
      d.pool_trim(pool_of(index), 0);
      r = d.mem_alloc_async(&p, rounded, stream);
    }
    if (r == kOutOfMemory) out_of_memory(index, bytes);
    check(r, "cuMemAllocAsync");
  }
  return Ref<Storage>(new Storage(reinterpret_cast<void*>(p), bytes, where, free_block, new Block{stream, index, rounded, pool}));
}

void free_pinned(void*, void* data) {
  if (data) driver().host_free(data);
}

Ref<Storage> allocate_pinned(size_t bytes) {
  const Driver& d = require("pin_memory");
  ensure_context();
  void* p = nullptr;
  if (bytes) check(d.host_alloc(&p, bytes, 1), "cuMemHostAlloc");
  auto storage = Ref<Storage>(new Storage(p, bytes, Device{}, free_pinned, nullptr));
  storage->pinned = true;
  return storage;
}

}  // namespace

MemoryStats memory_stats(int device) {
  MemoryStats s{};
  const Driver& d = driver();
  if (!d.loaded) return s;
  CUmemoryPool pool = pool_of(device);
  d.pool_get(pool, kUsedCurrent, &s.used);
  d.pool_get(pool, kReservedCurrent, &s.reserved);
  d.pool_get(pool, kUsedHigh, &s.used_high);
  d.pool_get(pool, kReservedHigh, &s.reserved_high);
  return s;
}

void reset_peak(int device) {
  if (!driver().loaded) return;
  uint64_t zero = 0;
  driver().pool_set(pool_of(device), kUsedHigh, &zero);
  driver().pool_set(pool_of(device), kReservedHigh, &zero);
}

void empty_cache(int device) {
  if (driver().loaded) driver().pool_trim(pool_of(device), 0);
}

void install_allocator() {
  cuda_allocator().allocate = allocate_cuda;
  cuda_allocator().allocate_pinned = allocate_pinned;
  Storage::copy_device = [](void* to, const void* from, size_t bytes, Device where) { copy_bytes(to, from, bytes, current_stream(where.index)); };
}

GraphPool* begin_graph_pool(int device) {
  auto* pool = new GraphPool();
  pool->device = device;
  tls_graph_pool = pool;
  return pool;
}

void end_graph_pool(GraphPool* pool) {
  pool->open = false;
  if (tls_graph_pool == pool) tls_graph_pool = nullptr;
}

void release_graph_pool(GraphPool* pool) {
  {
    std::lock_guard<std::mutex> guard(pool->lock);
    pool->released = true;
    if (pool->live) return;                     // tensors made in the capture are still alive: the last one frees
  }
  for (CUdeviceptr p : pool->all) driver().mem_free(p);
  delete pool;
}

}  // namespace shim::cuda
