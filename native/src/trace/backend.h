#pragma once
// What is deferred, by a backend of the user's: what it made of it is called.
#include "trace/session.h"

namespace shim::trace {

// compile/backends.py's: (backend, nodes, given, wanted, tensors) -> a function of the tensors.
inline Ref<HeldObject> lowering;

bool run_by_backend(Session&, std::span<const Session::Deferred>, std::vector<Ref<Storage>>& storages);

}  // namespace shim::trace
