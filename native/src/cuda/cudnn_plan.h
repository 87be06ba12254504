#pragma once
// Execution plans of cuDNN's graph API for one convolution: the older functions make such a plan anew in each call.
#include <memory>

#include "cuda/cudnn.h"
#include "cuda/cudnn_library.h"

namespace shim::cudnn {

enum class Way : int { forward, input, weight };  // the result, or the gradient of an argument

// `x`, `y`: the images before and after a plain convolution; `w`: its weight. `last`: all with channels last.
struct Convolution {
  Way way;
  const Tensor &x, &y, &w;
  const Geometry& geometry;
  bool last;
};

class Plan {
 public:
  // The first of cuDNN's ranking that the settings and the room for a workspace allow. Null: it has none.
  static std::unique_ptr<Plan> make(Handle, const Convolution&);
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  size_t workspace() const { return workspace_; }
  bool run(Handle, const Convolution&, void* workspace) const;

 private:
  Plan(Descriptor plan, size_t workspace) : plan_(plan), workspace_(workspace) {}
  Descriptor plan_;
  size_t workspace_;
};

int type_number(DType);  // cudnnDataType_t; -1: none
constexpr size_t kMostWorkspace = size_t(1) << 30;
int alignment_of(const Tensor&);  // of its memory: 16 or a smaller power of two

}  // namespace shim::cudnn
