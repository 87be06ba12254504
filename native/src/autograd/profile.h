#pragma once
// What a profile records of operators and of the nodes of backward passes. With the GIL.
#include <string>
#include <tuple>
#include <vector>

#include "autograd/autograd.h"

namespace shim::profile {

extern bool on, with_shapes;
void set(bool record, bool shapes);

// Name, start and end (nanoseconds of the monotonic clock), thread, sequence number (of the node that an operator made, or
// that ran), whether of a backward pass; of each argument how many tensors a list has, -1 of a tensor; all their sizes;
// those of the result, if it is a tensor.
using Row =
    std::tuple<std::string, int64_t, int64_t, int64_t, int64_t, bool, Dims, std::vector<Dims>, std::vector<Dims>>;
std::vector<Row> take();  // what was recorded since the last call and is over

class Call {  // of an operator, or of a node
 public:
  explicit Call(std::string name, int64_t of_node = -1);
  Call(const Call&) = delete;
  ~Call();
  void argument(bool tensor);  // the next; its tensors follow
  void tensor(const TensorImpl&);
  void gave(const TensorImpl& result);

 private:
  size_t event_;
};

}  // namespace shim::profile
