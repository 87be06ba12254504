#pragma once
// The nodes that the engine itself makes.
#include "autograd/autograd.h"

namespace shim {

struct Geometry { Dims sizes, strides; int64_t offset = 0; };
inline Geometry geometry_of(const TensorImpl& t) {
  return {Dims(t.sizes().begin(), t.sizes().end()), Dims(t.strides().begin(), t.strides().end()), t.storage_offset()};
}

class AccumulateGrad final : public Node {      // the end of the line: adds to a leaf's .grad
 public:
  explicit AccumulateGrad(Tensor variable);
  ~AccumulateGrad() override;
  Grads apply(Grads&&) override;
  std::string name() const override { return "torch::autograd::AccumulateGrad"; }
  std::vector<Ref<Hook>> tensor_hooks() override;
  const Tensor& variable() const { return variable_; }

 private:
  Tensor variable_;
};

class CopySlices final : public Node {          // an in-place write through a view, seen from the base
 public:
  CopySlices(const TensorImpl& base, const TensorImpl& view, Ref<Node> function);
  Grads apply(Grads&&) override;
  void release_saved() override { if (function_) function_->release_saved(); }
  std::string name() const override { return "torch::autograd::CopySlices"; }

 private:
  Geometry base_, view_;
  Ref<Node> function_;
};

class AsStridedBackward final : public Node {   // a view whose base was written to: its gradient lies within the base's
 public:
  AsStridedBackward(const TensorImpl& base, const TensorImpl& view);
  Grads apply(Grads&&) override;
  std::string name() const override { return "AsStridedBackward0"; }

 private:
  Geometry base_, view_;
  DType dtype_;
  Device device_;
};

}  // namespace shim
