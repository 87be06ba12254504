#include "autograd/forward_mode.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "autograd/operator_node.h"
#include "core/math_bits.h"
#include "ops/kernels.h"

namespace shim {

namespace {

thread_local uint64_t current_level = 0;

// Tangents of `outputs`, in their order; null where nothing flows.
Grads tangents_of(
    const std::vector<Tensor>& outputs, const std::vector<Edge>& inputs, const Primals& primals, bool keep_history) {
  Grads seeds;
  for (const Tensor& o : outputs) {
    seeds.push_back(engine_ops().zeros(o->sizes(), o->dtype(), o->device()));
    seeds.back()->ensure_autograd().requires_grad = true;
  }
  Grads back = run_backward(edges_of(outputs), seeds, inputs,
      {.retain_graph = true, .create_graph = true, .allow_unused = true, .accumulate = false});
  std::vector<Tensor> roots;
  Grads along;
  for (size_t i = 0; i < back.size(); ++i)
    if (back[i] && gradient_edge(back[i])) {
      roots.push_back(back[i]);
      along.push_back(primals.tangents[i]->dtype() == back[i]->dtype()
                          ? primals.tangents[i]
                          : engine_ops().cast(primals.tangents[i], back[i]->dtype()));
    }
  Grads found(outputs.size());
  if (!roots.empty())
    found = run_backward(edges_of(roots), along, edges_of(seeds),
        {.retain_graph = true, .create_graph = keep_history, .allow_unused = true, .accumulate = false});
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) found[i] = engine_ops().zeros(outputs[i]->sizes(), outputs[i]->dtype(), outputs[i]->device());
    for (const Tensor& t : primals.tangents)  // an operator's result may be written to without its argument
      if (has_data(*found[i]) ? t->storage() == found[i]->storage() : t.get() == found[i].get()) {
        found[i] = engine_ops().clone(found[i]);
        break;
      }
  }
  return found;
}

void forget_history(const Tensor& t) {
  if (AutogradMeta* m = t->autograd()) {
    m->grad_fn.reset();
    m->requires_grad = false;
    m->base.reset();
  }
}

bool same_layout(const TensorImpl& a, const TensorImpl& b) {
  return std::ranges::equal(a.sizes(), b.sizes()) && std::ranges::equal(a.strides(), b.strides());
}

}  // namespace

uint64_t forward_level() { return current_level; }

namespace {

std::atomic<uint64_t> next_level{1};
thread_local bool allowed = true;

}  // namespace

void enter_forward_level() {
  CHECK(Kind::Runtime, !current_level, "Nested forward mode AD is not supported at the moment");
  forward_gradients() = allowed;
  current_level = next_level++;
}

void leave_forward_level() {
  CHECK(Kind::Runtime, current_level, "Trying to exit a forward AD level but none is open");
  forward_gradients() = 0;
  current_level = 0;
}

bool let_tangents_count(bool on) {
  if (current_level) forward_gradients() = on;
  return std::exchange(allowed, on);
}

Tensor tangent_of(const TensorImpl& t) {
  AutogradMeta* m = t.autograd();
  return m && m->tangent && m->tangent_level == current_level ? m->tangent : Tensor();
}

void set_tangent(const Tensor& t, Tensor tangent) {
  AutogradMeta& m = t->ensure_autograd();
  m.tangent = std::move(tangent);
  m.tangent_level = current_level;
}

std::vector<Edge> edges_of(const std::vector<Tensor>& tensors) {
  std::vector<Edge> edges;
  for (const Tensor& t : tensors) edges.push_back(gradient_edge(t));
  return edges;
}

namespace {

// The part of its base's tangent that is the view's; the base gets one of zeros where it has none.
Tensor tangent_through_base(const Tensor& view, const Tensor& base, bool make) {
  Tensor whole = tangent_of(*base);
  if (!whole && !make) return {};
  if (!whole || !same_layout(*whole, *base)) {
    Tensor laid = empty_strided(base->sizes(), base->strides(), base->dtype(), base->device());
    engine_ops().copy_(laid, whole ? whole : engine_ops().zeros(base->sizes(), base->dtype(), base->device()));
    set_tangent(base, laid);
    whole = laid;
  }
  Tensor part = as_strided(*whole, view->sizes(), view->strides(),
      whole->storage_offset() + view->storage_offset() - base->storage_offset());
  if (view->is_conj != base->is_conj) set_conj(*part, !part->is_conj);
  if (view->is_neg != base->is_neg) set_neg(*part, !part->is_neg);
  set_tangent(view, part);
  return part;
}

bool writable(const TensorImpl& t) {  // no two elements share memory, and there is no history to keep
  for (int d = 0; d < t.dim(); ++d)
    if (t.strides()[d] == 0 && t.sizes()[d] > 1) return false;
  return !t.requires_grad();
}

// The tangent of a view is a view of its base's, by operators that autograd sees.
void write_with_history(const Tensor& view, const Tensor& base, const Tensor& next) {
  NoForwardGradients off;
  const Tensor whole = tangent_of(*base);
  const int64_t offset = whole->storage_offset() + view->storage_offset() - base->storage_offset();
  const Tensor part = engine_ops().as_strided(whole, view->sizes(), view->strides(), offset);
  engine_ops().copy_(part, next);
  set_tangent(view, part);
}

// A view takes a tangent that has a history, or whose values a Python class holds, a batch of them: so must its base.
bool shared_with_base(const Tensor& view, const Tensor& base, const Tensor& value) {
  if (tangent_lies_as(*view, base) && view->is_conj == base->is_conj && view->is_neg == base->is_neg) {
    const Tensor same = engine_ops().clone(value);  // the whole of the base: one tangent is both
    set_tangent(base, same);
    set_tangent(view, same);
    return true;
  }
  if (!base->is_contiguous() || view->numel() == 0) return false;
  Tensor whole = engine_ops().new_zeros(value, base->sizes());
  if (Tensor before = tangent_of(*base)) whole = engine_ops().add(whole, before);
  const Tensor part =
      engine_ops().as_strided(whole, view->sizes(), view->strides(), view->storage_offset() - base->storage_offset());
  engine_ops().copy_(part, value);
  set_tangent(base, whole);
  set_tangent(view, part);
  return true;
}

// Writes a tangent into the one that is there, which views share. Values that a Python class holds, as a batch's, take
// such a class on both sides.
bool copied(const Tensor& into, const Tensor& value) {
  if (has_data(*into) && !has_data(*value)) return false;
  engine_ops().copy_(into, value);
  return true;
}

}  // namespace

void write_tangent(const Tensor& t, const Tensor& value) {
  Tensor own = tangent_of(*t);
  AutogradMeta* m = t->autograd();
  const bool part = m && m->base && m->base->dtype() == t->dtype();
  const bool batched = value && !has_data(*value) && has_data(*t) && (!own || has_data(*own));
  if (part && (batched || (value && value->requires_grad())) && shared_with_base(t, m->base, value)) return;
  if (!own && part) own = tangent_through_base(t, m->base, bool(value));
  if (!own && !value) return;
  Tensor next = value ? value : engine_ops().zeros(t->sizes(), t->dtype(), t->device());
  if (own && writable(*own) && !next->requires_grad() && copied(own, next)) return;
  if (own && part && next->requires_grad() && tangent_of(*m->base))
    write_with_history(t, m->base, next);
  else
    set_tangent(t, next);
}

bool tangent_lies_as(const TensorImpl& self, const Tensor& tangent) {
  return same_layout(*tangent, self) && tangent->storage_offset() == self.storage_offset();
}

Tensor before_write(const Tensor& self) {
  const auto copied = [&] {
    const NoGrad none;
    return operators_are_traced ? engine_ops().clone(self) : clone(self);
  };
  Tensor copy = copied();
  if (self->requires_grad()) {
    Edge edge = gradient_edge(self);
    AutogradMeta& meta = copy->ensure_autograd();
    meta.grad_fn = edge.node;
    meta.output_nr = edge.input_nr;
  }
  if (Tensor tangent = tangent_of(*self)) set_tangent(copy, engine_ops().clone(tangent));  // self's own is written to
  return copy;
}

void give_tangents(
    const std::vector<Tensor>& outputs, const std::vector<Edge>& inputs, const Primals& primals, bool history) {
  if (outputs.empty()) return;
  Grads tangents = tangents_of(outputs, inputs, primals, history);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!history) forget_history(outputs[i]);
    if (!tangents[i]) continue;
    set_tangent(outputs[i], tangents[i]);
    const AutogradMeta* m = outputs[i]->autograd();
    if (m->grad_fn) m->grad_fn->give_tangent(m->output_nr, tangents[i], current_level);
  }
  if (history)  // what was saved for backward has a tangent there: forward over reverse
    for (size_t i = 0; i < primals.tensors.size(); ++i) set_tangent(primals.tensors[i], primals.tangents[i]);
}

}  // namespace shim
