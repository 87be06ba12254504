#pragma once
// Memory that the GPUs of one host open to each other: a block of each rank, mapped by all.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/driver.h"
#include "distributed/store.h"

namespace shim::distributed {

class OpenedMemory {
 public:
  // Every rank of a group calls it. Null in all of them where it cannot be in one: where `able` is false, or `tried` of another rank's
  // block, which is zeros. Nobody writes there before all of them have it.
  static std::unique_ptr<OpenedMemory> make(
      Store&, const std::string& prefix, int rank, int size, int device, size_t bytes, bool able, Milliseconds timeout,
      const std::function<bool(OpenedMemory&, int other)>& tried = [](OpenedMemory&, int) { return true; });
  ~OpenedMemory();
  OpenedMemory(const OpenedMemory&) = delete;
  cuda::CUdeviceptr at(int rank) const { return blocks_[size_t(rank)].at; }

 private:
  struct Block {  // mapped memory of a rank
    unsigned long long handle = 0;
    cuda::CUdeviceptr at = 0;
  };
  OpenedMemory(int size, int device) : device_(device), blocks_(size_t(size)) {}
  void allocate(int rank, size_t bytes);
  bool map(Block&);
  const int device_;
  size_t bytes_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace shim::distributed
