#include "cuda/attention_blocks.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "cuda/driver.h"
#include "cuda/kernel_store.h"

namespace shim::cuda {

int multiprocessors(int device) {
  constexpr int kProcessors = 16;
  static std::atomic<int16_t> known[kMostDevices] = {};  // 0: not asked
  if (device < 0 || device >= kMostDevices) return 0;
  if (!known[device]) {
    int processors = 0;
    CUdevice handle = 0;
    const Driver& d = driver();
    const bool said = d.device_get(&handle, device) == 0 && d.device_attribute(&processors, kProcessors, handle) == 0;
    known[device] = int16_t(said ? processors : -1);
  }
  return std::max(0, int(known[device]));
}

int hopper_processors(int device) {
  return driver().function_attribute && architecture_of(device) == 90 ? multiprocessors(device) : 0;
}

// Blocks that share a multiprocessor hide each other's beginnings and ends; those that are alone have the registers for larger tiles.
AttentionBlocks attention_blocks(const AttentionShape& shape, int processors) {
  // Few queries wait for keys and values alone: a third tile of them is on its way. Two blocks a multiprocessor spare a second round.
  if (shape.rows <= 64) {
    if (shape.lines <= processors || shape.lines > 2 * processors) return {1, 1, 128, 3};
    return shape.size == 128 ? AttentionBlocks{1, 2, 64, 2} : AttentionBlocks{1, 2, 128, 3};
  }
  if (shape.size == 128) return {2, 1, 128, 2};
  const AttentionBlocks shared{2, 2, 64, 3}, large{3, 1, 128, shape.causal ? 2 : 3}, alone{2, 1, 128, 3};
  if (shape.picky) return shared;  // what a mask or draws take of the registers is too much for the others
  // As measured on an H200: a round of blocks takes `weight` for each key and for its beginning and end, which are worth `ends` keys. Causal ones
  // come by their work, half the keys and `edges` each; none takes longer than all keys.
  const auto cost = [&](const AttentionBlocks& b, double weight, double ends, double edges) {
    const double rounds = double(b.parts(shape.lines, shape.rows)) / (processors * b.blocks), keys = double(shape.cols),
                 whole = keys + ends;
    return weight * (shape.causal ? std::max(whole, rounds * (keys / 2 + edges)) : std::ceil(rounds) * whole);
  };
  const double of_shared = cost(shared, 41, 170, 200), of_large = cost(large, 24, 220, 620),
               of_alone = cost(alone, 19, 260, 620);
  if (of_shared <= std::min(of_large, of_alone)) return shared;
  return of_large <= of_alone ? large : alone;
}

int64_t key_parts(int64_t lines, int64_t tiles, int64_t places) {
  // As measured on an H200: a block's beginning and end take as long as three tiles, joining what the parts have as two.
  constexpr int64_t kEnds = 3, kJoin = 2, kMost = 128;
  if (places < 1) return 1;
  int64_t best = 1, least = INT64_MAX;
  for (int64_t parts = 1; parts <= std::min(tiles, kMost); ++parts) {
    const int64_t rounds = (lines * parts + places - 1) / places, each = (tiles + parts - 1) / parts,
                  cost = rounds * (each + kEnds) + (parts > 1 ? kJoin : 0);
    if (cost < least) best = parts, least = cost;
  }
  return best;
}

}  // namespace shim::cuda
