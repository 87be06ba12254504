#pragma once
// A call of a compiled function that is known whole: what the function gives depends on nothing but its arguments and on names that stand
// for what they did (src/python looks at those), and its operators are one program. Its Python need not run again.
#include <memory>

#include "trace/session.h"

namespace shim::trace {

// What a call finds beside its arguments.
struct Surroundings {
  bool gradients;
  DType dtype;  // the default one
  int device;   // of CUDA, the current one
  static Surroundings now();
  bool operator==(const Surroundings&) const = default;
};

class Whole {
 public:
  using Tensors = std::span<TensorImpl* const>;
  // Of a call that is about to run what it deferred, which is all that it did; null: there is more to it than its arguments and results.
  static std::unique_ptr<Whole> of(const Session&, Tensors arguments, Tensors results);
  bool ran(const Session&);  // after that; false: it was no single program
  bool fits(Tensors arguments) const;
  void run(Tensors arguments, std::vector<Tensor>& results);

 private:
  Whole() = default;
  struct Argument {
    TensorSpec spec;
    size_t same_tensor, same_memory;  // the first argument that is, or has
  };
  struct Result {
    TensorSpec spec;
    size_t storage;  // of the program's
    bool last;       // of those that lie in it
  };
  Surroundings surroundings_ = Surroundings::now();
  std::vector<Argument> arguments_;
  std::vector<Result> results_;
  std::vector<int>
      from_;  // for each of the program's storages: the argument whose memory it is; -1: the program makes it
  std::vector<Scalar> numbers_;
  std::vector<Session::Deferred> path_;
  std::vector<Ref<Storage>> given_;  // keeps its room
  Together together_;
};

}  // namespace shim::trace
