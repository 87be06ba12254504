#pragma once
// Device memory kept for reuse: segments from the driver's stream-ordered pool, cut into blocks, each at home on one stream.
// A freed block can be had again at once on its stream, because the work before is ordered before the work after; other streams
// that were recorded on it are waited for with events. Any thread may free, with or without Python's lock.
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "cuda/driver.h"

namespace shim::cuda {

constexpr size_t kSmallRequest = 1 << 20;  // requests up to this are cut from segments of small blocks

struct Arena;
struct BlockPool;

struct Worker {  // a stream that works on a block
  CUstream stream;
  int device;  // the stream's: null is another stream on each
  bool operator==(const Worker&) const = default;
};

struct Block {
  CUdeviceptr data = 0;
  size_t size = 0, requested = 0;
  int kind = 0;  // 0 in a segment of small blocks, 1 in one of large ones
  int device = 0;
  Arena* home = nullptr;                      // null: straight from the driver, not cached
  CUstream stream = nullptr;                  // of a block that is not cached: where it is freed
  Block *before = nullptr, *after = nullptr;  // neighbours in the segment
  bool used = false, named = false;           // named: known by its address
  int events = 0;                             // recorded when it was freed and not yet reached
  std::vector<Worker> others;                 // streams besides its own that work on it
};

struct BySize {
  bool operator()(const Block* a, const Block* b) const {
    return a->size != b->size ? a->size < b->size : a->data < b->data;
  }
};

struct Arena {  // the free blocks of one stream
  CUstream stream = nullptr;
  uint64_t id = 0;  // the driver's, which is never used twice, as handles are
  BlockPool* pool = nullptr;
  std::set<Block*, BySize> free[2];  // small ones, large ones
};

struct BlockPool {  // a device's, or the private one of graphs
  int device = 0;
  std::unordered_map<uint64_t, Arena> arenas;
  Arena* last = nullptr;
  bool of_graphs = false;
  int graphs = 0;  // that replay on this memory
  size_t live = 0;
};

enum Figure {
  kAllocation,
  kSegment,
  kActive,
  kInactiveSplit,
  kAllocatedBytes,
  kReservedBytes,
  kActiveBytes,
  kInactiveSplitBytes,
  kRequestedBytes,
  kFigures
};
struct Count {
  int64_t current = 0, peak = 0, allocated = 0, freed = 0;
  void add(int64_t n) { current += n, allocated += n, peak = current > peak ? current : peak; }
  void remove(int64_t n) { current -= n, freed += n; }
};

struct Statistics {
  std::array<std::array<Count, 3>, kFigures> counts;  // all, small pool, large pool
  int64_t retries = 0, out_of_memory = 0, synchronizations = 0, device_allocations = 0, device_frees = 0;
};

// One device's cache.
class BlockCache {
 public:
  explicit BlockCache(int device) : device_(device) { main_.device = device; }
  // Null when the device has no memory left. `pool`: a private one; null for the device's.
  Block* allocate(size_t bytes, CUstream stream, BlockPool* pool);
  void free(Block*);
  void record(Block*, Worker);  // the stream works on the block too
  void empty();                 // unused segments go back to the driver's pool, and that pool's to the device
  void begin_capture(BlockPool* pool) {
    std::lock_guard<std::mutex> guard(lock_);
    ++captures_, ++pool->graphs;
  }
  void end_capture();
  void drop(BlockPool*);  // one graph fewer
  Statistics statistics();
  void reset(bool peaks, bool totals);
  void limit(size_t bytes) {
    std::lock_guard<std::mutex> guard(lock_);
    limit_ = bytes;
  }
  struct Piece {
    CUdeviceptr data;
    size_t size, requested;
    int state;
  };  // state: 0 free, 1 used, 2 waits for an event
  struct Segment {
    CUdeviceptr data;
    size_t size;
    CUstream stream;
    bool large, of_graphs;
    std::vector<Piece> pieces;
  };
  std::vector<Segment> snapshot();
  void track(size_t bytes, bool allocated);  // memory that is not cached, for the figures

 private:
  static bool idle(const Block& b) { return !b.used && !b.events && b.others.empty(); }
  void count(Figure, int kind, int64_t n);
  Arena& arena(BlockPool&, CUstream);
  Block* take(Arena&, size_t size);
  void split(Block*, size_t size);
  Block* segment(Arena&, size_t size);
  CUdeviceptr from_driver(size_t size);
  void give_back(Block*);
  void merge(Block*, Block* gone);
  void put(Block*);
  void record_events(Block*);
  void poll();
  CUevent take_event(int device);  // null: there is none to be had
  size_t release(BlockPool&);
  size_t release_all();
  void retire(BlockPool*);

  const int device_;
  std::mutex lock_;
  BlockPool main_;
  std::map<CUdeviceptr, Block*> segments_;  // the first block of each
  struct Waiting {                          // for a stream, whose events are reached in their order
    Worker worker;
    std::deque<std::pair<CUevent, Block*>> events;
  };
  std::vector<Waiting> waiting_;
  std::vector<std::pair<int, CUevent>> spare_;  // events that are reached, with their device
  size_t events_ = 0;                           // that blocks wait for
  std::vector<Block*> deferred_;     // freed during a capture, in which no event may be recorded or asked for
  std::vector<BlockPool*> dropped_;  // of graphs that are gone
  Statistics statistics_;
  size_t limit_ = ~size_t(0);
  int captures_ = 0;
  CUstream upstream_ = nullptr;  // where segments are got and given back: no user's work waits for it
};

// Within, calls are allowed that a capture on another stream might forbid; they are no part of it.
struct RelaxedCapture {
  int mode = 2;
  RelaxedCapture() {
    if (driver().capture_mode) driver().capture_mode(&mode);
  }
  ~RelaxedCapture() {
    if (driver().capture_mode) driver().capture_mode(&mode);
  }
};

BlockCache& block_cache(int device);
CUmemoryPool driver_pool(int device);

}  // namespace shim::cuda
