#pragma once
// PMI-1, by which MPI processes find each other, served to this process itself out of a store: no launcher is needed.
#include <memory>
#include <string>

#include "distributed/store.h"

namespace shim::distributed {

struct Seat {  // of a process in a world that forms
  int rank, size;
  std::string world;    // its name, which no other world of the machine has
  std::string mapping;  // which ranks are on which host, as PMI writes it
};

// The variables of the environment that MPI_Init reads, until it is dropped. The thread that answers lives as long as the process.
class PmiEnvironment {
 public:
  PmiEnvironment(const Seat&, std::shared_ptr<Store>, std::string prefix, int64_t timeout);
  ~PmiEnvironment();
  PmiEnvironment(const PmiEnvironment&) = delete;
};

}  // namespace shim::distributed
