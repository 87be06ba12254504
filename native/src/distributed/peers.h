#pragma once
// Which ranks of a world are gone: told by the store's connections, read by everything that waits.
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "distributed/failure.h"

namespace shim::distributed {

class Peers {
 public:
  // What was told so far; a wait looks closer only where it is not 0.
  int changes() const noexcept { return changes_.load(std::memory_order_acquire); }
  void gone(int rank, bool in_order);
  void lost();  // the store's server ended, and whoever ran it
  // Why a call that waits for these ranks cannot end; empty where it still may.
  std::string hopeless(const std::vector<int>& ranks) const;

 private:
  struct Gone {
    bool in_order;
    Clock::time_point since;
  };
  mutable std::mutex lock_;
  std::atomic<int> changes_{0};
  std::map<int, Gone> gone_;
  bool lost_ = false;
  Clock::time_point lost_since_;
};

}  // namespace shim::distributed
