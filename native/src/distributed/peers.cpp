#include "distributed/peers.h"

namespace shim::distributed {
namespace {

// What a rank sent before it went may still arrive. One that left in order had done all its own part, but others of its
// group may still be passing the result on.
bool over(Clock::time_point since, bool in_order) {
  return Clock::now() - since > (in_order ? Milliseconds(5000) : Milliseconds(100));
}

}  // namespace

void Peers::gone(int rank, bool in_order) {
  const std::lock_guard held(lock_);
  if (gone_.try_emplace(rank, Gone{in_order, Clock::now()}).second) ++changes_;
}

void Peers::lost() {
  const std::lock_guard held(lock_);
  if (lost_) return;
  lost_ = true, lost_since_ = Clock::now();
  ++changes_;
}

std::string Peers::hopeless(const std::vector<int>& ranks) const {
  const std::lock_guard held(lock_);
  for (const int rank : ranks) {
    const auto found = gone_.find(rank);
    if (found != gone_.end() && over(found->second.since, found->second.in_order))
      return str("rank ", rank, found->second.in_order ? " has left" : " has ended, or its connection was lost");
    // Rank 0 serves the store, or a launcher does that ends its workers: others can go on without.
    if (rank == 0 && lost_ && over(lost_since_, found != gone_.end()))
      return "the process that serves the store, rank 0 or the launcher, has ended";
  }
  return {};
}

}  // namespace shim::distributed
