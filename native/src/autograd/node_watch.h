#pragma once
// Who is told of the nodes that a backward pass runs.
#include "autograd/autograd.h"

namespace shim {

// Set while somebody looks on (the profiler); called before and after a node runs.
inline void (*node_watch)(const Node&, bool begins) = nullptr;

struct WatchedNode {
  explicit WatchedNode(const Node& n) : node(n), watch(node_watch) {
    if (__builtin_expect(watch != nullptr, 0)) watch(node, true);
  }
  WatchedNode(const WatchedNode&) = delete;
  ~WatchedNode() {
    if (__builtin_expect(watch != nullptr, 0)) watch(node, false);
  }
  const Node& node;
  void (*watch)(const Node&, bool begins);
};

}  // namespace shim
