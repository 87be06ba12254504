// What a tensor knows about its gradient: history, views, saved values, in-place rules.
#include <cstring>
#include <limits>

#include "autograd/nodes.h"

namespace shim {
namespace {

// Where a view's elements lie relative to a compact copy of its base (same strides, offset 0).
Tensor within(const Tensor& base_like, const Geometry& base, const Geometry& view) {
  return engine_ops().as_strided(base_like, view.sizes, view.strides, view.offset - base.offset);
}

Tensor zeros_like_base(const Geometry& g, DType t, Device d) {
  Tensor flat = engine_ops().zeros(Dims{int64_t(storage_bytes(g.sizes, g.strides, 1))}, t, d);
  return as_strided(*flat, g.sizes, g.strides, 0);
}

std::string type_text(const TensorImpl& t) {
  std::string s = str("torch.", t.device().is_cuda() ? "cuda." : "", scalar_name(t.dtype()), "Tensor [");
  for (int i = 0; i < t.dim(); ++i) s += (i ? ", " : "") + std::to_string(t.sizes()[size_t(i)]);
  return s + "]";
}

class RetainGrad final : public Hook {          // writes the passing gradient to a tensor that may die before
 public:
  RetainGrad(TensorImpl* t, uint32_t nr) : tensor_(t), output_nr_(nr) {}
  void pre(Grads& grads) override {
    if (!tensor_ || !grads[output_nr_]) return;
    AutogradMeta& meta = tensor_->ensure_autograd();
    meta.grad = meta.grad ? engine_ops().add(meta.grad, grads[output_nr_]) : grads[output_nr_];
  }
  void forget() { tensor_ = nullptr; }

 private:
  TensorImpl* tensor_;
  uint32_t output_nr_;
};

}  // namespace

// --- leaves ---------------------------------------------------------------------------------------------------------------

AccumulateGrad::AccumulateGrad(Tensor variable) : variable_(std::move(variable)) {
  add_input(*variable_);
  sequence = std::numeric_limits<uint64_t>::max();                           // runs as soon as it can
}

AccumulateGrad::~AccumulateGrad() {
  if (AutogradMeta* m = variable_->autograd(); m && m->accumulator == this) m->accumulator = nullptr;
}

std::vector<Ref<Hook>> AccumulateGrad::tensor_hooks() {
  auto all = tensor_pre_hooks;
  if (AutogradMeta* m = variable_->autograd()) all.insert(all.end(), m->hooks.begin(), m->hooks.end());
  return all;
}

void accumulate_grad(const Tensor& variable, Tensor g, bool create_graph) {
  AutogradMeta& meta = variable->ensure_autograd();
  if (!meta.grad) {
    bool mine = !create_graph && g->use_count() == 1 && g->storage()->use_count() == 1 && g->is_contiguous() == variable->is_contiguous();
    if (mine) meta.grad = std::move(g);
    else if (create_graph) meta.grad = engine_ops().clone(g);
    else {
      meta.grad = empty_strided(variable->sizes(), variable->is_contiguous() || storage_bytes(variable->sizes(), variable->strides(), 1) != size_t(variable->numel()) ? DimSpan(contiguous_strides(variable->sizes())) : variable->strides(), g->dtype(), variable->device());
      engine_ops().copy_(meta.grad, g);
    }
  } else if (create_graph) {
    meta.grad = engine_ops().add(meta.grad, g);
  } else {
    engine_ops().add_(meta.grad, g);
    meta.grad->bump_version();
  }
}

Grads AccumulateGrad::apply(Grads&& grads) {
  if (!grads[0]) return {};
  accumulate_grad(variable_, std::move(grads[0]), GradMode::enabled());
  grads.clear();
  if (AutogradMeta* m = variable_->autograd()) {
    auto hooks = m->post_accumulate;
    Grads self{variable_};
    for (auto& h : hooks) h->pre(self);
  }
  return {};
}

Edge gradient_edge(const Tensor& t) {
  AutogradMeta* m = t->autograd();
  if (!m) return {};
  refresh_view(*t);
  if (m->grad_fn) return {m->grad_fn, m->output_nr};
  if (!m->requires_grad) return {};
  if (m->accumulator && m->accumulator->use_count() > 0) return {Ref<Node>(m->accumulator), 0};
  auto node = make<AccumulateGrad>(t);
  m->accumulator = node.get();
  return {node, 0};
}

void set_history(const Tensor& output, const Ref<Node>& node) {
  AutogradMeta& m = output->ensure_autograd();
  m.output_nr = node->add_input(*output);
  m.grad_fn = node;
  m.view_version = output->version();
}

bool retain_grad(const Tensor& t) {
  AutogradMeta* m = t->autograd();
  CHECK(Kind::Runtime, t->requires_grad(), "can't retain_grad on Tensor that has requires_grad=False");
  if (!m->grad_fn || m->retains_grad) return false;
  m->retains_grad = true;
  m->retain = Ref<Hook>(new RetainGrad(t.get(), m->output_nr));
  m->grad_fn->tensor_pre_hooks.push_back(m->retain);
  return true;
}

AutogradMeta::~AutogradMeta() {
  if (retain) static_cast<RetainGrad*>(retain.get())->forget();
}

Tensor detach(const Tensor& t) {
  Tensor d = alias(*t);
  d->is_inference = t->is_inference;
  return d;
}

// --- views and in-place writes ----------------------------------------------------------------------------------------------

void mark_view(const Tensor& view, const Tensor& source) {
  if (view->storage().get() != source->storage().get()) return;
  AutogradMeta* from = source->autograd();
  AutogradMeta& m = view->ensure_autograd();
  m.base = from && from->base ? from->base : source;
  m.view_version = view->version();
  m.view_inplace_forbidden = !GradMode::enabled() || (from && from->view_inplace_forbidden);
}

void refresh_view(TensorImpl& t) {
  AutogradMeta* m = t.autograd();
  if (!m || !m->base || m->view_version == t.version()) return;
  AutogradMeta* b = m->base->autograd();
  if (!b || !b->grad_fn) return;                                             // written without history
  m->view_version = t.version();
  auto node = make<AsStridedBackward>(*m->base, t);
  node->set_next_edges({gradient_edge(m->base)});
  m->output_nr = node->add_input(t);
  m->grad_fn = node;
  m->requires_grad = false;
}

void check_inplace(const Tensor& self) {
  AutogradMeta* m = self->autograd();
  if (!m) return;
  refresh_view(*self);
  CHECK(Kind::Runtime, !self->is_inference || InferenceMode::enabled(), "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
        "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.");
  CHECK(Kind::Runtime, !(m->requires_grad && !m->grad_fn), "a leaf Variable that requires grad is being used in an in-place operation.");
  if (!m->base) return;
  AutogradMeta* b = m->base->autograd();
  CHECK(Kind::Runtime, !(b && b->requires_grad && !b->grad_fn), "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  if (!m->view_inplace_forbidden) return;
  if (!m->forbidden_why.empty()) fail(Kind::Runtime, m->forbidden_why);
  if (b && b->grad_fn)
    fail(Kind::Runtime, "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use case is ambiguous and error-prone, it is "
         "forbidden. You can clarify your code by moving both the view and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both "
         "outside (if you want the inplace to be tracked).");
}

void rebase_history(const Tensor& self, const Ref<Node>& node) {
  AutogradMeta& m = self->ensure_autograd();
  if (!m.base || m.view_inplace_forbidden) {
    m.output_nr = node->inputs.empty() ? node->add_input(*self) : 0;
    m.grad_fn = node;
    m.requires_grad = false;
    m.view_version = self->version();
    return;
  }
  Tensor base = m.base;
  auto slices = make<CopySlices>(*base, *self, node);
  std::vector<Edge> edges = node->next_edges;
  Edge old = gradient_edge(base);
  if (edges.empty()) edges.resize(1);
  edges[0] = old;
  slices->set_next_edges(std::move(edges));
  AutogradMeta& b = base->ensure_autograd();
  b.output_nr = slices->add_input(*base);
  b.grad_fn = slices;
  b.requires_grad = false;
  m.view_version = self->version() - 1;                                      // regenerated at the next look
  refresh_view(*self);
}

CopySlices::CopySlices(const TensorImpl& base, const TensorImpl& view, Ref<Node> function)
    : base_(geometry_of(base)), view_(geometry_of(view)), function_(std::move(function)) {
  if (function_->inputs.empty()) function_->add_input(view);
}

Grads CopySlices::apply(Grads&& grads) {
  CHECK(Kind::Runtime, function_, "Trying to backward through the graph a second time.");
  Tensor g = grads[0];
  Tensor result = zeros_like_base(base_, g->dtype(), g->device());
  engine_ops().copy_(result, g);
  Tensor part = within(result, base_, view_);
  // the write's node believes that its first input needs a gradient exactly when the base does
  Edge own = function_->next_edges.empty() ? Edge{} : function_->next_edges[0];
  if (!function_->next_edges.empty()) function_->next_edges[0] = next_edges[0];
  Grads out = function_->apply({engine_ops().clone(part)});
  if (!function_->next_edges.empty()) function_->next_edges[0] = own;
  out.resize(next_edges.size());
  if (needs(0)) {
    if (out[0]) engine_ops().copy_(part, out[0]);
    else engine_ops().copy_(part, engine_ops().zeros(view_.sizes, g->dtype(), g->device()));
    out[0] = result;
  } else {
    out[0] = Tensor();
  }
  return out;
}

AsStridedBackward::AsStridedBackward(const TensorImpl& base, const TensorImpl& view)
    : base_(geometry_of(base)), view_(geometry_of(view)), dtype_(view.dtype()), device_(view.device()) {}

Grads AsStridedBackward::apply(Grads&& grads) {
  Geometry v = view_;
  Dims summed = v.sizes;
  for (size_t i = 0; i < v.strides.size(); ++i)
    if (v.strides[i] == 0) summed[i] = v.sizes[i] = 1;                       // expanded: every copy is one element of the base
  Tensor g = grads[0];
  if (summed != Dims(g->sizes().begin(), g->sizes().end())) g = engine_ops().sum_to(g, summed);
  Tensor result = zeros_like_base(base_, dtype_, device_);
  engine_ops().copy_(within(result, base_, v), g);
  return {result};
}

// --- saved values -----------------------------------------------------------------------------------------------------------

SavedTensor::SavedTensor(const Tensor& t, bool is_output, const Node*) {
  if (!t) {
    was_default_ = true;
    return;
  }
  CHECK(Kind::Runtime, !t->is_inference || !GradMode::enabled() || InferenceMode::enabled(), "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
        "inference mode in computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` "
        "instead of `torch.inference_mode()`.");
  version_ = t->version();
  is_output_ = is_output;
  if (is_output) {
    data_ = alias(*t);                          // holding the output itself would be a cycle
    if (AutogradMeta* m = t->autograd()) output_nr_ = m->output_nr;
  } else {
    data_ = t;
  }
}

Tensor SavedTensor::unpack(const Ref<Node>& owner) const {
  if (was_default_) return {};
  CHECK(Kind::Runtime, data_ && !released,
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved intermediate values of the graph are "
        "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
        "tensors after calling backward.");
  if (data_->version() != version_) {
    std::string from;
    Ref<Node> fn = is_output_ ? owner : data_->autograd() ? data_->autograd()->grad_fn : Ref<Node>();
    if (fn) from = str(", which is output ", is_output_ ? output_nr_ : data_->autograd()->output_nr, " of ", fn->name(), ",");
    fail(Kind::Runtime, "one of the variables needed for gradient computation has been modified by an inplace operation: [", type_text(*data_), "]", from, " is at version ",
         data_->version(), "; expected version ", version_,
         " instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True).");
  }
  if (!is_output_ || !owner) return data_;
  Tensor t = alias(*data_);
  AutogradMeta& m = t->ensure_autograd();
  m.grad_fn = owner;
  m.output_nr = output_nr_;
  return t;
}

void SavedTensor::reset() {
  data_.reset();
  released = true;
}

}  // namespace shim
