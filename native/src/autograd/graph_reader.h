#pragma once
// What a backward pass looks at, written down as words: passes over two graphs of the same words call the same operators with the same
// numbers, on memory that stands in the same places. For traces, which know what a pass over such a graph did (trace/known_backward.h).
#include <span>
#include <vector>

#include "autograd/autograd.h"

namespace shim {

class AccumulateGrad;
struct Value;

class GraphReader {
 public:
  GraphReader();
  virtual ~GraphReader();
  // False: something in it may do what words do not tell (hooks, functions of users, memory that is gone or was written to since).
  bool read(const std::vector<Edge>& roots, const Grads& gradients);

  void word(uint64_t w) { words_.push_back(w); }
  void pointer(const void* p) { word(reinterpret_cast<uintptr_t>(p)); }
  void dims(IntArrayRef d) {
    word(d.size());
    for (int64_t n : d) word(uint64_t(n));
  }
  bool tensor(const Tensor&);  // may be null
  bool value(const Value&);

  const std::vector<uint64_t>& words() const { return words_; }
  const std::vector<Node*>& nodes() const { return nodes_; }  // but for leaves, in the order of the pass
  const std::vector<AccumulateGrad*>& leaves() const { return leaves_; }

 protected:
  virtual bool memory(const Ref<Storage>&) = 0;  // writes down which it is

 private:
  struct Arrival {  // an edge that leads to a node
    uint64_t sequence;
    Node* node;
    uint32_t from, edge, input;
    bool operator<(const Arrival& o) const {  // which comes later in the pass
      if (sequence != o.sequence) return sequence < o.sequence;
      return from != o.from ? from > o.from : edge > o.edge;
    }
  };
  void arrive(const Edge&, size_t from, size_t edge);
  bool node(Node&);
  bool leaf(AccumulateGrad&);
  const uint64_t number_;  // of this reader
  std::vector<uint64_t> words_;
  std::vector<Arrival> heap_;
  std::vector<Node*> nodes_;
  std::vector<AccumulateGrad*> leaves_;
};

}  // namespace shim
