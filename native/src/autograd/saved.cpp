// Tensors kept for backward.
#include "autograd/autograd.h"
#include "autograd/graph_reader.h"
#include "core/sparse.h"

namespace shim {
namespace {

const char* freed_text =
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are "
    "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved "
    "tensors after calling backward.";

std::string type_text(const TensorImpl& t) {
  const bool cuda = t.device().is_cuda();
  std::string s = is_complex(t.dtype()) ? str(cuda ? "CUDA" : "CPU", scalar_name(t.dtype()), "Type [")
                                        : str("torch.", cuda ? "cuda." : "", scalar_name(t.dtype()), "Tensor [");
  for (int i = 0; i < t.dim(); ++i) s += (i ? ", " : "") + std::to_string(t.sizes()[size_t(i)]);
  return s + "]";
}

bool differentiable(const TensorImpl& t) { return is_floating(t.dtype()) || is_complex(t.dtype()); }

Tensor without_history(const Tensor& t) { return SubclassOps::is_special(*t) ? SubclassOps::detach(t) : alias(*t); }
Tensor output_without_history(const Tensor& t) {
  return SubclassOps::watched && SubclassOps::watched(t) ? SubclassOps::detach(t) : without_history(t);
}

}  // namespace

bool (*SubclassOps::special)(const TensorImpl&) = nullptr;
Tensor (*SubclassOps::detach)(const Tensor&) = nullptr;
bool (*SubclassOps::watched)(const Tensor&) = nullptr;
bool (*SubclassOps::overrides)(const TensorImpl&) = nullptr;

bool is_plain(const Tensor& t) {
  if (t->has_math_bits() || is_sparse(*t)) return false;
  return !SubclassOps::is_special(*t) && !(SubclassOps::overrides && SubclassOps::overrides(*t));
}

int& SavedHooks::depth() {
  static thread_local int active = 0;
  return active;
}
Ref<PackedValue> (*SavedHooks::pack)(const Tensor&) = nullptr;

SavedTensor::SavedTensor(const Tensor& t, bool is_output, uint32_t output_nr) : output_nr_(output_nr) {
  if (!t) return;
  was_default_ = false;
  CHECK(Kind::Runtime, !t->is_inference || !GradMode::enabled() || InferenceMode::enabled(),
      "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
      "inference mode in computation tracked by autograd. To work around this, you can make a clone to get a normal "
      "tensor and use it in autograd, or use `torch.no_grad()` "
      "instead of `torch.inference_mode()`.");
  version_ = t->version();
  is_output_ = is_output;
  had_history_ = !is_output && t->autograd() && t->autograd()->grad_fn;
  if (SavedHooks::depth() && SavedHooks::pack)
    if (Ref<PackedValue> packed = SavedHooks::pack(t)) {
      data_ = t;
      set_packed(std::move(packed));
      return;
    }
  data_ = is_output ? output_without_history(t) : t;  // holding the output itself would be a cycle
  if (data_->storage().get() !=
      t->storage().get()) {  // a wrapper's detach made another wrapper: writes to either count for both
    if (t->own_version())
      data_->own_version() = t->own_version();
    else if (!t->storage()->has_memory())
      data_->own_version() = t->storage()->share_version();
    else
      version_ = data_->version();
  }
  if (Awaited::counted.load(std::memory_order_relaxed)) awaited_ = Awaited(data_->storage());
}

Tensor SavedTensor::to_pack() const { return data_; }

void SavedTensor::set_packed(Ref<PackedValue> packed) {
  if (!is_output_) {
    Edge edge = gradient_edge(data_);
    is_leaf_ = edge && edge.node->next_edges.empty() && !(data_->autograd() && data_->autograd()->grad_fn);
    requires_grad_ = bool(edge);
    output_nr_ = edge.input_nr;
    (is_leaf_ ? accumulator_ : grad_fn_) = edge.node;
  }
  packed_ = std::move(packed);
  data_.reset();
  awaited_ = {};
}

// The unpacked data with the history that the saved tensor had.
Tensor SavedTensor::restored(Tensor data, const Ref<Node>& owner) const {
  bool history = is_output_ ? bool(owner) && differentiable(*data) : requires_grad_;
  if (!history && !data->requires_grad()) return data;
  Tensor t = is_output_ ? output_without_history(data) : without_history(data);
  if (!history) return t;
  AutogradMeta& m = t->ensure_autograd();
  if (const AutogradMeta* of = data->autograd(); of && of->tangent) {
    m.tangent = of->tangent;
    m.tangent_level = of->tangent_level;
  }
  m.view_version = t->version();
  if (is_leaf_) {
    m.requires_grad = true;
    m.kept_accumulator = accumulator_;
    return t;
  }
  m.grad_fn = is_output_ ? owner : grad_fn_;
  m.output_nr = output_nr_;
  return t;
}

Tensor SavedTensor::unpack(const Ref<Node>& owner) const {
  if (was_default_) return {};
  CHECK(Kind::Runtime, (data_ || packed_) && !released, freed_text);
  if (packed_) return restored(packed_->unpack(), owner);
  if (data_->version() != version_) {
    std::string from;
    Ref<Node> fn = is_output_ ? owner : data_->autograd() ? data_->autograd()->grad_fn : Ref<Node>();
    if (fn)
      from = str(", which is output ", is_output_ ? output_nr_ : data_->autograd()->output_nr, " of ",
          fn->forward_name(), ",");
    const char* hint = Anomaly::enabled
                           ? "Hint: the backtrace further above shows the operation that failed to compute its "
                             "gradient. The variable in question was changed in there "
                             "or anywhere later. Good luck!"
                           : "Hint: enable anomaly detection to find the operation that failed to compute its "
                             "gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).";
    fail(Kind::Runtime,
        "one of the variables needed for gradient computation has been modified by an inplace operation: [",
        type_text(*data_), "]", from, " is at version ", data_->version(), "; expected version ", version_,
        " instead. ", hint);
  }
  CHECK(Kind::Runtime, !had_history_ || (data_->autograd() && data_->autograd()->grad_fn),
      "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is "
      "not supported, please use out-of-place `.detach()` instead");
  return is_output_ ? restored(data_, owner) : data_;
}

void SavedTensor::give_tangent(uint32_t output_nr, const Tensor& tangent, uint64_t level) {
  if (!is_output_ || output_nr_ != output_nr || !data_) return;
  AutogradMeta& m = data_->ensure_autograd();
  m.tangent = tangent;
  m.tangent_level = level;
}

void SavedTensor::traverse(Visitor& v) const {
  v.tensor(data_);
  v.shared(packed_.get());
  v.shared(grad_fn_.get());
  v.shared(accumulator_.get());
}

bool SavedTensor::read(GraphReader& r) const {
  if (was_default_) return r.word(0), true;
  if (!data_ || packed_ || released || data_->version() != version_) return false;
  if (had_history_ && !(data_->autograd() && data_->autograd()->grad_fn)) return false;
  r.word(1 + is_output_);
  return r.tensor(data_);
}

void SavedTensor::reset() {
  data_.reset();
  awaited_ = {};
  packed_.reset();
  grad_fn_.reset();
  accumulator_.reset();
  released = true;
}

}  // namespace shim
