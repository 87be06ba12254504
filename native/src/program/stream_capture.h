#pragma once
// The capture of a stream's work as a graph that owns the memory which was allocated meanwhile.
#include <functional>

#include "cuda/driver.h"
#include "core/refcount.h"

namespace shim::program {

class CapturedGraph : public RefCounted {
 public:
  ~CapturedGraph() override;
  // Runs `work` on a stream of its own, where nothing is executed. Throws what it throws, and where the capture is invalid.
  static Ref<CapturedGraph> of(int device, const std::function<void()>& work);
  void launch() const;  // on the current stream

 private:
  int device_ = 0;
  cuda::CUgraphExec exec_ = nullptr;
  cuda::BlockPool* pool_ = nullptr;
};

}  // namespace shim::program
