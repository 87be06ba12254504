#pragma once
// Groups as they run.
#include <array>

#include "program/group.h"

namespace shim::program {

// A number as kernels get it: at most 16 bytes.
void number_bytes(const Number&, std::span<const Scalar> parameters, char* bytes);

// A group's loops over blocks of elements that stay in the processor's cache: each operator is its vector loop over a block.
class CpuGroup {
 public:
  explicit CpuGroup(const Group&);
  void run(const Group&, Storages, std::span<const Scalar> parameters) const;

 private:
  friend struct BlockRun;
  void place_nodes(const Group&);
  bool read_later(const Group&, const TensorRef&, size_t node) const;
  struct Move {                  // of a load or store
    std::vector<int64_t> steps;  // bytes along the nest's dims, innermost first
    const Conversion* conversion;
    int64_t size;           // of an element in memory
    bool packed = false;    // the elements lie in the nest's order
    bool one = false;       // one element for all
    bool as_it_is = false;  // of the dtype that is computed in
  };
  std::vector<int64_t> sizes_;  // of the nest, innermost first
  std::vector<Move> loads_, stores_;
  std::vector<int> places_;                   // the buffer of each node
  std::vector<int> direct_;                   // the store into whose memory a node's loop writes; -1: into its buffer
  std::vector<const Conversion*> to_, back_;  // of conversions
  int buffers_ = 0;
  int64_t block_ = 0, element_ = 0;  // elements of a block, bytes of the largest
};

}  // namespace shim::program
