#pragma once
// File descriptors between the processes of one host, over sockets that the store's keys name.
#include <memory>
#include <string>
#include <vector>

#include "distributed/store.h"

namespace shim::distributed {

// All ranks of a group call these. They throw Failure where the others do not come in time.
bool on_one_host(Store&, const std::string& key, int rank, Milliseconds timeout);  // with rank 0
bool all_agree(Store&, const std::string& prefix, int size, bool yes, Milliseconds timeout);
// Each rank's own descriptor, for every rank on this host. The caller closes them; this rank's place is -1.
std::vector<int> exchange_descriptors(
    Store&, const std::string& prefix, int rank, int size, int own, Milliseconds timeout);

}  // namespace shim::distributed
