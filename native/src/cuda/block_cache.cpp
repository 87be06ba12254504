#include "cuda/block_cache.h"

#include <algorithm>

namespace shim::cuda {

namespace {

constexpr size_t kSmallSegment = 2 << 20, kLargeSegment = 20 << 20, kOwnSegment = 10 << 20, kRounding = 512;
constexpr size_t kStreamsKept = 8;
constexpr unsigned kNonBlocking = 1, kNoTiming = 2;

size_t segment_size(size_t size) {
  if (size <= kSmallRequest) return kSmallSegment;
  if (size < kOwnSegment) return kLargeSegment;
  return (size + kSmallSegment - 1) / kSmallSegment * kSmallSegment;
}

uint64_t id_of(CUstream stream) {
  unsigned long long id = 0;
  if (stream && driver().stream_id) driver().stream_id(stream, &id);
  return id;
}

}  // namespace

BlockCache& block_cache(int device) {
  static std::mutex lock;
  static auto* caches =
      new std::array<std::atomic<BlockCache*>, 64>();  // immortal: memory is freed while the process exits, too
  CHECK(Kind::Runtime, device >= 0 && device < 64, "CUDA error: invalid device ordinal ", device);
  std::atomic<BlockCache*>& found = (*caches)[size_t(device)];
  if (!found.load(std::memory_order_acquire)) {
    std::lock_guard<std::mutex> guard(lock);
    if (!found.load()) found.store(new BlockCache(device), std::memory_order_release);
  }
  return *found.load(std::memory_order_relaxed);
}

void BlockCache::count(Figure f, int kind, int64_t n) {
  for (size_t i : {size_t(0), size_t(1 + kind)})
    n >= 0 ? statistics_.counts[f][i].add(n) : statistics_.counts[f][i].remove(-n);
}

// --- getting ------------------------------------------------------------------------------------------------------------

Arena& BlockCache::arena(BlockPool& pool, CUstream stream) {
  // A stream's handle may be that of one destroyed before; the per-thread default stream is another one in each thread.
  // To ask a stream under capture for its id ends the capture; those are not destroyed.
  const uint64_t id = pool.of_graphs ? 0 : id_of(stream);
  if (pool.last && pool.last->stream == stream && pool.last->id == id) return *pool.last;
  Arena& a = pool.arenas[id ? id : reinterpret_cast<uintptr_t>(stream)];
  a.stream = stream;
  a.id = id;
  a.pool = &pool;
  pool.last = &a;
  return a;
}

Block* BlockCache::allocate(size_t bytes, CUstream stream, BlockPool* pool) {
  if (bytes > size_t(1) << 56) return nullptr;
  const size_t size = (std::max<size_t>(bytes, 1) + kRounding - 1) / kRounding * kRounding;
  std::lock_guard<std::mutex> guard(lock_);
  poll();
  Arena& home = arena(pool ? *pool : main_, stream);
  Block* b = take(home, size);
  if (!b) b = segment(home, size);
  if (!b) return nullptr;
  split(b, size);
  b->used = true;
  b->requested = bytes;
  ++home.pool->live;
  const int64_t n = int64_t(b->size);
  count(kAllocation, b->kind, 1);
  count(kAllocatedBytes, b->kind, n);
  count(kActive, b->kind, 1);
  count(kActiveBytes, b->kind, n);
  count(kRequestedBytes, b->kind, int64_t(bytes));
  return b;
}

Block* BlockCache::take(Arena& home, size_t size) {
  auto& blocks = home.free[size > kSmallRequest];
  Block key;
  key.size = size;
  auto found = blocks.lower_bound(&key);
  if (found == blocks.end()) return nullptr;
  Block* b = *found;
  blocks.erase(found);
  if (b->before || b->after) {
    count(kInactiveSplit, b->kind, -1);
    count(kInactiveSplitBytes, b->kind, -int64_t(b->size));
  }
  return b;
}

// Cuts off what is more than asked for, where that is enough for another block.
void BlockCache::split(Block* b, size_t size) {
  const size_t rest = b->size - size;
  if (b->kind == 0 ? rest < kRounding : rest <= kSmallRequest) return;
  auto* tail = new Block();
  tail->data = b->data + size;
  tail->size = rest;
  tail->kind = b->kind;
  tail->device = device_;
  tail->home = b->home;
  tail->before = b;
  tail->after = b->after;
  if (b->after) b->after->before = tail;
  b->after = tail;
  b->size = size;
  put(tail);
}

Block* BlockCache::segment(Arena& home, size_t size) {
  const size_t bytes = segment_size(size);
  CUdeviceptr p = from_driver(bytes);
  if (!p) {
    ++statistics_.retries;
    if (release_all()) p = from_driver(bytes);
  }
  if (!p) {
    ++statistics_.out_of_memory;
    return nullptr;
  }
  ++statistics_.device_allocations;
  auto* b = new Block();
  b->data = p;
  b->size = bytes;
  b->kind = size > kSmallRequest;
  b->device = device_;
  b->home = &home;
  segments_.emplace(p, b);
  count(kSegment, b->kind, 1);
  count(kReservedBytes, b->kind, int64_t(bytes));
  return b;
}

CUdeviceptr BlockCache::from_driver(size_t bytes) {
  const Driver& d = driver();
  const size_t reserved = size_t(statistics_.counts[kReservedBytes][0].current);
  if (bytes > limit_ || reserved > limit_ - bytes) return 0;
  OnDevice current(device_);
  RelaxedCapture relaxed;
  if (!upstream_) {
    driver_pool(device_);
    check(d.stream_create(&upstream_, kNonBlocking, 0), "cuStreamCreateWithPriority");
  }
  CUdeviceptr p = 0;
  const CUresult r = d.mem_alloc_async(&p, bytes, upstream_);
  if (r == kOutOfMemory) return 0;
  check(r, "cuMemAllocAsync");
  check(d.stream_synchronize(upstream_), "cuStreamSynchronize");  // from here on every stream may use it
  return p;
}

// --- freeing ------------------------------------------------------------------------------------------------------------

void BlockCache::free(Block* b) {
  {
    std::lock_guard<std::mutex> guard(lock_);
    b->used = false;
    count(kAllocation, b->kind, -1);
    count(kAllocatedBytes, b->kind, -int64_t(b->size));
    count(kRequestedBytes, b->kind, -int64_t(b->requested));
    if (b->others.empty())
      give_back(b);
    else if (captures_)
      deferred_.push_back(b);
    else
      record_events(b);
  }
}

void BlockCache::give_back(Block* b) {
  BlockPool* pool = b->home->pool;
  count(kActive, b->kind, -1);
  count(kActiveBytes, b->kind, -int64_t(b->size));
  --pool->live;
  for (Block* neighbour : {b->before, b->after})
    if (neighbour && idle(*neighbour)) merge(b, neighbour);
  put(b);
  if (pool->of_graphs && !pool->graphs && !pool->live) retire(pool);
}

// `gone`, a free neighbour, becomes part of b.
void BlockCache::merge(Block* b, Block* gone) {
  b->home->free[b->kind].erase(gone);
  count(kInactiveSplit, b->kind, -1);
  count(kInactiveSplitBytes, b->kind, -int64_t(gone->size));
  if (gone == b->before) {
    b->data = gone->data;
    b->before = gone->before;
    if (b->before)
      b->before->after = b;
    else
      segments_[b->data] = b;
  } else {
    b->after = gone->after;
    if (b->after) b->after->before = b;
  }
  b->size += gone->size;
  delete gone;
}

void BlockCache::put(Block* b) {
  b->home->free[b->kind].insert(b);
  if (b->before || b->after) {
    count(kInactiveSplit, b->kind, 1);
    count(kInactiveSplitBytes, b->kind, int64_t(b->size));
  }
}

// --- other streams --------------------------------------------------------------------------------------------------------

void BlockCache::record(Block* b, Worker worker) {
  std::lock_guard<std::mutex> guard(lock_);
  const Worker own{b->home ? b->home->stream : b->stream, device_};
  if (worker != own && std::find(b->others.begin(), b->others.end(), worker) == b->others.end())
    b->others.push_back(worker);
}

CUevent BlockCache::take_event(int device) {
  const auto found = std::ranges::find(spare_, device, &std::pair<int, CUevent>::first);
  CUevent event = nullptr;
  if (found == spare_.end()) return driver().event_create(&event, kNoTiming) == 0 ? event : nullptr;
  event = found->second;
  *found = spare_.back();
  spare_.pop_back();
  return event;
}

void BlockCache::record_events(Block* b) {
  const Driver& d = driver();
  RelaxedCapture relaxed;
  for (const Worker& other : b->others) {
    auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& w) { return w.worker == other; });
    Waiting& waiting = found == waiting_.end() ? waiting_.emplace_back(Waiting{other, {}}) : *found;
    OnDevice current(other.device);
    const CUevent event = take_event(other.device);
    if (!event) continue;
    if (d.event_record(event, other.stream) != 0) {  // the stream is gone, and its work with it
      d.event_destroy(event);
      continue;
    }
    ++b->events, ++events_;
    waiting.events.emplace_back(event, b);
  }
  b->others.clear();
  if (!b->events) give_back(b);
}

// Gives back what waits for events no longer.
void BlockCache::poll() {
  if (captures_ || (!events_ && deferred_.empty())) return;
  std::vector<Block*> blocks;
  blocks.swap(deferred_);
  for (Block* b : blocks) record_events(b);
  const Driver& d = driver();
  RelaxedCapture relaxed;
  for (Waiting& w : waiting_)
    while (!w.events.empty()) {
      const auto [event, block] = w.events.front();
      if (d.event_query(event) == kNotReady) break;  // nor are those after it
      w.events.pop_front();
      spare_.emplace_back(w.worker.device, event);
      --events_;
      if (--block->events == 0) give_back(block);
    }
  // A few streams come back all the time; each program's short-lived ones are not kept for ever.
  if (waiting_.size() > kStreamsKept) std::erase_if(waiting_, [](const Waiting& w) { return w.events.empty(); });
}

}  // namespace shim::cuda
