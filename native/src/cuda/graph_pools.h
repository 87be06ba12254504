#pragma once
// Memory of a program's graph (program/stream_capture.h): what it gives is in a pool of its own, for other graphs that replay on the
// pool which it has in common with them write over everything there.
#include "cuda/driver.h"

namespace shim::cuda {

void set_results_pool(BlockPool*);  // of the capture on this thread; null: there is none
// What is allocated meanwhile is in that pool, if `outlives`.
class AmongResults {
 public:
  explicit AmongResults(bool outlives);
  ~AmongResults();
  AmongResults(const AmongResults&) = delete;

 private:
  BlockPool* before_ = nullptr;
};
bool lies_elsewhere(const Storage&, const BlockPool*);  // a block of the cache that is of another pool

}  // namespace shim::cuda
