#include "autograd/piecewise_constant.h"

namespace shim {
namespace {

class FlatBackward final : public Node {  // what comes goes on, and zeros go to the input
 public:
  explicit FlatBackward(std::string name) : name_(std::move(name)) {}
  Grads apply(Grads&& grads) override {
    if (!grads[0] || !needs(1)) return {grads[0], Tensor()};
    const Edge& input = next_edges[1];  // of the write through a view: the whole base
    const auto& metas = input.node->inputs;
    const Dims sizes = input.input_nr < metas.size() ? metas[input.input_nr].sizes
                                                     : Dims(grads[0]->sizes().begin(), grads[0]->sizes().end());
    return {grads[0], engine_ops().zeros(sizes, grads[0]->dtype(), grads[0]->device())};
  }
  std::string name() const override { return name_; }

 private:
  std::string name_;
};

class FlatInputBackward final : public Node {
 public:
  Grads apply(Grads&& grads) override {
    if (!grads[0] || !GradMode::enabled() || !needs(0)) return {grads[0]};
    return {tied_to(grads[0], next_edges[0], "FlatBackward0")};
  }
  std::string name() const override { return "AliasBackward0"; }
};

class AliasBackward final : public Node {
 public:
  Grads apply(Grads&& grads) override { return {grads[0]}; }
  std::string name() const override { return "AliasBackward0"; }
};

}  // namespace

Tensor tied_to(const Tensor& gradient, const Edge& input, std::string name) {
  auto node = make<FlatBackward>(std::move(name));
  node->set_next_edges({gradient_edge(gradient), input});
  Tensor tied = detach(gradient);
  set_history(tied, node);
  return tied;
}

Tensor alias_with_history(const Tensor& input) {
  Tensor same = alias(*input);
  if (!input->requires_grad()) return same;
  auto node = make<AliasBackward>();
  node->set_next_edges({gradient_edge(input)});
  set_history(same, node);
  return same;
}

Tensor flat_input(const Tensor& input) {
  Tensor same = detach(input);
  auto node = make<FlatInputBackward>();
  node->set_next_edges({gradient_edge(input)});
  set_history(same, node);
  return same;
}

}  // namespace shim
