// Forward-mode gradients of operators: a tensor may carry a tangent. The tangent of a result is the derivative of
// (vector-Jacobian product . tangent) with respect to the vector, so the operators' own gradient formulas serve it.
#include "python/forward_mode.h"

#include <algorithm>

#include "core/math_bits.h"
#include "python/owned_ref.h"

namespace shim {

namespace {

thread_local uint64_t current_level = 0;

bool differentiable(const TensorImpl& t) { return is_floating(t.dtype()) || is_complex(t.dtype()); }

template <class F> void each_tensor(PyObject* o, F f) {
  if (is_tensor(o)) return f(o);
  if (PyList_Check(o) || PyTuple_Check(o))
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      if (PyObject* item = PySequence_Fast_GET_ITEM(o, i); is_tensor(item)) f(item);
}

// Inputs whose tangents count, each as a tensor of its own: the same tensor given twice is two inputs.
struct Primals {
  std::vector<Tensor> tensors, tangents;

  PyObject* stand_in(PyObject* o) {
    Tensor t(unwrap(o)), tangent = tangent_of(*t);
    if (!tangent) return Py_NewRef(o);
    PyObject* fresh = t->requires_grad() ? PyObject_CallMethod(o, "view_as", "O", o) : wrap(detach(t));
    if (!fresh) throw PythonError();
    if (!t->requires_grad()) unwrap(fresh)->ensure_autograd().requires_grad = true;
    tensors.emplace_back(unwrap(fresh));
    tangents.push_back(tangent);
    return fresh;
  }

  PyObject* replaced(PyObject* o) {  // an argument, or a list of them
    if (is_tensor(o)) return stand_in(o);
    if (!PyList_Check(o) && !PyTuple_Check(o)) return Py_NewRef(o);
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    PyObject* list = PyList_New(n);
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(o, i);
      PyList_SET_ITEM(list, i, is_tensor(item) ? stand_in(item) : Py_NewRef(item));
    }
    if (PyList_Check(o)) return list;
    PyObject* tuple = PyList_AsTuple(list);
    Py_DECREF(list);
    return tuple;
  }
};

std::vector<Edge> edges_of(const std::vector<Tensor>& tensors) {
  std::vector<Edge> edges;
  for (const Tensor& t : tensors) edges.push_back(gradient_edge(t));
  return edges;
}

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

}  // namespace

uint64_t& forward_level() { return current_level; }

Tensor tangent_of(const TensorImpl& t) {
  AutogradMeta* m = t.autograd();
  return m && m->tangent && m->tangent_level == current_level ? m->tangent : Tensor();
}

void set_tangent(const Tensor& t, Tensor tangent) {
  AutogradMeta& m = t->ensure_autograd();
  m.tangent = std::move(tangent);
  m.tangent_level = current_level;
}

namespace {

bool same_layout(const TensorImpl& a, const TensorImpl& b) {
  return std::ranges::equal(a.sizes(), b.sizes()) && std::ranges::equal(a.strides(), b.strides());
}

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
  struct Off {
    int old = forward_gradients();
    Off() { forward_gradients() = 0; }
    ~Off() { forward_gradients() = old; }
  } off;
  OwnedRef whole{wrap(tangent_of(*base))}, value{wrap(next)}, sizes{size_object(view->sizes())},
      strides{size_object(view->strides())};
  const int64_t offset = unwrap(whole.o)->storage_offset() + view->storage_offset() - base->storage_offset();
  OwnedRef part{PyObject_CallMethod(whole.o, "as_strided", "OOL", sizes.o, strides.o, static_cast<long long>(offset))};
  if (!part.o) throw PythonError();
  OwnedRef done{PyObject_CallMethod(part.o, "copy_", "O", value.o)};
  if (!done.o) throw PythonError();
  set_tangent(view, Tensor(unwrap(part.o)));
}

// A view takes a tangent that has a history, or whose values a Python class holds, a batch of them: so must its base.
bool shared_with_base(const Tensor& view, const Tensor& base, const Tensor& value) {
  if (!base->is_contiguous() || view->numel() == 0) return false;
  OwnedRef like{wrap(value)}, sizes{size_object(base->sizes())}, part_sizes{size_object(view->sizes())},
      strides{size_object(view->strides())};
  OwnedRef whole{PyObject_CallMethod(like.o, "new_zeros", "O", sizes.o)};
  if (!whole.o) throw PythonError();
  if (Tensor before = tangent_of(*base)) {
    OwnedRef old{wrap(before)};
    OwnedRef sum{PyObject_CallMethod(whole.o, "add", "O", old.o)};
    if (!sum.o) throw PythonError();
    std::swap(sum.o, whole.o);
  }
  OwnedRef part{PyObject_CallMethod(whole.o, "as_strided", "OOL", part_sizes.o, strides.o,
      static_cast<long long>(view->storage_offset() - base->storage_offset()))};
  if (!part.o) throw PythonError();
  OwnedRef done{PyObject_CallMethod(part.o, "copy_", "O", like.o)};
  if (!done.o) throw PythonError();
  set_tangent(base, Tensor(unwrap(whole.o)));
  set_tangent(view, Tensor(unwrap(part.o)));
  return true;
}

// Writes a tangent into the one that is there, which views share. Values that a Python class holds, as a batch's, take
// such a class on both sides.
bool copied(const Tensor& into, const Tensor& value) {
  if (has_data(*into) && has_data(*value)) {
    engine_ops().copy_(into, value);
    return true;
  }
  if (has_data(*into)) return false;
  OwnedRef target{wrap(into)}, source{wrap(value)};
  OwnedRef done{PyObject_CallMethod(target.o, "copy_", "O", source.o)};
  if (!done.o) throw PythonError();
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

bool view_of_tangent(const TensorImpl& self, PyObject* result, const std::function<PyObject*(PyObject*)>& view) {
  Tensor tangent = tangent_of(self);
  if (!tangent || !same_layout(*tangent, self) || tangent->storage_offset() != self.storage_offset()) return false;
  OwnedRef given{wrap(tangent)};
  OwnedRef parts{view(given.o)};
  if (!parts.o) throw PythonError();
  if (is_tensor(result)) {
    if (result != parts.o && is_tensor(parts.o)) set_tangent(Tensor(unwrap(result)), Tensor(unwrap(parts.o)));
    return true;
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i)
    set_tangent(
        Tensor(unwrap(PySequence_Fast_GET_ITEM(result, i))), Tensor(unwrap(PySequence_Fast_GET_ITEM(parts.o, i))));
  return true;
}

bool any_tangent(PyObject* const* args, size_t n) {
  bool found = false;
  for (size_t i = 0; i < n && !found; ++i)
    each_tensor(args[i], [&](PyObject* o) { found |= bool(tangent_of(*unwrap(o))); });
  return found;
}

PyObject* run_with_tangents(PyObject* const* args, size_t n, const std::function<PyObject*(PyObject**, size_t)>& run) {
  struct Off {
    int old = forward_gradients();
    Off() { forward_gradients() = 0; }
    ~Off() { forward_gradients() = old; }
  } off;
  bool outer = GradMode::enabled();
  bool history = outer && any_requires_grad(args, n);
  struct Mode {
    bool old = GradMode::enabled();
    Mode() { GradMode::set(true); }
    ~Mode() { GradMode::set(old); }
  } mode;
  Primals primals;
  std::vector<PyObject*> given;
  struct DropAll {
    std::vector<PyObject*>& v;
    ~DropAll() {
      for (PyObject* o : v) Py_XDECREF(o);
    }
  } drop_all{given};
  for (size_t i = 0; i < n; ++i) given.push_back(primals.replaced(args[i]));
  const std::vector<Edge> edges = edges_of(primals.tensors);  // before an operator writes to one
  OwnedRef result{run(given.data(), n)};
  if (!result.o) return nullptr;
  std::vector<Tensor> outputs;
  each_tensor(result.o, [&](PyObject* o) {
    if (differentiable(*unwrap(o)) && unwrap(o)->requires_grad()) outputs.emplace_back(unwrap(o));
  });
  if (outputs.empty()) return Py_NewRef(result.o);
  Grads tangents = tangents_of(outputs, edges, primals, history);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!history) forget_history(outputs[i]);
    if (!tangents[i]) continue;
    set_tangent(outputs[i], tangents[i]);
    const AutogradMeta* m = outputs[i]->autograd();
    if (m->grad_fn) m->grad_fn->give_tangent(m->output_nr, tangents[i], current_level);
  }
  if (history)  // what was saved for backward has a tangent there: forward over reverse
    for (size_t i = 0; i < primals.tensors.size(); ++i) set_tangent(primals.tensors[i], primals.tangents[i]);
  return Py_NewRef(result.o);
}

}  // namespace shim
