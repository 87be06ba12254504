#pragma once
// File descriptors between the processes of one host, over sockets that the store's keys name.
#include <memory>
#include <string>
#include <vector>

#include "distributed/store.h"

namespace shim::distributed {

// Each rank's own descriptor, for every rank of a group; all call it. Throws Failure where they are not on one host or do not come in time.
// The caller closes them; this rank's place is -1.
std::vector<int> exchange_descriptors(
    Store&, const std::string& prefix, int rank, int size, int own, Milliseconds timeout);
// Whether all ranks say yes. Throws Failure where they do not come in time.
bool all_agree(Store&, const std::string& prefix, int rank, int size, bool yes, Milliseconds timeout);

}  // namespace shim::distributed
