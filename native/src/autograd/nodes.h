#pragma once
// The nodes that the engine itself makes.
#include "autograd/autograd.h"

namespace shim {

struct Geometry {
  Dims sizes, strides;
  int64_t offset = 0;
  DType dtype = DType::undefined;
  bool conj = false, neg = false;
};
inline Geometry geometry_of(const TensorImpl& t) {
  return {Dims(t.sizes().begin(), t.sizes().end()), Dims(t.strides().begin(), t.strides().end()), t.storage_offset(),
      t.dtype(), t.is_conj, t.is_neg};
}

Tensor replay_view(
    const Tensor& view, const Tensor& new_base, bool checked);  // the same view of another base; null: not of this one

class AccumulateGrad final : public Node {  // the end of the line: adds to a leaf's .grad
 public:
  explicit AccumulateGrad(Tensor variable);
  ~AccumulateGrad() override;
  Grads apply(Grads&&) override;
  std::string name() const override { return "torch::autograd::AccumulateGrad"; }
  std::vector<Ref<Hook>> tensor_hooks() override;
  const Tensor& variable() const { return variable_; }
  uint64_t reader = 0;   // of GraphReaders: who met it last,
  uint32_t read_as = 0;  // and as which leaf
  void traverse(Visitor& v) const override {
    Node::traverse(v);
    v.tensor(variable_);
  }

 private:
  Tensor variable_;
};

class CopySlices final : public Node {  // an in-place write through a view, seen from the base
 public:
  CopySlices(const TensorImpl& base, const TensorImpl& view, Ref<Node> function, Ref<ViewReplay> replay);
  Grads apply(Grads&&) override;
  void release_saved() override {
    if (function_) function_->release_saved();
  }
  std::string name() const override { return "torch::autograd::CopySlices"; }
  void traverse(Visitor& v) const override {
    Node::traverse(v);
    v.shared(function_.get());
    v.shared(replay_.get());
  }

 private:
  Geometry base_, view_;
  Ref<Node> function_;
  Ref<ViewReplay> replay_;
};

class AsStridedBackward final : public Node {  // a view whose base was written to: its gradient lies within the base's
 public:
  AsStridedBackward(const TensorImpl& base, const TensorImpl& view, const Node* replaced);
  Grads apply(Grads&&) override;
  std::string name() const override { return name_; }

 private:
  Geometry base_, view_;
  Device device_;
  std::string name_;  // of the view's own operator where its elements are not the base's: ConjBackward0
};

class Refuses final : public Node {  // of an operator without a derivative: an error, but only if backward comes here
 public:
  Refuses(std::string name, Kind kind, std::string text)
      : name_(std::move(name)), kind_(kind), text_(std::move(text)) {}
  Grads apply(Grads&&) override { fail(kind_, text_); }
  std::string name() const override { return name_; }

 private:
  std::string name_;
  Kind kind_;
  std::string text_;
};

}  // namespace shim
