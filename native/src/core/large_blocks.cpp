#include "core/large_blocks.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace shim {
namespace {

constexpr size_t kMostBytes = size_t(192) << 20;
constexpr int kMostBlocks = 64;

struct Block {
  void* data;
  size_t size;
};

// Never destroyed. Whoever does not get the lock at once does without: a fork may have left it locked for ever.
struct Kept {
  std::mutex mutex;
  Block blocks[kMostBlocks];  // the oldest first
  int count = 0;
  size_t bytes = 0;

  void remove(int i) {
    bytes -= blocks[i].size;
    std::memmove(blocks + i, blocks + i + 1, size_t(--count - i) * sizeof(Block));
  }
};

Kept& kept() {
  static auto* k = new Kept;
  return *k;
}

}  // namespace

size_t kept_size(size_t bytes) {
  const size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

void* take_kept_block(size_t size) {
  Kept& k = kept();
  std::unique_lock lock(k.mutex, std::try_to_lock);
  if (!lock) return nullptr;
  for (int i = k.count - 1; i >= 0; --i) {  // the newest is likeliest to be in a cache
    if (k.blocks[i].size != size) continue;
    void* data = k.blocks[i].data;
    k.remove(i);
    return data;
  }
  return nullptr;
}

bool keep_block(void* block, size_t size) {
  Kept& k = kept();
  std::unique_lock lock(k.mutex, std::try_to_lock);
  if (!lock) return false;
  while (k.count && (k.count == kMostBlocks || k.bytes + size > kMostBytes)) {
    std::free(k.blocks[0].data);
    k.remove(0);
  }
  k.blocks[k.count++] = {block, size};
  k.bytes += size;
  return true;
}

}  // namespace shim
