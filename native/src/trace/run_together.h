#pragma once
#include "trace/session.h"

namespace shim::trace {

// Runs what is deferred as a Program (program/program.h): made once for a stretch of the tree and what of it is still wanted. False: there
// is none for it.
bool run_as_program(
    Session&, std::span<const Session::Deferred>, std::span<const Scalar> numbers, std::vector<Ref<Storage>>& storages);
// The program's part of it, with an error of the line that called the operator which failed; the graph as which it ran, or null.
program::Replay* run_program(
    const Together&, program::Storages given, std::span<const Scalar> numbers, std::span<const Session::Deferred> path);

}  // namespace shim::trace
