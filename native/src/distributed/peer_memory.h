#pragma once
// Messages through memory that the GPUs of one host open to each other. The copy engines carry them and streams wait for numbers in memory, so that no multiprocessor is taken from the kernels that run meanwhile.
#include <memory>
#include <string>
#include <vector>

#include "distributed/opened_memory.h"

namespace shim::distributed {

class PeerMemory {
 public:
  struct Message {
    int peer;
    void* data;
    size_t bytes;
  };
  // Every rank of a group calls it. Null in all of them where it cannot be in one.
  static std::unique_ptr<PeerMemory> make(
      Store&, const std::string& prefix, int rank, int size, int device, Milliseconds timeout);
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  // After what `current` holds now; `end` is recorded when all of it arrived and may be written again. The ranks make their calls in
  // the same order, and what one sends another receives with the same sizes.
  void exchange(const std::vector<Message>& sent, const std::vector<Message>& received, cuda::CUstream current,
      cuda::CUevent end);
  cuda::CUstream last_stream() const noexcept { return receiving_; }  // that of `end`
  void let_go();  // what waits for other ranks waits no longer; the messages are lost

 private:
  PeerMemory(int rank, int size, int device)
      : rank_(rank), size_(size), device_(device), sent_(size_t(size)), received_(size_t(size)) {}
  void make_streams();
  bool tried(int other);
  cuda::CUdeviceptr slot(int owner, int source, uint32_t number) const;
  cuda::CUdeviceptr flag(int owner, int other, bool freed) const;
  void send_piece(const Message&, size_t at, size_t bytes);
  void receive_piece(const Message&, size_t at, size_t bytes);
  const int rank_, size_, device_;
  std::unique_ptr<OpenedMemory> owned_;
  OpenedMemory* memory_ = nullptr;         // also while it is made
  std::vector<uint32_t> sent_, received_;  // pieces so far, by peer
  cuda::CUstream sending_ = nullptr, receiving_ = nullptr;
  cuda::CUevent begun_ = nullptr, sent_all_ = nullptr;
};

}  // namespace shim::distributed
