// What a tensor knows about its gradient: leaves, history, retained gradients.
#include <atomic>
#include <limits>
#include <thread>
#include <vector>

#include "autograd/nodes.h"
#include "core/sparse.h"

namespace shim {
namespace {

class RetainGrad final : public Hook {  // writes the passing gradient to a tensor that may die before
 public:
  RetainGrad(TensorImpl* t, uint32_t nr) : tensor_(t), output_nr_(nr) {}
  void pre(Grads& grads) override {
    if (!tensor_ || output_nr_ >= grads.size() || !grads[output_nr_]) return;
    AutogradMeta& meta = tensor_->ensure_autograd();
    meta.grad = meta.grad ? engine_ops().add(meta.grad, grads[output_nr_]) : engine_ops().clone(grads[output_nr_]);
  }
  void forget() { tensor_ = nullptr; }

 private:
  TensorImpl* tensor_;
  uint32_t output_nr_;
};

}  // namespace

int& forward_gradients() {
  static thread_local int levels = 0;
  return levels;
}

// --- leaves ---------------------------------------------------------------------------------------------------------------

AccumulateGrad::AccumulateGrad(Tensor variable) : variable_(std::move(variable)) {
  add_input(*variable_);
  sequence = std::numeric_limits<uint64_t>::max();  // runs as soon as it can
}

namespace {

// A leaf's node may go on any thread, while another asks the leaf for it. Held for a few instructions.
std::atomic_flag accumulators;
struct AccumulatorLock {
  AccumulatorLock() {
    while (accumulators.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  ~AccumulatorLock() { accumulators.clear(std::memory_order_release); }
};

}  // namespace

AccumulateGrad::~AccumulateGrad() {
  const AccumulatorLock lock;
  if (AutogradMeta* m = variable_->autograd(); m && m->accumulator == this) m->accumulator = nullptr;
}

Ref<Node> accumulator_of(const AutogradMeta& m) {
  if (!m.accumulator) return {};
  const AccumulatorLock lock;
  return m.accumulator && m.accumulator->retain_if_there() ? Ref<Node>::adopt(m.accumulator) : Ref<Node>();
}
void set_accumulator(AutogradMeta& m, Node* node) {
  const AccumulatorLock lock;
  m.accumulator = node;
}

std::vector<Ref<Hook>> AccumulateGrad::tensor_hooks() {
  auto all = Node::tensor_hooks();
  if (AutogradMeta* m = variable_->autograd()) all.insert(all.end(), m->hooks.begin(), m->hooks.end());
  return all;
}

namespace {

bool is_dense(const TensorImpl& t) {
  return !is_sparse(t) && storage_bytes(t.sizes(), t.strides(), 1) == size_t(t.numel());
}

// A gradient lies in memory as its variable does, where that has neither gaps nor overlaps; else it is contiguous.
bool has_layout_for(const TensorImpl& g, const TensorImpl& variable) {
  if (!is_dense(variable)) return g.is_contiguous();
  for (int i = 0; i < g.dim(); ++i) {
    const int64_t step = g.strides()[size_t(i)];
    if (step != variable.strides()[size_t(i)] && (g.sizes()[size_t(i)] > 1 || step == 0))
      return false;  // 0: spread from what others may hold
  }
  return true;
}

// A sparse gradient whose parts are spread from less memory is copied.
bool has_own_parts(const TensorImpl& g) {
  const SparseParts& p = *sparse_parts(g);
  return p.indices->is_contiguous() && p.values->is_contiguous();
}

}  // namespace

void accumulate_grad(const Tensor& variable, Tensor g, bool create_graph, uint32_t holders) {
  AutogradMeta& meta = variable->ensure_autograd();
  if (!meta.grad) {
    // Nobody else holds the tensor: it becomes the gradient. It may share its memory with another one, as in PyTorch.
    bool mine = !create_graph && g->use_count() <= holders && has_layout_for(*g, *variable);
    if (is_sparse(*g)) mine = !create_graph && g->use_count() <= holders && has_own_parts(*g);
    if (mine && SubclassOps::watched && SubclassOps::watched(g))
      meta.grad = SubclassOps::detach(g);
    else if (mine)
      meta.grad =
          g->requires_grad() || (g->autograd() && g->autograd()->base) ? detach(g) : std::move(g);  // never a view
    else if (SubclassOps::is_special(*g) || is_sparse(*g) || is_sparse(*variable))
      meta.grad = engine_ops().clone(g);
    else {
      meta.grad = empty_strided(variable->sizes(),
          variable->is_contiguous() || !is_dense(*variable) ? IntArrayRef(contiguous_strides(variable->sizes()))
                                                            : variable->strides(),
          g->dtype(), variable->device());
      engine_ops().copy_(meta.grad, g);
    }
  } else if (is_sparse(*meta.grad) && !is_sparse(*g)) {
    meta.grad = engine_ops().add(g, meta.grad);
  } else if (create_graph) {
    meta.grad = engine_ops().add(meta.grad, g);
  } else {
    engine_ops().add_(meta.grad, g);
    meta.grad->bump_version();
  }
}

Grads AccumulateGrad::apply(Grads&& grads) {
  if (!grads[0]) return {};
  // post hooks are given the gradient too: what they hold becomes the variable's
  accumulate_grad(variable_, std::move(grads[0]), GradMode::enabled(), post_hooks.empty() ? 1 : 2);
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
  if (m->kept_accumulator) return {m->kept_accumulator, 0};
  if (Ref<Node> there = accumulator_of(*m)) return {std::move(there), 0};
  auto node = make<AccumulateGrad>(t);
  set_accumulator(*m, node.get());
  return {node, 0};
}

void set_history(const Tensor& output, const Ref<Node>& node) {
  AutogradMeta& m = output->ensure_autograd();
  m.output_nr = node->add_input(*output);
  m.grad_fn = node;
  m.requires_grad = false;
  m.view_version = output->version();
}

bool retain_grad(const Tensor& t) {
  CHECK(Kind::Runtime, t->requires_grad(), "can't retain_grad on Tensor that has requires_grad=False");
  refresh_view(*t);
  AutogradMeta* m = t->autograd();
  if (!m->grad_fn || m->retains_grad) return false;
  m->retains_grad = true;
  m->retain = Ref<Hook>(new RetainGrad(t.get(), m->output_nr));
  m->grad_fn->retain_hooks.push_back(m->retain);
  return true;
}

// After an in-place write the gradient of the new value is the one to retain.
void move_retain_hook(TensorImpl& t, Node* from) {
  AutogradMeta* m = t.autograd();
  if (!m || !m->retain || !m->grad_fn || m->grad_fn.get() == from) return;
  if (from) std::erase_if(from->retain_hooks, [&](const Ref<Hook>& h) { return h.get() == m->retain.get(); });
  static_cast<RetainGrad*>(m->retain.get())->forget();
  m->retain = Ref<Hook>(new RetainGrad(&t, m->output_nr));
  m->grad_fn->retain_hooks.push_back(m->retain);
}

AutogradMeta::~AutogradMeta() {
  if (retain) static_cast<RetainGrad*>(retain.get())->forget();
}

void AutogradMeta::traverse(Visitor& v) const {
  v.tensor(grad);
  v.shared(grad_fn.get());
  v.shared(kept_accumulator.get());
  v.shared(retain.get());
  for (const HookList* list : {&hooks, &post_accumulate})
    for (auto& h : *list) v.shared(h.get());
  v.tensor(tangent);
  v.tensor(base);
  v.shared(replay.get());
}

void AutogradMeta::clear() {
  std::vector<Ref<Hook>> gone[2];  // what goes may come back here: it goes last, when this holds nothing
  for (HookList* list : {&hooks, &post_accumulate}) {
    list->leave();
    gone[list == &hooks].swap(*list);
  }
  if (retain) static_cast<RetainGrad*>(retain.get())->forget();
  const Tensor tensors[] = {std::move(grad), std::move(tangent), std::move(base)};
  const Ref<Node> nodes[] = {std::move(grad_fn), std::move(kept_accumulator)};
  const Ref<Traversable> others[] = {Ref<Traversable>(std::move(retain)), Ref<Traversable>(std::move(replay))};
  retain = nullptr;
  replay = nullptr;
}

Tensor detach(const Tensor& t) {
  if (SubclassOps::is_special(*t)) return SubclassOps::detach(t);
  Tensor d = alias(*t);
  d->is_inference = t->is_inference;
  return d;
}

}  // namespace shim
