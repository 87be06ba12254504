#pragma once
// Where the loops of a group's nodes write, block by block.
#include <functional>

#include "cpu/convert.h"
#include "program/group.h"

namespace shim::program {

struct NodePlaces {
  std::vector<int> places_;                   // the buffer of each node; -1: none
  std::vector<int> direct_;                   // the store into whose memory a node's loop writes; -1: into its buffer
  std::vector<const Conversion*> to_, back_;  // of conversions
  int buffers_ = 0;
  int64_t element_ = 1;  // bytes of the largest

  // `suits`: whether a node's loop may write right into a store of its values. A buffer that nobody reads any more is used again.
  void place_nodes(const Group&, const std::function<bool(size_t store, size_t node)>& suits);
};

}  // namespace shim::program
