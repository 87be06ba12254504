#pragma once
// A group of processes over NCCL: collectives of CUDA tensors, on the current stream or, asynchronous, on the group's own.
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "distributed/group.h"
#include "distributed/nccl_library.h"
#include "distributed/peer_memory.h"
#include "distributed/small_collectives.h"
#include "distributed/store.h"

namespace shim::distributed {

// Tensors are contiguous and on one device. What works in place has the tensor as output. Lists have a tensor for each rank.
struct DeviceCollective {
  Act kind;
  Reduce op = Reduce::sum;
  double factor = 1;  // of a premultiplied sum, unless it stands in `factor_at`
  Tensor factor_at;
  std::vector<Tensor> inputs, outputs;
  int root = 0;                                      // or the peer
  std::vector<int64_t> input_counts, output_counts;  // elements for and of each rank, where they differ
  Milliseconds timeout{0};
  std::string name;
  bool later = false;  // asynchronous
};

class NcclGroup;

class NcclWork {
 public:
  NcclWork(std::shared_ptr<NcclGroup> group, std::vector<DeviceCollective>, int64_t sequence, int device);
  ~NcclWork();
  NcclWork(const NcclWork&) = delete;
  bool ended();                             // asks the device
  void order_current_stream();              // what the current stream gets from now on comes after
  void wait_on_host(Milliseconds at_most);  // throws Failure; 0: its own timeout
  void watch(Clock::time_point now);        // what the watchdog does: fails it where it has to
  std::string error() const;
  std::string text() const;  // what it is, for errors
  NcclGroup& group() const noexcept { return *group_; }
  cuda::CUevent event() const noexcept { return end_; }
  bool captured() const noexcept { return captured_; }

 private:
  friend class NcclGroup;
  enum class State : uint8_t { begun, running, done, failed };
  void fail(const std::string& why);
  void release();
  bool recorded();  // whether the tensors' memory may go: it is used again only after this
  const std::shared_ptr<NcclGroup> group_;
  mutable std::mutex lock_;
  std::vector<DeviceCollective> what_;  // keeps the tensors until the end, or until who waits is ordered behind it
  std::string name_;
  int64_t numel_in_ = 0, numel_out_ = 0;
  Milliseconds timeout_{0};
  const int64_t sequence_;
  const int device_;
  std::atomic<State> state_{State::begun};
  bool captured_ = false;
  cuda::CUevent end_ = nullptr;
  cuda::CUstream asked_ = nullptr;  // the current stream when it was begun
  cuda::CUstream on_ = nullptr;     // of messages by copies: where they end
  const Clock::time_point began_ = Clock::now();
  std::string error_;
};

struct DeviceComm {
  nccl::Comm comm = nullptr;
  cuda::CUstream stream = nullptr;          // of asynchronous collectives
  bool in_graphs = false;                   // CUDA graphs hold what was issued on it
  std::shared_ptr<SmallCollectives> small;  // null: small ones are NCCL's too
};

class NcclGroup : public std::enable_shared_from_this<NcclGroup> {
 public:
  NcclGroup(std::shared_ptr<Store>, std::string prefix, int rank, std::vector<int> members, std::string name,
      std::shared_ptr<const Peers>, Milliseconds meeting, bool high_priority);
  ~NcclGroup();
  // Null where it is not asynchronous. `start`, `end_coalescing` and `split` are called with the interpreter's lock, and let go of it.
  std::shared_ptr<NcclWork> start(DeviceCollective&&);
  void begin_coalescing();  // what is started from now on is issued together
  std::shared_ptr<NcclWork> end_coalescing(bool later, Milliseconds timeout);
  // Sends and receives by memory that the ranks' GPUs open to each other, asynchronously; all ranks make their calls in the same order.
  // Null where there is no such memory, and while a graph is captured.
  std::shared_ptr<NcclWork> exchange(std::vector<DeviceCollective>);
  // Each tensor of `inputs` goes to the rank in `to` at its place, and those of `outputs` come from the ranks in `from`.
  std::shared_ptr<NcclWork> exchange(const std::vector<Tensor>& inputs, const std::vector<int64_t>& to,
      const std::vector<Tensor>& outputs, const std::vector<int64_t>& from, Milliseconds timeout);
  // The same for sums and means: all_reduce of all outputs where they are, or reduce_scatter of each input to an output.
  std::shared_ptr<NcclWork> reduce_by_copies(DeviceCollective&&);
  DeviceComm& communicator(int device, cuda::CUstream current);  // made where there is none
  // The members of each part make a group of theirs; null for who is in none. All ranks call it.
  std::shared_ptr<NcclGroup> split(
      int device, int color, int key, std::vector<int> members, const std::string& name, Milliseconds timeout);
  void abort(const std::string& why);  // ends what runs on the device; everything that comes fails
  void shutdown();
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return int(members_.size()); }
  int64_t sequence() const noexcept { return sequence_; }
  std::string broken() const;

 private:
  friend class NcclWork;
  struct Asked {  // where a collective was started
    int device;
    cuda::CUstream current;
  };
  PeerMemory* peer_memory(int device);
  template <class F>
  std::shared_ptr<NcclWork> by_copies(int device, cuda::CUstream current, std::vector<DeviceCollective>, F&&);
  DeviceComm& pair(int device, cuda::CUstream current, int peer);
  DeviceComm make(int device, cuda::CUstream current, const std::string& key, int rank, int size);
  std::shared_ptr<NcclWork> run(std::vector<DeviceCollective>, DeviceComm&, Asked, bool later, bool alone);
  void issue(const DeviceCollective&, nccl::Comm, cuda::CUstream);
  void issue_reduction(const DeviceCollective&, nccl::Comm, cuda::CUstream);
  void issue_exchange(const DeviceCollective&, nccl::Comm, cuda::CUstream, size_t longer_than = 0);
  void issue_rooted(const DeviceCollective&, nccl::Comm, cuda::CUstream);
  void check_usable() const;
  const std::shared_ptr<Store> store_;
  const std::string prefix_;
  const int rank_;
  const std::vector<int> members_;  // ranks of the default group
  const std::string name_;
  const std::shared_ptr<const Peers> peers_;
  const Milliseconds meeting_;  // how long the others may take to come
  const bool high_priority_;
  std::atomic<int64_t> sequence_{0};
  mutable std::mutex lock_;  // of what follows
  std::map<int, DeviceComm> comms_;
  std::map<std::pair<int, int>, DeviceComm> pairs_;      // by device and peer: single messages
  std::map<int, std::unique_ptr<PeerMemory>> opened_;    // by device; null where it cannot be
  std::atomic<bool> is_broken_{false}, aborted_{false};  // refuses everything; what runs has failed
  std::string broken_;
  bool coalescing_ = false;
  std::vector<DeviceCollective> coalesced_;
};

// What all_to_all has for or of each rank: parts of one tensor, or tensors of a list.
struct Piece {
  char* data;
  size_t bytes;
};
std::vector<Piece> pieces_of(const std::vector<Tensor>&, const std::vector<int64_t>& counts, int size);

int device_of(const DeviceCollective&);  // of all its tensors, which are contiguous. Throws where they are on several

// The thread that looks at what runs. A work that fails there ends the process, unless `set_failure_handling` says otherwise.
void watch(std::shared_ptr<NcclWork>);
void end_watchdog();
// As TORCH_NCCL_ASYNC_ERROR_HANDLING: 0 nothing, 1 abort and end the process, 2 abort only, 3 end the process.
void set_failure_handling(int);
int failure_handling() noexcept;

// Events without timing, used again.
cuda::CUevent take_event(int device);
void give_event(int device, cuda::CUevent);

}  // namespace shim::distributed
