#pragma once
// What a backward pass knows about the nodes of its graph.
#include <limits>
#include <vector>

#include "autograd/autograd.h"

namespace shim::graph_task {

struct Slot {
  uint32_t input;
  size_t slot;
};

// What one pass knows about one node.
struct State {
  Node* node;
  int waiting = 0;  // edges whose gradients have not come yet
  bool needed = false, queued = false, reached = false;
  Grads grads;
  std::vector<Slot> captures;
};

// Open addressing: a pass looks up every edge of the graph twice.
class States {
 public:
  State& operator[](Node* n) {
    if (all_.size() * 2 >= slots_.size()) grow();
    uint32_t& at = place(n);
    if (at == kNone) {
      at = uint32_t(all_.size());
      all_.push_back({n, 0, false, false, false, {}, {}});
    }
    return all_[at];
  }
  State* find(const Node* n) {
    if (slots_.empty()) return nullptr;
    uint32_t at = place(n);
    return at == kNone ? nullptr : &all_[at];
  }
  std::vector<State>& all() { return all_; }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  uint32_t& place(const Node* n) {
    size_t mask = slots_.size() - 1, i = (reinterpret_cast<uintptr_t>(n) >> 4) * 0x9E3779B97F4A7C15ull >> 20 & mask;
    while (slots_[i] != kNone && all_[slots_[i]].node != n) i = (i + 1) & mask;
    return slots_[i];
  }
  void grow() {
    slots_.assign(std::max<size_t>(64, slots_.size() * 4), kNone);
    for (uint32_t k = 0; k < all_.size(); ++k) place(all_[k].node) = k;
  }
  std::vector<State> all_;
  std::vector<uint32_t> slots_;
};

}  // namespace shim::graph_task
