// Views and in-place writes: what may be written, and how history changes when it is.
#include <algorithm>
#include "core/sparse.h"
#include "autograd/nodes.h"

namespace shim {

void move_retain_hook(TensorImpl&, Node* from);  // variable.cpp

namespace {

// Where a view's elements lie relative to a compact copy of its base (same strides, offset 0).
Tensor within(const Tensor& base_like, const Geometry& base, const Geometry& view) {
  const EngineOps& ops = engine_ops();
  Tensor t = base_like;
  int64_t start = base.offset;
  bool conj = base.conj != view.conj;
  if (is_complex(base.dtype) && !is_complex(view.dtype)) {
    conj = false;  // imag of a conjugate has a negative bit instead
    t = ops.view_operator(t, "view_as_real");
    start *= 2;
  } else if (!is_complex(base.dtype) && is_complex(view.dtype)) {
    t = ops.view_operator(t, "view_as_complex");
    start /= 2;
  }
  t = ops.as_strided(t, view.sizes, view.strides, view.offset - start);
  if (conj) t = ops.view_operator(t, "_conj");
  return base.neg != view.neg ? ops.view_operator(t, "_neg_view") : t;
}

bool same_elements(const Geometry& a, const Geometry& b) {
  return is_complex(a.dtype) == is_complex(b.dtype) && a.conj == b.conj && a.neg == b.neg;
}

Tensor zeros_like_base(const Geometry& g, DType t, Device d, const Tensor& gradient) {
  if (SubclassOps::is_special(*gradient)) return engine_ops().zeros_as(gradient, g.sizes, g.strides);
  Tensor flat = engine_ops().zeros(Dims{int64_t(storage_bytes(g.sizes, g.strides, 1))}, t, d);
  return as_strided(*flat, g.sizes, g.strides, 0);
}

Creation creation_of_new_view(bool several) {
  if (InferenceMode::enabled()) return Creation::inference;
  if (!GradMode::enabled()) return Creation::no_grad;
  return several ? Creation::multi_output : Creation::normal;
}

// PyTorch's error for a view that may not be written to; `indirect`: its base or another view of it was.
[[noreturn]] void forbidden(const AutogradMeta& m, bool indirect) {
  const char* object = indirect ? "its base or another view of its base has been" : "is being";
  std::string text;
  bool inference = m.creation == Creation::inference;
  const char* where = inference ? " modified inplace in normal mode." : " modified inplace with grad mode enabled.";
  if (m.grad_fn && m.inherited && (inference || m.creation == Creation::no_grad))
    text = str("Output ", m.output_nr, " of ", m.grad_fn->forward_name(), " is a view of a view which was created in ",
        inference ? "inference" : "no_grad", " mode and ", object, where);
  else if (m.grad_fn)
    text =
        str("Output ", m.output_nr, " of ", m.grad_fn->forward_name(), " is a view and ", object, " modified inplace.");
  else if (m.creation == Creation::inference)
    text = str("A view was created in inference mode and ", object, " modified inplace in normal mode.");
  else
    text = str("A view was created in no_grad mode and ", object, " modified inplace with grad mode enabled.");
  const char* mode = m.creation == Creation::inference ? "inference_mode" : "no_grad";
  if (m.creation == Creation::multi_output)
    text +=
        " This view is the output of a function that returns multiple views. Such functions do not allow the output "
        "views to be modified inplace. You should replace the "
        "inplace operation by an out-of-place one.";
  else if (m.creation == Creation::custom_function)
    text +=
        " This view was created inside a custom Function (or because an input was returned as-is) and the autograd "
        "logic to handle view+inplace would override the custom "
        "backward associated with the custom Function, leading to incorrect gradients. This behavior is forbidden. You "
        "can fix this by cloning the output of the custom "
        "Function.";
  else
    text +=
        str(" Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by "
            "moving both the view and the inplace either both inside the ",
            mode,
            " block (if you don't want the inplace to be tracked) or both outside (if you want the inplace to be "
            "tracked).");
  fail(Kind::Runtime, text);
}

void tie(const Tensor& view, const Tensor& source, bool several) {
  AutogradMeta* from = source->autograd();
  AutogradMeta& m = view->ensure_autograd();
  m.base = from && from->base ? from->base : source;
  m.view_version = view->version();
  m.creation = creation_of_new_view(several);
  m.inherited = m.creation == Creation::normal && from && from->base;
  if (m.inherited) m.creation = from->creation;
}

class ReplayChain final : public ViewReplay {  // a view of a view
 public:
  ReplayChain(Ref<ViewReplay> first, Ref<ViewReplay> then) : first_(std::move(first)), then_(std::move(then)) {}
  Tensor apply(const Tensor& t) override { return then_->apply(first_->apply(t)); }
  void traverse(Visitor& v) const override {
    v.shared(first_.get());
    v.shared(then_.get());
  }

 private:
  Ref<ViewReplay> first_, then_;
};

}  // namespace

void mark_view(const Tensor& view, const Tensor& source, bool several) {
  if ((view->storage().get() != source->storage().get() && !is_sparse(*source)) || source->is_inference) return;
  tie(view, source, several);
}

void mark_replayed_view(const Tensor& view, const Tensor& source, bool several, Ref<ViewReplay> replay) {
  if (source->is_inference) return;
  AutogradMeta* from = source->autograd();
  if (from && from->base && !from->replay) return;
  if (view->storage().get() != source->storage().get()) view->set_storage(source->storage());
  tie(view, source, several);
  if (from && from->base) replay = Ref<ViewReplay>(new ReplayChain(from->replay, std::move(replay)));
  view->ensure_autograd().replay = std::move(replay);
}

void refresh_view(TensorImpl& t) {
  AutogradMeta* m = t.autograd();
  if (!m || !m->base || m->view_version == t.version()) return;
  if (!m->grad_fn && !m->base->requires_grad()) return;  // written without history
  if (m->creation != Creation::normal) forbidden(*m, true);
  m->view_version = t.version();
  if (m->replay) {  // its history is that of the view made again
    Ref<Node> old = m->grad_fn;
    WithGrad on;
    Tensor again = m->replay->apply(m->base);
    AutogradMeta* fresh = again->autograd();
    if (!fresh || !fresh->grad_fn) return;
    m->grad_fn = fresh->grad_fn;
    m->output_nr = fresh->output_nr;
    m->requires_grad = false;
    move_retain_hook(t, old.get());
    return;
  }
  auto node = make<AsStridedBackward>(*m->base, t, m->grad_fn.get());
  node->set_next_edges({gradient_edge(m->base)});
  Ref<Node> old = m->grad_fn;
  m->output_nr = node->add_input(t);
  m->grad_fn = node;
  m->requires_grad = false;
  move_retain_hook(t, old.get());
}

Tensor replay_view(const Tensor& view, const Tensor& new_base, bool checked) {
  AutogradMeta* m = view->autograd();
  if (!m || !m->base) return {};
  const TensorImpl& base = *m->base;
  const auto elements = [](const TensorImpl& t) { return t.storage()->nbytes() / t.itemsize(); };
  const bool same = std::ranges::equal(base.sizes(), new_base->sizes()) &&
                    std::ranges::equal(base.strides(), new_base->strides()) &&
                    base.storage_offset() == new_base->storage_offset() && elements(base) == elements(*new_base) &&
                    base.is_conj == new_base->is_conj && base.is_neg == new_base->is_neg;
  if (checked && !same) return {};
  Geometry from = geometry_of(base);
  from.offset = 0;  // as_strided counts from the storage's start
  return within(new_base, from, geometry_of(*view));
}

// Errors that do not depend on gradients are those of inference tensors.
void check_inplace(const Tensor& self) {
  CHECK(Kind::Runtime, !self->is_inference || InferenceMode::enabled(),
      "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
      "normal tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.");
  AutogradMeta* m = self->autograd();
  if (!m || !GradMode::enabled()) return;
  if (m->base) {
    if (m->creation != Creation::normal) forbidden(*m, false);
    refresh_view(*self);
    AutogradMeta* b = m->base->autograd();
    const bool of_leaf = !b || !b->grad_fn;
    CHECK(Kind::Runtime, !of_leaf || !(self->requires_grad() || (b && b->requires_grad)),
        "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  }
  CHECK(Kind::Runtime, !(m->requires_grad && !m->grad_fn),
      "a leaf Variable that requires grad is being used in an in-place operation.");
}

void rebase_history(const Tensor& self, const Ref<Node>& node) {
  AutogradMeta& m = self->ensure_autograd();
  Ref<Node> old_fn = m.grad_fn;
  if (!m.base) {
    m.output_nr = node->inputs.empty() ? node->add_input(*self) : 0;
    m.grad_fn = node;
    m.requires_grad = false;
    m.view_version = self->version();
    move_retain_hook(*self, old_fn.get());
    return;
  }
  Tensor base = m.base;
  auto slices = make<CopySlices>(*base, *self, node, m.replay);
  Edge old = gradient_edge(base);
  std::vector<Edge> edges = node->next_edges;
  if (edges.empty()) edges.resize(1);
  edges[0] = old;
  slices->set_next_edges(std::move(edges));
  AutogradMeta& b = base->ensure_autograd();
  Ref<Node> old_base = b.grad_fn;
  b.output_nr = slices->add_input(*base);
  b.grad_fn = slices;
  b.requires_grad = false;
  b.view_version = base->version();
  move_retain_hook(*base, old_base.get());
  m.view_version = self->version() - 1;  // regenerated at the next look
  refresh_view(*self);
}

CopySlices::CopySlices(const TensorImpl& base, const TensorImpl& view, Ref<Node> function, Ref<ViewReplay> replay)
    : base_(geometry_of(base)), view_(geometry_of(view)), function_(std::move(function)), replay_(std::move(replay)) {
  if (function_->inputs.empty()) function_->add_input(view);
}

Grads CopySlices::apply(Grads&& grads) {
  CHECK(Kind::Runtime, function_, "Trying to backward through the graph a second time.");
  Tensor g = grads[0];
  Tensor result, part;
  if (replay_) {
    result = engine_ops().clone(g);
    part = replay_->apply(result);
  } else {
    result = zeros_like_base(base_, g->dtype(), g->device(), g);
    engine_ops().copy_(result, g);
    part = within(result, base_, view_);
  }
  // the write's node believes that its first input needs a gradient exactly when the base does
  Edge own = function_->next_edges.empty() ? Edge{} : function_->next_edges[0];
  if (!function_->next_edges.empty()) function_->next_edges[0] = next_edges[0];
  Grads out = function_->apply({engine_ops().clone(part)});
  if (!function_->next_edges.empty()) function_->next_edges[0] = own;
  out.resize(next_edges.size());
  if (needs(0)) {
    if (out[0])
      engine_ops().copy_(part, out[0]);
    else
      engine_ops().copy_(part, engine_ops().zeros(view_.sizes, part->dtype(), g->device()));
    out[0] = result;
  } else {
    out[0] = Tensor();
  }
  return out;
}

namespace {

// The dim of a view to take apart, the shortest one, where elements of it share memory; -1: none do.
int dim_apart(const Geometry& v) {
  std::vector<size_t> order;
  while (order.size() < v.sizes.size()) order.push_back(order.size());
  std::ranges::sort(order, {}, [&](size_t i) { return v.strides[i]; });
  int64_t reach = 0;
  for (size_t i : order) {
    if (v.strides[i] <= reach) return int(std::ranges::min_element(v.sizes) - v.sizes.begin());
    reach += v.strides[i] * (v.sizes[i] - 1);
  }
  return -1;
}

// g added to what `to` is of `result`, of which an element counts as often as it has it.
void add_within(const Tensor& result, const Geometry& base, Geometry to, const Tensor& g) {
  const int apart = dim_apart(to);
  if (const Tensor part = within(result, base, to); apart < 0)
    return engine_ops().copy_(part, engine_ops().add(part, g));
  Geometry from = geometry_of(*g);
  const int64_t n = to.sizes[size_t(apart)], step = to.strides[size_t(apart)], own = from.strides[size_t(apart)];
  for (Geometry* x : {&to, &from})
    x->sizes.erase(x->sizes.begin() + apart), x->strides.erase(x->strides.begin() + apart);
  for (int64_t i = 0; i < n; ++i, to.offset += step, from.offset += own)
    add_within(result, base, to, engine_ops().as_strided(g, from.sizes, from.strides, from.offset));
}

}  // namespace

AsStridedBackward::AsStridedBackward(const TensorImpl& base, const TensorImpl& view, const Node* replaced)
    : base_(geometry_of(base)), view_(geometry_of(view)), device_(view.device()), name_("AsStridedBackward0") {
  if (replaced && !same_elements(base_, view_)) name_ = replaced->name();
}

Grads AsStridedBackward::apply(Grads&& grads) {
  Geometry v = view_;
  Dims summed = v.sizes;
  for (size_t i = 0; i < v.strides.size(); ++i)
    if (v.strides[i] == 0) summed[i] = v.sizes[i] = 1;  // expanded: every copy is one element of the base
  Tensor g = grads[0];
  if (summed != Dims(g->sizes().begin(), g->sizes().end())) g = engine_ops().sum_to(g, summed);
  Tensor result = zeros_like_base(base_, base_.dtype, device_, g);
  add_within(result, base_, v, g);
  return {result};
}

}  // namespace shim
