#pragma once
// A group of processes over an MPI communicator: what is asked of it, and the work that it gives back.
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.h"
#include "distributed/mpi_library.h"
#include "distributed/peers.h"

namespace shim::distributed {

enum class Act : uint8_t {
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  gather,
  scatter,
  reduce_scatter,
  all_to_all,
  barrier,
  send,
  receive
};

// torch.distributed.ReduceOp.RedOpType's numbers.
enum class Reduce : uint8_t { sum, avg, product, min, max, band, bor, bxor, premul_sum };

// Tensors are contiguous and on the CPU; a gather's output and a scatter's input hold every rank's part, one behind the other.
struct Collective {
  Act kind;
  Reduce op = Reduce::sum;
  Tensor input, output;  // of what works in place: output
  int root = 0;          // or the peer; -1: any
  int tag = 0;
  std::vector<int64_t> input_counts, output_counts;    // elements for and of each rank, where they differ
  std::vector<std::pair<Tensor, Tensor>> copies = {};  // from, to: when it is done
  Milliseconds timeout{0};
  std::string name;  // as errors call it
};

class ProcessGroup;

class Work {
 public:
  Work(std::shared_ptr<ProcessGroup> group, Collective&&, int64_t sequence);
  ~Work();
  Work(const Work&) = delete;
  bool advance();                   // tests once; whether it ended, well or not
  void look();                      // the same, and whether it has to fail
  void wait(Milliseconds at_most);  // throws Failure; 0: its own timeout
  bool ended() const noexcept { return state_ != State::running; }
  std::string error() const;  // empty: none
  int source() const noexcept { return status_.source; }

 private:
  friend class ProcessGroup;
  enum class State : uint8_t { running, done, failed };
  bool advance_held();
  void look_for_failure(Clock::time_point now, Clock::time_point until);
  void fail(const std::string& why);
  void finish();
  std::shared_ptr<ProcessGroup> group_;
  mutable std::mutex lock_;  // who tests the request
  std::atomic<State> state_{State::running};
  Collective what_;
  mpi::Request request_ = mpi::kNoRequest;
  mpi::Status status_{};
  std::vector<mpi::Count> counts_[2];
  std::vector<intptr_t> places_[2];
  const int64_t sequence_;
  const Clock::time_point began_ = Clock::now();
  std::string error_;
};

class ProcessGroup : public std::enable_shared_from_this<ProcessGroup> {
 public:
  ProcessGroup(mpi::Comm, int rank, std::vector<int> members, std::string name, std::shared_ptr<const Peers>);
  ~ProcessGroup();
  std::shared_ptr<Work> start(Collective&&);
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return int(members_.size()); }
  int64_t sequence() const noexcept { return sequence_; }
  void abort(const std::string& why);  // everything that runs and comes fails

 private:
  friend class Work;
  std::string broken() const;
  void issue(Work&);
  void issue_reduction(Work&);
  void issue_exchange(Work&);
  const mpi::Comm comm_;
  const int rank_;
  const std::vector<int> members_;  // ranks of the default group
  const std::string name_;
  const std::shared_ptr<const Peers> peers_;
  std::atomic<int64_t> sequence_{0};
  mutable std::mutex lock_;
  std::atomic<bool> is_broken_{false};
  std::string broken_;
};

void watch_progress(std::shared_ptr<Work>);  // a thread looks at it until it ended, also while nobody waits
void end_progress();

}  // namespace shim::distributed
