#pragma once
// The capture of a stream's work as a graph that owns the memory which was allocated meanwhile.
#include <functional>

#include "cuda/graph_pools.h"
#include "core/refcount.h"

namespace shim::program {

class CapturedGraph;

// What graphs that are never replayed at once may have in common: what one of them needs only while it runs, the others write over.
// What they give is in pools of their own: it stays until the graph that gave it is replayed.
class GraphMemory : public RefCounted {
  friend CapturedGraph;
  size_t graphs_ = 0;
  cuda::BlockPool* pool_ = nullptr;  // while there are any
  cuda::CUstream last_ = nullptr;    // that one of them was launched on
};

class CapturedGraph : public RefCounted {
 public:
  ~CapturedGraph() override;
  // Runs `work` on a stream of its own, where nothing is executed. Throws what it throws, and where the capture is invalid.
  static Ref<CapturedGraph> of(int device, Ref<GraphMemory>, const std::function<void()>& work);
  void launch() const;  // on the current stream
  // Whether other graphs leave it alone: memory that the captured work gives.
  bool keeps(const Storage& s) const { return !cuda::lies_elsewhere(s, results_); }

 private:
  int device_ = 0;
  cuda::CUgraphExec exec_ = nullptr;
  Ref<GraphMemory> memory_;
  cuda::BlockPool* results_ = nullptr;
};

}  // namespace shim::program
