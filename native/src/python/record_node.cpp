// What a node of the table saves, and how it calls the formulas with it.
#include "python/record_node.h"

#include <algorithm>

#include "python/autograd_python.h"
#include "python/piecewise_constant.h"
#include "python/owned_ref.h"
#include "python/torch_dispatch.h"

namespace shim {

namespace {

const char* kFreed =
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are "
    "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved "
    "tensors after calling backward.";

PyObject* metadata_of(ParameterSource::Kind kind, PyObject* a) {
  if (!is_tensor(a)) {
    if (kind == ParameterSource::Shape) return size_object({});
    Py_RETURN_NONE;
  }
  TensorImpl* t = unwrap(a);
  switch (kind) {
    case ParameterSource::Shape: return size_object(t->sizes());
    case ParameterSource::DTypeOf: return dtype_object(t->dtype());
    case ParameterSource::DeviceOf: return device_object(t->device());
    case ParameterSource::Offset: return PyLong_FromLongLong(t->storage_offset());
    default: return size_object(t->strides());
  }
}

void keep(Saved& v, PyObject* o, bool output, uint32_t output_nr = 0) {
  if (is_tensor(o)) {
    v.is_tensor = true;
    v.tensors.emplace_back(Tensor(unwrap(o)), output, output_nr);
    return;
  }
  bool list = false;  // None may be among its tensors
  for (Py_ssize_t k = 0; (PyList_Check(o) || PyTuple_Check(o)) && !list && k < PySequence_Fast_GET_SIZE(o); ++k)
    list = is_tensor(PySequence_Fast_GET_ITEM(o, k));
  if (!list) {
    Py_INCREF(o);
    v.object = o;
    return;
  }
  v.is_list = true;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); ++k) {
    PyObject* item = PySequence_Fast_GET_ITEM(o, k);
    v.tensors.emplace_back(is_tensor(item) ? Tensor(unwrap(item)) : Tensor(), output, output_nr + uint32_t(k));
  }
}

}  // namespace

Tensor RecordNode::flat(const Tensor& gradient, const Edge& input) const {
  return tied_to(gradient, input, plan_.name.substr(0, plan_.name.size() - 1) + "Backward0");
}

void RecordNode::build(PyObject* const* args, size_t n) {
  std::vector<Edge> edges;
  edges.reserve(n);
  first_edge_.resize(n + 1);
  for (size_t i = 0; i < n; ++i) {
    first_edge_[i] = int(edges.size());
    PyObject* a = args[i];
    if (is_tensor(a)) {
      Edge e = gradient_edge(Tensor(unwrap(a)));
      if (e || (i == 0 && op_.schema.args[0].name == "self") || (i < plan_.has_edges.size() && plan_.has_edges[i]))
        edges.push_back(std::move(e));
    } else if (PyList_Check(a) || PyTuple_Check(a)) {
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(a); ++k)
        if (PyObject* item = PySequence_Fast_GET_ITEM(a, k); is_tensor(item))
          edges.push_back(gradient_edge(Tensor(unwrap(item))));
    } else if (i > 0 && i < plan_.has_edges.size() &&
               plan_.has_edges[i]) {  // a number first is PyTorch's reversed operator: no input
      edges.emplace_back();
    }
  }
  first_edge_[n] = int(edges.size());
  set_next_edges(std::move(edges));
  choose(__builtin_expect(python_dispatch, 0) && !plan_.shown.empty() && wants_dispatch(args, n));
}

void RecordNode::save(PyObject* const* args, PyObject* result) {
  size_t count = 0;
  for (auto* f : chosen_) count += f->sources.size();
  keys_.reserve(count);
  values_.reserve(count);
  for (auto* f : chosen_)
    for (const ParameterSource& s : f->sources) {
      if (s.kind == ParameterSource::Grad || s.kind == ParameterSource::Wanted ||
          (s.kind == ParameterSource::Result && !result) || find(s))
        continue;
      keys_.push_back(s);
      values_.push_back(value(s, args, result));
    }
}

Grads RecordNode::apply(Grads&& grads) {
  GilAcquire gil;
  CHECK(Kind::Runtime, !released_, kFreed);
  Grads out(next_edges.size());
  if (plan_.linear && linear_gradients(grads, out)) return out;
  if (plan_.activated && activated_gradients(grads, out)) return out;
  if (plan_.product && product_gradients(grads, out)) return out;
  for (auto* f : chosen_)
    if (!adds_in_place(*f, grads)) call(*f, grads, out);
  return out;
}

void RecordNode::release_saved() {
  GilAcquire gil;
  for (Saved& v : values_)  // the entries stay: grad_fn._raw_saved_x points to them
    for (SavedTensor& t : v.tensors) {
      t.reset();
      released_ = true;  // without a saved tensor running again is harmless
    }
}

Saved* RecordNode::find(const std::string& what) {
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (shown(keys_[i]) == what) return &values_[i];
  }
  return nullptr;
}

PyObject* RecordNode::saved(const std::string& what) {
  Saved* v = find(what);
  if (!v) return nullptr;
  CHECK(Kind::Runtime, !released_ || (!v->is_tensor && !v->is_list), kFreed);
  PyObject* found = unpack(*v);
  if (!found || !v->is_list) return found;
  PyObject* tuple = PyList_AsTuple(found);
  Py_DECREF(found);
  return tuple;
}

std::string RecordNode::result_name(int index) const {
  return op_.schema.returns.size() > 1 ? "result" + std::to_string(index) : "result";
}

std::string RecordNode::shown(const ParameterSource& s) const {
  if (s.kind == ParameterSource::Result) return result_name(s.index);
  const std::string& argument = op_.schema.args[size_t(s.index)].name;
  return s.kind == ParameterSource::Argument  ? argument
         : s.kind == ParameterSource::Shape   ? argument + "_sym_sizes"
         : s.kind == ParameterSource::Strides ? argument + "_sym_strides"
                                              : "";
}

bool RecordNode::wanted(int argument) const {
  for (int e = first_edge_[size_t(argument)]; e < first_edge_[size_t(argument) + 1]; ++e)
    if (next_edges[size_t(e)]) return true;
  return false;
}

void RecordNode::choose(bool shown) {
  std::vector<bool> done(op_.schema.args.size());
  auto add = [&](const PlannedFormula& f) {  // one that serves several inputs is called when any of them is wanted
    if (std::none_of(f.inputs.begin(), f.inputs.end(), [&](int i) { return wanted(i) && !done[size_t(i)]; })) return;
    chosen_.push_back(&f);
    for (int i : f.inputs) done[size_t(i)] = true;
  };
  if (shown)
    for (auto& f : plan_.shown) add(f);
  for (auto& f : plan_.fused) {
    bool all = std::all_of(f.inputs.begin(), f.inputs.end(), [&](int i) { return wanted(i) && !done[size_t(i)]; });
    if (!all) continue;
    chosen_.push_back(&f);
    for (int i : f.inputs) done[size_t(i)] = true;
  }
  for (auto& f : plan_.single) add(f);
}

Saved* RecordNode::find(const ParameterSource& s) {
  for (size_t i = 0; i < keys_.size(); ++i)
    if (keys_[i].kind == s.kind && keys_[i].index == s.index) return &values_[i];
  return nullptr;
}

Saved RecordNode::value(const ParameterSource& s, PyObject* const* args, PyObject* result) {
  Saved v;
  if (s.kind == ParameterSource::Result) {
    PyObject* r = PyTuple_Check(result)  ? PyTuple_GET_ITEM(result, s.index)
                  : PyList_Check(result) ? PyList_GET_ITEM(result, s.index)
                                         : result;
    const bool hidden = op_.kind == Operator::Composite && op_.shown_outputs >= 0 && s.index >= op_.shown_outputs;
    const bool history = !hidden && (!is_tensor(r) || is_floating(unwrap(r)->dtype()) ||
                                        is_complex(unwrap(r)->dtype()));  // indices have none
    keep(v, r, history, uint32_t(s.index));
    return v;
  }
  PyObject* a = args[s.index];
  if (s.kind == ParameterSource::Argument) {
    keep(v, a, false);
    return v;
  }
  if (PyList_Check(a) || PyTuple_Check(a)) {  // metadata of every tensor of a list
    v.object = PyList_New(0);
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(a); ++k) {
      PyObject* m = metadata_of(s.kind, PySequence_Fast_GET_ITEM(a, k));
      PyList_Append(v.object, m);
      Py_DECREF(m);
    }
    return v;
  }
  v.object = metadata_of(s.kind, a);
  return v;
}

PyObject* RecordNode::unpack(Saved& v) {
  if (v.is_tensor) return wrap(v.tensors[0].unpack(Ref<Node>(this)));
  if (!v.is_list) {
    Py_INCREF(v.object);
    return v.object;
  }
  PyObject* list = PyList_New(Py_ssize_t(v.tensors.size()));
  for (size_t k = 0; k < v.tensors.size(); ++k)
    PyList_SET_ITEM(list, Py_ssize_t(k), wrap(v.tensors[k].unpack(Ref<Node>(this))));
  return list;
}

void RecordNode::traverse(Visitor& visitor) const {
  Node::traverse(visitor);
  for (const Saved& v : values_) {
    for (const SavedTensor& t : v.tensors) t.traverse(visitor);
    visitor.python(v.object);
  }
}

void RecordNode::drop() {
  if (values_.empty()) return;
  if (python_lives()) {
    GilAcquire gil;
    for (Saved& v : values_) Py_CLEAR(v.object);
  }
  values_.clear();
  keys_.clear();
}

}  // namespace shim
