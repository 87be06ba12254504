#pragma once
#include "trace/session.h"

namespace shim::trace {

// Runs what is deferred as a Program (program/program.h): made once for a stretch of the tree and what of it is still wanted. False: there
// is none for it.
bool run_as_program(
    Session&, std::span<const Session::Deferred>, std::span<const Scalar> numbers, std::vector<Ref<Storage>>& storages);

}  // namespace shim::trace
