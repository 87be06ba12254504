#pragma once
// What tensors know of autograd: nodes, hooks, torch::autograd::grad and backward; and their storage.
#include <shim/functions.h>

namespace torch {
namespace autograd {

struct Node {  // a Python object
  shim::Object object;
  std::string name() const { return shim::python<std::string>("node_name", object); }
  uint32_t num_outputs() const { return uint32_t(shim::python<int64_t>("node_inputs", object)); }
};

// One gradient an input; undefined where `allow_unused` and none. Errors: those of torch.autograd.grad.
inline std::vector<at::Tensor> grad(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& inputs,
    const std::vector<at::Tensor>& grad_outputs = {}, std::optional<bool> retain_graph = std::nullopt,
    bool create_graph = false, bool allow_unused = false) {
  return shim::python<std::vector<at::Tensor>>("grad", at::TensorList(outputs), at::TensorList(inputs),
      at::TensorList(grad_outputs), retain_graph, create_graph, allow_unused);
}
inline void backward(const std::vector<at::Tensor>& tensors, const std::vector<at::Tensor>& grad_tensors = {},
    std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
    const std::vector<at::Tensor>& inputs = {}) {
  shim::python<void>("backward", at::TensorList(tensors), at::TensorList(grad_tensors), retain_graph, create_graph,
      at::TensorList(inputs));
}

}  // namespace autograd
}  // namespace torch

namespace at {

struct Tensor::Grad : Tensor {  // assigning it sets the tensor's gradient
  Grad(const Tensor& owner) : Tensor(owner.grad()), owner_(owner) {}
  Grad& operator=(const Tensor& g) {
    owner_.set_grad(g);
    static_cast<Tensor&>(*this) = g;
    return *this;
  }
  void reset() { *this = Tensor(); }

 private:
  Tensor owner_;
};
inline Tensor::Grad Tensor::mutable_grad() const { return Grad(*this); }

inline Tensor Tensor::attribute(const char* name) const { return shim::python<Tensor>("attribute", *this, name); }
inline void Tensor::set_grad(const Tensor& g) const { shim::python<void>("set_attribute", *this, "grad", g); }
inline void Tensor::record_stream(Stream s) const { shim::python<void>("method", *this, "record_stream", s); }
inline bool Tensor::is_conj() const { return shim::python<bool>("method", *this, "is_conj"); }
inline bool Tensor::is_neg() const { return shim::python<bool>("method", *this, "is_neg"); }
inline bool Tensor::is_inference() const { return shim::python<bool>("method", *this, "is_inference"); }
inline bool Tensor::retains_grad() const { return shim::python<bool>("attribute", *this, "retains_grad"); }
inline int64_t Tensor::output_nr() const { return shim::python<int64_t>("attribute", *this, "output_nr"); }
inline void Tensor::retain_grad() const { shim::python<void>("method", *this, "retain_grad"); }
inline void Tensor::set_data(const Tensor& o) const { shim::python<void>("set_attribute", *this, "data", o); }
inline bool Tensor::is_alias_of(const Tensor& o) const { return shim::python<bool>("alias_of", *this, o); }
inline std::string Tensor::toString() const { return type().toString(); }
inline bool Tensor::is_non_overlapping_and_dense() const {
  return shim::python<bool>("non_overlapping_and_dense", sizes(), strides());
}
inline c10::MaybeOwned<Tensor> Tensor::expect_contiguous(MemoryFormat f) const {
  return is_contiguous(f) ? c10::MaybeOwned<Tensor>::borrowed(*this) : c10::MaybeOwned<Tensor>::owned(contiguous(f));
}
inline std::shared_ptr<torch::autograd::Node> Tensor::grad_fn() const {
  auto node = shim::python<shim::Object>("attribute", *this, "grad_fn");
  return node.cell().tag == SHIM_NONE ? nullptr : std::make_shared<torch::autograd::Node>(torch::autograd::Node{node});
}
inline void Tensor::backward() const { torch::autograd::backward({*this}); }
inline void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph, bool create_graph,
    const std::optional<ArrayRef<Tensor>>& inputs) const {
  std::vector<Tensor> with;
  if (gradient.defined()) with.push_back(gradient);
  torch::autograd::backward({*this}, with, retain_graph, create_graph, inputs ? inputs->vec() : std::vector<Tensor>());
}

namespace hooks {
template <class F> int run(void* hook, const ShimCell* args, size_t n, ShimCell* results, size_t) {
  return shim::guarded([&] {
    TORCH_CHECK(n == 1, "a hook takes one gradient, got ", n);
    auto* handle = static_cast<ShimTensor*>(const_cast<void*>(args[0].p));
    if (args[0].tag == SHIM_TENSOR && handle) shim_cxx_retain(handle);
    Tensor given = Tensor::shim_adopt(args[0].tag == SHIM_TENSOR ? handle : nullptr);
    if constexpr (std::is_void_v<decltype((*static_cast<F*>(hook))(given))>) {
      (*static_cast<F*>(hook))(given);
    } else {
      const Tensor made = (*static_cast<F*>(hook))(given);
      if (made.defined()) shim_cxx_retain(made.shim_handle());
      results[0] = made.defined() ? shim::cell(made) : shim::none_cell();
    }
  });
}
}  // namespace hooks
// Run on the gradient when it is there; what it gives, if anything, goes on in the gradient's place.
template <class F> unsigned Tensor::register_hook(F&& hook) const {
  using Hook = std::decay_t<F>;
  ShimCell callable{};
  shim::check(shim_cxx_callable(
      &hooks::run<Hook>, new Hook(std::forward<F>(hook)), [](void* p) { delete static_cast<Hook*>(p); }, &callable));
  const shim::Object kept = shim::object_taken(callable);
  return unsigned(shim::python<int64_t>("register_hook", *this, kept));
}

struct Storage {  // a torch.UntypedStorage
  shim::Object object;
  size_t nbytes() const { return size_t(shim::python<int64_t>("storage_bytes", object)); }
  void* mutable_data() const { return reinterpret_cast<void*>(shim::python<int64_t>("storage_data", object)); }
  const void* data() const { return mutable_data(); }
  bool is_alias_of(const Storage& o) const { return data() == o.data(); }
};
inline Storage Tensor::storage() const { return {shim::python<shim::Object>("method", *this, "untyped_storage")}; }
inline Tensor& Tensor::set_(const Storage& s, int64_t offset, IntArrayRef sizes, IntArrayRef strides) const {
  shim::python<void>("set_storage", *this, s.object, offset, sizes, strides);
  return const_cast<Tensor&>(*this);
}

}  // namespace at
