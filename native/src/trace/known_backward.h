#pragma once
// Backward passes that need not be run: what a pass over such a graph deferred, from this node of the tree on, it defers again.
#include "autograd/graph_reader.h"
#include "trace/session.h"

namespace shim::trace {

struct KnownBackward {
  struct Memory {  // of the graph's, that the pass read or wrote to
    uint32_t number, slot;
    bool fresh = false;  // met by the pass first
    uint32_t writes = 0;
  };
  struct Leaf {
    enum Gradient : uint8_t { kept, made } gradient = kept;  // kept: also where it was added to
    TensorSpec spec;                                         // of one that was made,
    uint32_t version = 0;                                    // and the version of its memory
  };
  struct Empty {  // memory that the pass had without an operator, to write to
    uint32_t slot;
    size_t nbytes;
    Device device;
  };
  std::vector<uint64_t> words;  // of the graph
  std::vector<Session::Deferred> path;
  std::vector<Scalar> numbers;
  std::vector<Memory> memories;
  std::vector<Empty> empty;
  std::vector<Leaf> leaves;    // as the reader has them
  std::vector<bool> released;  // of its nodes: what was saved for the pass went
};

// Does what the pass would do, if it is known; else calls `run`, and notes what it did. `state`: what else decides what operators do.
void backward_pass(Session&, const std::vector<Edge>& roots, const Grads& gradients, bool retain_graph,
    std::span<const uint64_t> state, const std::function<void()>& run);
// traced_backward: a pass of the session that is here.
void trace_backward(
    const std::vector<Edge>& roots, const Grads& gradients, bool retain_graph, const std::function<void()>& run);

}  // namespace shim::trace
