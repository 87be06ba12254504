#pragma once
// Collectives of small CUDA tensors without NCCL, whose call alone takes the host 12 µs: one kernel of ours in each rank
// (cuda/kernels/small_collectives.cuh), through memory that the GPUs of one host open to each other.
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "distributed/opened_memory.h"

namespace shim::distributed {

struct DeviceCollective;

class SmallCollectives {
 public:
  // Every rank of a group calls it. Null in all of them where it cannot be in one, or SHIM_SMALL_COLLECTIVES=0 forbids it.
  static std::shared_ptr<SmallCollectives> make(
      Store&, const std::string& prefix, int rank, int size, int device, Milliseconds timeout);
  ~SmallCollectives();
  SmallCollectives(const SmallCollectives&) = delete;
  // Whether a collective is small, and of a kind, a type and an operation that the kernels have. All ranks say the same.
  bool takes(const DeviceCollective&) const;
  // Puts one that it takes on a stream, after the one before, and records `end` behind it. False: messages of all_to_all that are longer
  // than `most` bytes are left to NCCL.
  bool run(const DeviceCollective&, cuda::CUstream, cuda::CUevent end);
  size_t most() const noexcept { return most_; }
  uint32_t count() const noexcept { return number_; }  // of those that ran
  void stop() noexcept;                                // the kernels wait no longer; what they give is lost

 private:
  SmallCollectives(int rank, int size, int device);
  template <class F> void launch(cuda::CUstream, cuda::CUevent end, F&&);
  bool run_exchange(const DeviceCollective&, cuda::CUstream, cuda::CUevent end);
  const int rank_, size_, device_;
  const size_t most_;  // bytes for each rank
  std::unique_ptr<OpenedMemory> memory_;
  uint32_t* stop_ = nullptr;  // in the host's memory, which the kernels read
  std::mutex lock_;           // of what follows: calls of several threads do not mix
  std::atomic<uint32_t> number_{0};
  unsigned long long last_stream_ = 0;  // its number, which is never another's
  cuda::CUevent last_ = nullptr;
};

}  // namespace shim::distributed
