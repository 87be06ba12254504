#pragma once
// Messages and sums through memory that the GPUs of one host open to each other. The copy engines carry them and streams wait for numbers
// in memory, so that few multiprocessors are taken, and for a short time, from the kernels that run meanwhile.
#include <memory>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "distributed/opened_memory.h"

namespace shim::distributed {

class PeerMemory {
 public:
  struct Message {
    int peer;
    void* data;
    size_t bytes;
  };
  struct Rows {  // one for each rank, one behind the other
    void* data;
    size_t bytes;  // of a row
    void* out;     // where the sum of this rank's rows goes: the row itself, or elsewhere
    DType dtype;
  };
  // Every rank of a group calls it. Null in all of them where it cannot be in one.
  static std::unique_ptr<PeerMemory> make(
      Store&, const std::string& prefix, int rank, int size, int device, Milliseconds timeout);
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  // After what `current` holds now; `end` is recorded when all of it arrived and may be written again. The ranks make their calls in
  // the same order, and what one sends another, or itself, receives with the same sizes. Gives the stream of `end`.
  cuda::CUstream exchange(const std::vector<Message>& sent, const std::vector<Message>& received,
      cuda::CUstream current, cuda::CUevent end);
  // In the same way: each rank's rows, multiplied by `factor` unless it is 1, added up in the order of the ranks. `spread`: the sums are
  // the rows of all ranks then.
  cuda::CUstream reduce(
      const std::vector<Rows>&, double factor, bool spread, cuda::CUstream current, cuda::CUevent end);
  static bool reduces(DType, int size);
  void let_go();  // what waits for other ranks waits no longer; the messages are lost

 private:
  enum { messages, rows, sums, kChannels };
  // A stream, and numbers to write and to wait for that it gets together, in one call, before what comes next.
  struct Line {
    cuda::CUstream stream = nullptr;
    std::vector<cuda::BatchedNumber> numbers;
  };
  struct Channel {
    std::vector<uint32_t> sent, received;  // pieces so far, by peer
    Line out, in;
  };
  struct Sent {
    int peer;
    cuda::CUdeviceptr from;
    size_t bytes;
  };
  PeerMemory(int rank, int size, int device);
  void make_streams();
  size_t piece_bytes(size_t row) const;
  bool tried(int other);
  cuda::CUdeviceptr slot(int channel, int owner, int source, uint32_t number) const;
  cuda::CUdeviceptr flag(int channel, int owner, int other, bool freed) const;
  void begin(cuda::CUstream current, std::initializer_list<Line*>);
  void join(Line& first, Line& later);
  // CU_STREAM_MEM_OP_{WAIT,WRITE}_VALUE_32; waits are for at least the number, which wraps.
  enum : unsigned { kWait = 1, kWrite = 2 };
  static void number(Line& line, unsigned act, cuda::CUdeviceptr at, uint32_t value) {
    line.numbers.push_back({act, at, value});
  }
  void flush(Line&);
  void send_pieces(int channel, const std::vector<Sent>&, size_t first, size_t count);
  void await_slot(int channel, int peer);
  cuda::CUdeviceptr await_piece(int channel, int peer);
  void free_piece(int channel, int peer);
  void receive_piece(int channel, int peer, cuda::CUdeviceptr to, size_t bytes);
  void add_pieces(const Rows&, size_t at, size_t bytes, double factor);
  const int rank_, size_, device_;
  const size_t slot_bytes_;
  bool batches_ = false;  // the driver takes several numbers in one call
  std::unique_ptr<OpenedMemory> owned_;
  OpenedMemory* memory_ = nullptr;  // also while it is made
  Channel channels_[kChannels];
  cuda::CUevent between_ = nullptr;
};

}  // namespace shim::distributed
