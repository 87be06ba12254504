#pragma once
// What a backend of the user's is given of a stretch, and what it gives.
#include "trace/session.h"

namespace shim::trace {

struct Boundary {  // between a stretch and what is around it
  std::vector<TensorSpec> given,
      wanted;  // a tensor over each memory that was there, and over each new one that somebody has
};

Boundary boundary_of(std::span<const Session::Deferred>, const std::vector<Ref<Storage>>&);
// The backend's tensors become the memory of those that were given out. One that shares memory with another is copied.
void take(const Boundary&, const std::vector<Tensor>& made, std::vector<Ref<Storage>>& storages);

}  // namespace shim::trace
