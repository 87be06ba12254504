#pragma once
// The processes of a default group: how they became one MPI world, and the groups that are made of them.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "distributed/store.h"

namespace shim::distributed {

class NcclGroup;
class ProcessGroup;

class Session : public std::enable_shared_from_this<Session> {
 public:
  // Meets the other ranks by the store's keys under `prefix`. Throws Failure when they do not come in time.
  Session(std::shared_ptr<Store>, std::string prefix, int rank, int size, Milliseconds timeout, bool by_mpi);
  // The group of these ranks, which all of its members make at once; `tag` is the same for all and no other group's now.
  std::shared_ptr<ProcessGroup> group(
      const std::vector<int>& ranks, int tag, const std::string& name, Milliseconds timeout);
  // The same for CUDA tensors; its communicator is made when first needed. `key`: the group's own.
  std::shared_ptr<NcclGroup> nccl_group(const std::vector<int>& ranks, const std::string& key, const std::string& name,
      Milliseconds timeout, bool high_priority);
  int rank() const noexcept { return rank_; }
  const Peers& peers() const noexcept { return *peers_; }
  void leave() { membership_.reset(); }

 private:
  std::vector<int> meet(int64_t timeout);
  void arrive(int64_t timeout);
  std::string announcement(int64_t timeout);
  std::shared_ptr<Store> store_;
  const std::string prefix_;
  const int rank_, size_;
  std::shared_ptr<Peers> peers_ = std::make_shared<Peers>();
  std::shared_ptr<void> membership_;
  std::vector<int> mpi_ranks_;  // by rank; empty without MPI
};

// Runs what MPI may never come back from in a thread of its own; throws after the time, or when `hopeless` gives a reason.
void bounded(
    const char* what, Milliseconds timeout, const std::function<std::string()>& hopeless, std::function<void()>);
void check_same_process();  // throws in a fork of the process that entered the MPI world
void end_mpi();             // before the interpreter ends
bool ending() noexcept;

}  // namespace shim::distributed
