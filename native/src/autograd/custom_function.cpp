#include "autograd/custom_function.h"

#include <algorithm>

#include "autograd/attributes.h"
#include "autograd/forward_mode.h"
#include "core/warning.h"

namespace shim {
namespace {

using Impls = FunctionOutputs::Impls;
bool has(const Impls& v, const TensorImpl* t) { return std::find(v.begin(), v.end(), t) != v.end(); }

// The same values as a new view: an input that is returned as it came.
Tensor view_of_itself(const Tensor& t) {
  Tensor v = alias(*t);
  if (!t->is_inference) {
    NoGrad off;
    mark_view(v, t);
  }
  return v;
}

}  // namespace

FunctionOutputs::FunctionOutputs(Node* node, Impls inputs, Impls dirty, Impls plain, const Impls& returned)
    : node_(node),
      inputs_(std::move(inputs)),
      dirty_(std::move(dirty)),
      plain_(std::move(plain)),
      tensors_(returned.size()) {
  for (TensorImpl* d : dirty_) {
    d->bump_version();
    if (!has(inputs_, d))
      warn_user(
          "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that "
          "have been mutated should be passed to ctx.mark_dirty().");
    CHECK(Kind::Runtime, has(returned, d),
        "Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
        "modified inplace must all be "
        "outputs of the Function.");
  }
}

bool FunctionOutputs::is_dirty(const TensorImpl* t) const { return has(dirty_, t); }

void FunctionOutputs::placeholder(const TensorImpl* t) {
  if (t)
    node_->add_input(*t);
  else
    node_->inputs.push_back({});
}

void FunctionOutputs::give_no_tensor() {
  if (node_) placeholder(nullptr);
}

FunctionOutputs::Given FunctionOutputs::give_plain(const Tensor& t, bool is_input, bool modified) {
  if (node_) placeholder(t.get());
  if (!t->requires_grad() && is_input && !modified) return {view_of_itself(t), FunctionOutput::plain, true};
  if (!t->requires_grad()) return {t, FunctionOutput::plain};
  if (is_input) return {detach(t), FunctionOutput::plain};
  if (AutogradMeta& m = *t->autograd(); !m.base) {
    m.grad_fn.reset();
    m.requires_grad = false;
  }
  return {t, FunctionOutput::plain};
}

void FunctionOutputs::rewrite_history(const Tensor& t) {
  AutogradMeta* m = t->autograd();
  CHECK(Kind::Runtime, !(m && m->requires_grad && !m->grad_fn),
      "a leaf Variable that requires grad has been used in an in-place operation.");
  if (m && m->base) {
    CHECK(Kind::Runtime, tensors_ <= 1,
        "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
        "than one Tensor. This is "
        "not supported by the current autograd engine. You should either make sure the input is not a view (using "
        ".clone() for example) or make your Function only return one Tensor "
        "(potentially splitting it into two Functions: one doing the inplace that returns a single Tensor and a second "
        "one that does the other operations). You can ask on the forum "
        "https://discuss.pytorch.org/ if you need help to do this change.");
    check_inplace(t);
  }
  size_t nr = node_->inputs.size();
  rebase_history(t, node_);
  if (node_->inputs.size() == nr) placeholder(t.get());
  if (m = t->autograd(); m->grad_fn.get() == node_.get()) m->output_nr = uint32_t(nr);
}

FunctionOutputs::Given FunctionOutputs::give(const Tensor& t) {
  const bool is_input = has(inputs_, t.get()), modified = is_dirty(t.get());
  if (!node_ || has(plain_, t.get()) || !can_have_grad(*t)) return give_plain(t, is_input, modified);
  if (modified && is_input) {
    rewrite_history(t);
    return {t, FunctionOutput::differentiable};
  }
  ++differentiable_;
  const Tensor given = is_input ? view_of_itself(t) : t;
  set_history(given, node_);
  return {given, FunctionOutput::differentiable, is_input};
}

void FunctionOutputs::guard_view(const Tensor& given, FunctionOutput kind) const {
  if (is_dirty(given.get()) || (node_ && kind != FunctionOutput::differentiable)) return;
  AutogradMeta* m = given->autograd();
  if (m && m->base) m->creation = differentiable_ > 1 ? Creation::multi_output : Creation::custom_function;
}

FunctionTangents::FunctionTangents(Impls inputs) : inputs_(std::move(inputs)), versions_(inputs_.size()) {
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (const Tensor t = inputs_[i] ? tangent_of(*inputs_[i]) : Tensor()) versions_[i] = t->version();
}

Tensor FunctionTangents::given(size_t argument, bool materialize) const {
  const TensorImpl* t = inputs_[argument];
  Tensor own = t ? tangent_of(*t) : Tensor();
  if (!own && t && materialize && can_have_grad(*t)) own = engine_ops().zeros(t->sizes(), t->dtype(), t->device());
  return own;
}

void FunctionTangents::check(
    const TensorImpl& result, const TensorImpl& tangent, size_t at, const Impls& plain, const Impls& dirty) const {
  CHECK(Kind::Runtime, !has(plain, &result) && can_have_grad(result), "Function's jvp returned a gradient at position ",
      at,
      ", but  the corresponding forward output is not a differentiable Tensor.You should return None at that position "
      "instead.");
  CHECK(Kind::Runtime, std::ranges::equal(result.sizes(), tangent.sizes()),
      "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
      "supported. Tensor is of size ",
      bracketed(result.sizes()), " while the given forward gradient is of size ", bracketed(tangent.sizes()), ".");
  const auto has_base = [](const TensorImpl& t) { return t.autograd() && t.autograd()->base; };
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor own = inputs_[i] ? tangent_of(*inputs_[i]) : Tensor();
    if (!own || result.storage().get() != inputs_[i]->storage().get()) continue;
    if (has(dirty, &result)) {
      CHECK(Kind::Runtime, inputs_[i] != &result || (own.get() == &tangent && own->version() > versions_[i]),
          "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying "
          "an input inplace, then the jvp function must modify the corresponding gradient inplace.");
    } else {
      if (has_base(tangent) && tangent.storage().get() != own->storage().get())
        fail(Kind::Runtime, "A custom Function is returning a view but the jvp is not returning a view of the ",
            has_base(*own) ? "same base as the given grad input." : "given grad input.");
      CHECK(Kind::Runtime, has_base(tangent),
          "A custom Function's forward is returning a view (or an input as-is) "
          "but the jvp is not returning a view.");
    }
  }
}

void check_saved_as_returned(const Impls& inputs, const Impls& returned, const Impls& saved, const Impls& dirty) {
  for (const TensorImpl* t : inputs)
    CHECK(Kind::Runtime, !t || !has(saved, t) || has(dirty, t) || !has(returned, t),
        "An input that has been returned as-is as output is being saved for backward. This is not supported if you "
        "override "
        "setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) or setup ctx "
        "inside the forward function itself.");
}

std::vector<SavedTensor> saved_for_function(const Node* node, const std::vector<Tensor>& tensors) {
  std::vector<SavedTensor> all;
  all.reserve(tensors.size());
  for (const Tensor& t : tensors) {
    const AutogradMeta* m = t ? t->autograd() : nullptr;
    const bool output = m && m->grad_fn.get() == node;
    t ? all.emplace_back(t, output, output ? m->output_nr : 0) : all.emplace_back();
  }
  return all;
}

}  // namespace shim
