#pragma once
// Numbers that a captured graph reads from memory, for they are others at each replay: an optimizer's rate, what its step count makes of
// it. While the graph is captured each launch is given a place for its numbers; before a replay the operators that launched are asked for
// them again, in the same order, and launch nothing.
#include <vector>

#include "core/storage.h"
#include "cuda/driver.h"

namespace shim::cuda {

class GraphNumbers {
 public:
  static constexpr size_t kMostBytes = 1024;  // of a launch
  GraphNumbers(int device, size_t launches);
  // Of a launch for so many tensors: where it finds its numbers. The host's bytes are copied.
  const void* place(const void* numbers, size_t bytes, size_t tensors);
  // Whether numbers are asked for and nothing is launched; for how many tensors the next launch was.
  bool renews() const { return renews_; }
  size_t next_tensors() const;
  void renew();
  bool all_renewed() const { return at_ == places_.size(); }
  void upload(CUstream) const;

 private:
  struct Place {
    size_t bytes, tensors;
  };
  int device_;
  Ref<Storage> memory_;
  std::vector<std::byte> host_;
  std::vector<Place> places_;
  size_t at_ = 0;
  bool renews_ = false;
};

inline GraphNumbers* graph_numbers =
    nullptr;  // while a graph is captured, or its numbers are renewed, on the thread with the lock
struct WithGraphNumbers {
  GraphNumbers* before = graph_numbers;
  explicit WithGraphNumbers(GraphNumbers* numbers) { graph_numbers = numbers; }
  ~WithGraphNumbers() { graph_numbers = before; }
};

}  // namespace shim::cuda
