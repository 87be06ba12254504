#pragma once
// What a compiled function did when it ran: a tree of operators. Runs that began alike share a path, each way on is a branch.
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/held_object.h"
#include "core/tensor.h"
#include "ops/kernels.h"
#include "ops/operator.h"
#include "program/program.h"
#include "program/replay.h"

namespace shim::trace {

// A tensor by its memory and how it lies there: tensors over one memory have one slot, counted along the path as they are met.
struct TensorSpec {
  uint32_t slot = 0;
  bool fresh = false;  // the path meets the memory here for the first time
  bool conj = false, neg = false, wrapped_number = false;
  DType dtype = DType::f32;
  Device device;
  int64_t offset = 0;
  int64_t numel = 1;
  bool contiguous = true;
  Dims dims;          // sizes, then strides
  size_t nbytes = 0;  // of the memory

  static TensorSpec of(const TensorImpl&);
  bool alike(const TensorSpec&) const;  // but for sizes, strides and offset
  bool lies_like(const TensorImpl&) const;
  bool has_dims_of(const TensorImpl& t) const {  // most are few: no call is worth it
    const int64_t* of = t.sizes_data();
    const size_t n = dims.size();
    if (n != 2 * size_t(t.dim())) return false;
    for (size_t i = 0; i < n; ++i)
      if (dims[i] != of[i]) return false;
    return true;
  }
  IntArrayRef sizes() const { return {dims.data(), dims.size() / 2}; }
  IntArrayRef strides() const { return {dims.data() + dims.size() / 2, dims.size() / 2}; }
  Tensor over(Ref<Storage>) const;
};

struct ArgumentSpec {
  enum Kind : uint8_t { constant, tensor, tensors, parameter } kind = constant;
  Scalar::Type number = Scalar::Float;  // of a parameter: its value may be another each time
  uint32_t first = 0;                   // of TreeNode::inputs
  std::vector<bool> given;              // of a list: which of its items are tensors, the others are None
  program::Value value;                 // of a constant: it must be the same again
};

enum class Results : uint8_t { none, one, tuple, list };  // none: it wrote to its first argument

struct KnownBackward;  // trace/known_backward.h
struct Together {      // what a stretch of operators runs as
  Ref<program::Program> program;
  Ref<program::Replay> replay;  // null: it runs without a graph
  // The same program's, for calls before a backward pass that reads what the graphs before gave.
  mutable std::vector<Ref<program::Replay>> others{};
};

struct TreeNode;

// The operators that last ran together and ended with a node.
struct Ended {
  const TreeNode* first = nullptr;
  std::vector<uint32_t> slots;   // by the numbers that a program's storages have: in the order in which they are met
  std::vector<uint8_t> outlive;  // what the program was looked up by, beside where it begins and ends
  const Together* together = nullptr;
  uint64_t cleared = 0;  // Tree::cleared then: it is void when that is another
};

struct TreeNode {
  Operator* op = nullptr;
  TreeNode* before = nullptr;
  uint32_t depth = 0;         // how many operators lie before it
  uint32_t slots_before = 0;  // and how many memories they met
  uint32_t slots = 0;         // how many are met with this one
  Results form = Results::one;
  bool wants_gradient = false;
  bool apart = false;  // of a function that is not to be compiled: it stays an operator
  int device = -1;     // of CUDA, that it runs on
  std::vector<ArgumentSpec> arguments;
  std::vector<TensorSpec> inputs, results;
  std::string file;
  int line = 0;
  std::vector<std::shared_ptr<TreeNode>> next;
  std::vector<std::shared_ptr<KnownBackward>> backwards;  // passes that begin here
  // The same call with tensors of other sizes and with other integers: no way of its own, it goes on behind the node that it stands for.
  TreeNode* stands_for = nullptr;
  bool kept = true;  // by that node, of which it is one of `resized`; else only while it is deferred
  std::vector<std::shared_ptr<TreeNode>> resized;
  static constexpr size_t kMostSizes = 32;
  mutable Ended ended;
  mutable bool ends_part = false;  // what is deferred runs before the next operator, so that CUDA has something to do
  bool alike(const TreeNode&) const;
};

// Operators that ran together: from a node to another, with those of the memories met that somebody still has a tensor over.
struct Stretch {
  const TreeNode *first, *last;
  std::vector<uint8_t> outlive;
  std::vector<const TreeNode*> resized;  // those on the way that stand for others
  bool kept = true;                      // whether all are there at the next call
  void pass(const TreeNode& n) {
    if (n.stands_for) resized.push_back(&n);
    kept = kept && n.kept;
  }
  auto operator<=>(const Stretch&) const = default;
};

// Of a compiled function.
struct Tree {
  bool together = true;  // what is deferred runs as a Program; else operator by operator
  bool graphs = false;   // a Program on CUDA runs as a graph, once it was called a few times
  bool resizes = false;  // other sizes are no way of their own
  std::map<Stretch, Together> programs;
  std::map<std::pair<const TreeNode*, const TreeNode*>, Ref<program::GraphMemory>>
      graph_memory;                             // of a stretch's graphs, one a size
  uint64_t cleared = 0;                         // how often all of them went
  static constexpr size_t kMostPrograms = 512;  // a model with kernels of libraries has dozens of stretches a call
  Ref<HeldObject> backend;                      // a function that is given what is deferred as a graph; null: Programs
  std::map<Stretch, Ref<HeldObject>> lowered;   // what it made of that
  TreeNode root;
  size_t nodes = 0, ways = 0;                   // ways: how many ends there are
  std::unordered_set<const Operator*> aliases;  // operators that gave an argument's memory: they may not look at it
  bool apart_varies = false;                    // what functions did that are not to be compiled: they are left out
  std::unordered_set<const Operator*> leaves;   // operators made of others that a kernel took as one
  size_t most_ways = 8;
  bool full() const { return ways > most_ways || nodes > kMostNodes; }
  // Operators gave results that lie otherwise than was foreseen, so that they are copied. That is not to be at each call: all that was
  // learned goes, and the next call learns what operators give.
  void forget();
  bool foreseen_wrongly = false;
  static constexpr size_t kMostNodes = 200000;
};

}  // namespace shim::trace
