// History of the operators of the table: a node that keeps what the needed formulas name, and calls them in backward.
#include <algorithm>
#include <cctype>
#include <optional>
#include <unordered_map>

#include "autograd/autograd.h"
#include "gemm/accumulate.h"
#include "gemm/linear.h"
#include "ops/operator.h"
#include "python/torch_dispatch.h"
#include "python/autograd_python.h"
#include "python/dispatch.h"
#include "python/override.h"

namespace shim {
namespace {

// Where a formula's parameter comes from, worked out once an operator.
struct Source {
  enum Kind : uint8_t { Grad, Result, Argument, Shape, DTypeOf, DeviceOf, Strides, Offset } kind;
  int index = 0;
};
struct PlannedFormula {
  const Formula* formula;
  std::vector<int> inputs;                      // argument indices whose gradients it gives
  std::vector<Source> sources;
};
struct Plan {
  std::string name;                             // "AddBackward0"
  std::vector<PlannedFormula> single, fused;
  bool list_result = false;
  std::vector<bool> has_edges;                  // arguments with a gradient: numbers and None given for a tensor count as inputs
  bool linear = false;                          // its weight's gradient may be added to .grad by the product itself
};

std::string camel(const std::string& name) {
  std::string out;
  bool up = true;
  for (char c : name) {
    if (c == '_') { up = true; continue; }
    out += up ? char(std::toupper(static_cast<unsigned char>(c))) : c;
    up = false;
  }
  return out;
}

// Parts of an operator that PyTorch has in one piece are named as that one.
std::string shown_name(const std::string& name) { return name == "_index_at" ? "index" : name == "_index_put_at" ? "index_put" : name == "_outer" ? "mul" : name; }

Source source_of(const Operator& op, const std::string& p) {
  auto argument = [&](const std::string& n) {
    for (size_t i = 0; i < op.schema.args.size(); ++i)
      if (op.schema.args[i].name == n) return int(i);
    return -1;
  };
  if (int i = argument(p); i >= 0) return {Source::Argument, i};
  if (p == "g") return {Source::Grad, 0};
  if (p.size() > 1 && p[0] == 'g' && std::isdigit(static_cast<unsigned char>(p[1]))) return {Source::Grad, std::stoi(p.substr(1))};
  if (p.starts_with("result")) return {Source::Result, p.size() > 6 ? std::stoi(p.substr(6)) : 0};
  struct { const char* suffix; Source::Kind kind; } suffixes[] = {{"_shape", Source::Shape}, {"_dtype", Source::DTypeOf}, {"_device", Source::DeviceOf}, {"_strides", Source::Strides}, {"_start", Source::Offset}};
  for (auto& s : suffixes)
    if (p.ends_with(s.suffix))
      if (int i = argument(p.substr(0, p.size() - std::string(s.suffix).size())); i >= 0) return {s.kind, i};
  fail(Kind::Type, op.schema.qualified(), ": gradient formula names '", p, "'");
}

PlannedFormula planned(const Operator& op, const Formula& f) {
  PlannedFormula p{&f, {}, {}};
  for (auto& name : f.inputs)
    for (size_t i = 0; i < op.schema.args.size(); ++i)
      if (op.schema.args[i].name == name) p.inputs.push_back(int(i));
  for (auto& name : f.parameters) p.sources.push_back(source_of(op, name));
  return p;
}

Plan& plan_of(Operator& op) {
  static auto* plans = new std::unordered_map<Operator*, Plan>();
  auto [it, fresh] = plans->try_emplace(&op);
  if (!fresh) return it->second;
  Plan& plan = it->second;
  size_t number = 0;
  auto& all = overloads(op.schema.qualified());
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i] == &op) number = i;
  plan.name = op.schema.name == "copy" || op.schema.name == "copy_" ? "CopyBackwards" : camel(shown_name(op.schema.name)) + "Backward" + std::to_string(number);
  for (auto& f : op.formulas) plan.single.push_back(planned(op, f));
  for (auto& f : op.fused) plan.fused.push_back(planned(op, f));
  plan.has_edges.resize(op.schema.args.size());
  for (auto* list : {&plan.single, &plan.fused})
    for (auto& f : *list)
      for (int i : f.inputs) plan.has_edges[size_t(i)] = op.schema.args[size_t(i)].type.base == ArgType::Tensor && !op.schema.args[size_t(i)].type.list;
  plan.linear = op.schema.qualified() == "aten::linear";
  plan.list_result = op.schema.returns.size() == 1 && op.schema.returns[0].type.list;
  return plan;
}

const char* kFreed =
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed). Saved intermediate values of the graph are "
    "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
    "tensors after calling backward.";

struct Saved {                                  // one value that a formula names
  std::vector<SavedTensor> tensors;             // one; several for a Tensor[] argument
  PyObject* object = nullptr;                   // anything else
  bool is_list = false, is_tensor = false;
};

class RecordNode final : public Node {
 public:
  RecordNode(Operator& op, Plan& plan) : op_(op), plan_(plan) {}
  ~RecordNode() override { drop(); }
  std::string name() const override { return plan_.name; }

  void build(PyObject* const* args, size_t n) {
    std::vector<Edge> edges;
    edges.reserve(n);
    first_edge_.resize(n + 1);
    for (size_t i = 0; i < n; ++i) {
      first_edge_[i] = int(edges.size());
      PyObject* a = args[i];
      if (is_tensor(a)) {
        Edge e = gradient_edge(Tensor(unwrap(a)));
        if (e || (i == 0 && op_.schema.args[0].name == "self") || (i < plan_.has_edges.size() && plan_.has_edges[i])) edges.push_back(std::move(e));
      } else if (PyList_Check(a) || PyTuple_Check(a)) {
        for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(a); ++k)
          if (PyObject* item = PySequence_Fast_GET_ITEM(a, k); is_tensor(item)) edges.push_back(gradient_edge(Tensor(unwrap(item))));
      } else if (i > 0 && i < plan_.has_edges.size() && plan_.has_edges[i]) {   // a number first is PyTorch's reversed operator: no input
        edges.emplace_back();
      }
    }
    first_edge_[n] = int(edges.size());
    set_next_edges(std::move(edges));
    choose();
  }

  void save(PyObject* const* args, PyObject* result) {      // without a result: what is known before it
    size_t count = 0;
    for (auto* f : chosen_) count += f->sources.size();
    keys_.reserve(count);
    values_.reserve(count);
    for (auto* f : chosen_)
      for (const Source& s : f->sources) {
        if (s.kind == Source::Grad || (s.kind == Source::Result && !result) || find(s)) continue;
        keys_.push_back(s);
        values_.push_back(value(s, args, result));
      }
  }

  Grads apply(Grads&& grads) override {
    GilAcquire gil;
    CHECK(Kind::Runtime, !released_, kFreed);
    Grads out(next_edges.size());
    if (plan_.linear && linear_gradients(grads, out)) return out;
    for (auto* f : chosen_)
      if (!adds_in_place(*f, grads)) call(*f, grads, out);
    return out;
  }

  void release_saved() override {
    GilAcquire gil;
    for (Saved& v : values_)                    // the entries stay: grad_fn._raw_saved_x points to them
      for (SavedTensor& t : v.tensors) {
        t.reset();
        released_ = true;                       // without a saved tensor running again is harmless
      }
  }

  Saved* find(const std::string& what) {        // of grad_fn._saved_self; null: there is none
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (shown(keys_[i]) == what) return &values_[i];
    }
    return nullptr;
  }

  PyObject* saved(const std::string& what) {
    Saved* v = find(what);
    if (!v) return nullptr;
    CHECK(Kind::Runtime, !released_ || (!v->is_tensor && !v->is_list), kFreed);
    PyObject* found = unpack(*v);
    if (!found || !v->is_list) return found;
    PyObject* tuple = PyList_AsTuple(found);
    Py_DECREF(found);
    return tuple;
  }

 private:
  std::string shown(const Source& s) const {
    if (s.kind == Source::Result) return result_name(s.index);
    const std::string& argument = op_.schema.args[size_t(s.index)].name;
    return s.kind == Source::Argument ? argument : s.kind == Source::Shape ? argument + "_sym_sizes" : s.kind == Source::Strides ? argument + "_sym_strides" : "";
  }

  bool wanted(int argument) const {
    for (int e = first_edge_[size_t(argument)]; e < first_edge_[size_t(argument) + 1]; ++e)
      if (next_edges[size_t(e)]) return true;
    return false;
  }

  // Fused formulas when all their inputs are wanted, then the single ones of what is left.
  void choose() {
    std::vector<bool> done(op_.schema.args.size());
    for (auto& f : plan_.fused) {
      bool all = std::all_of(f.inputs.begin(), f.inputs.end(), [&](int i) { return wanted(i) && !done[size_t(i)]; });
      if (!all) continue;
      chosen_.push_back(&f);
      for (int i : f.inputs) done[size_t(i)] = true;
    }
    for (auto& f : plan_.single)      // one that serves several inputs is called when any of them is wanted
      if (std::any_of(f.inputs.begin(), f.inputs.end(), [&](int i) { return wanted(i) && !done[size_t(i)]; })) {
        chosen_.push_back(&f);
        for (int i : f.inputs) done[size_t(i)] = true;
      }
    for (size_t i = 0; i + 1 < first_edge_.size() && i < done.size(); ++i)
      if (!done[i] && wanted(int(i))) underivable_ = true;
  }

  Saved* find(const Source& s) {
    for (size_t i = 0; i < keys_.size(); ++i)
      if (keys_[i].kind == s.kind && keys_[i].index == s.index) return &values_[i];
    return nullptr;
  }

  Saved value(const Source& s, PyObject* const* args, PyObject* result) {
    Saved v;
    if (s.kind == Source::Result) {
      PyObject* r = PyTuple_Check(result) ? PyTuple_GET_ITEM(result, s.index) : PyList_Check(result) ? PyList_GET_ITEM(result, s.index) : result;
      keep(v, r, true, uint32_t(s.index));
      return v;
    }
    PyObject* a = args[s.index];
    if (s.kind == Source::Argument) {
      keep(v, a, false);
      return v;
    }
    if (PyList_Check(a) || PyTuple_Check(a)) {  // metadata of every tensor of a list
      v.object = PyList_New(0);
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(a); ++k) {
        PyObject* m = metadata(s.kind, PySequence_Fast_GET_ITEM(a, k));
        PyList_Append(v.object, m);
        Py_DECREF(m);
      }
      return v;
    }
    v.object = metadata(s.kind, a);
    return v;
  }

  std::string result_name(int index) const { return op_.schema.returns.size() > 1 ? "result" + std::to_string(index) : "result"; }

  static PyObject* metadata(Source::Kind kind, PyObject* a) {
    if (!is_tensor(a)) {
      if (kind == Source::Shape) return size_object({});
      Py_RETURN_NONE;
    }
    TensorImpl* t = unwrap(a);
    switch (kind) {
      case Source::Shape: return size_object(t->sizes());
      case Source::DTypeOf: return dtype_object(t->dtype());
      case Source::DeviceOf: return device_object(t->device());
      case Source::Offset: return PyLong_FromLongLong(t->storage_offset());
      default: return size_object(t->strides());
    }
  }

  static void keep(Saved& v, PyObject* o, bool output, uint32_t output_nr = 0) {
    if (is_tensor(o)) {
      v.is_tensor = true;
      v.tensors.emplace_back(Tensor(unwrap(o)), output, output_nr);
      return;
    }
    bool list = false;                          // None may be among its tensors
    for (Py_ssize_t k = 0; (PyList_Check(o) || PyTuple_Check(o)) && !list && k < PySequence_Fast_GET_SIZE(o); ++k) list = is_tensor(PySequence_Fast_GET_ITEM(o, k));
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

  PyObject* unpack(Saved& v) {
    if (v.is_tensor) return wrap(v.tensors[0].unpack(Ref<Node>(this)));
    if (!v.is_list) {
      Py_INCREF(v.object);
      return v.object;
    }
    PyObject* list = PyList_New(Py_ssize_t(v.tensors.size()));
    for (size_t k = 0; k < v.tensors.size(); ++k) PyList_SET_ITEM(list, Py_ssize_t(k), wrap(v.tensors[k].unpack(Ref<Node>(this))));
    return list;
  }

  PyObject* gradient(int index, Grads& grads) {
    if (plan_.list_result) {                    // all of them, zeros where nothing came
      PyObject* list = PyList_New(Py_ssize_t(grads.size()));
      for (size_t i = 0; i < grads.size(); ++i) PyList_SET_ITEM(list, Py_ssize_t(i), wrap(materialized(i, grads)));
      return list;
    }
    if (size_t(index) >= grads.size()) Py_RETURN_NONE;
    if (index == 0) return wrap(materialized(0, grads));
    return wrap(grads[size_t(index)]);
  }

  Tensor materialized(size_t i, Grads& grads) {
    if (!grads[i]) grads[i] = engine_ops().zeros(inputs[i].sizes, inputs[i].dtype, inputs[i].device);
    return grads[i];
  }

  // Whether the product added to the weight's .grad by itself.
  bool adds_weight_gradient(const Tensor& dy) {
    Saved* input = find(Source{Source::Argument, 0});
    if (!input || !input->is_tensor) return false;
    const Edge& to = next_edges[size_t(first_edge_[1])];
    return gemm::may_add_weight_gradient(to, dy) && gemm::add_weight_gradient(to, dy, input->tensors[0].unpack(Ref<Node>(this)));
  }

  bool adds_in_place(const PlannedFormula& f, Grads& grads) {
    if (!plan_.linear || f.inputs.size() != 1 || f.inputs[0] != 1 || GradMode::enabled()) return false;
    return adds_weight_gradient(materialized(0, grads));
  }

  static bool plain(const Tensor& t) { return !t->pyobj || (!has_torch_function(static_cast<PyObject*>(t->pyobj)) && !SubclassOps::is_special(*t)); }

  DimSpan sizes_of(int argument) const {        // of a tensor whose gradient is wanted
    const Edge& e = next_edges[size_t(first_edge_[size_t(argument)])];
    return e.node->inputs[e.input_nr].sizes;
  }

  // The formulas' values for a weight of two dimensions and a bias a feature, without Python. False: nothing was done.
  bool linear_gradients(Grads& grads, Grads& out) {
    if (GradMode::enabled() || forward_gradients() || torch_function_mode_active() || first_edge_.size() != 4) return false;
    Tensor dy = materialized(0, grads), x, w;
    if (dy->dim() < 2 || !plain(dy)) return false;
    bool transposed = false;
    if (wanted(2) && (sizes_of(2).size() != 1 || sizes_of(2)[0] != dy->sizes().back())) return false;
    if (wanted(0)) {
      w = find(Source{Source::Argument, 1})->tensors[0].unpack(Ref<Node>(this));
      if (w->dim() != 2 || !plain(w)) return false;
    }
    if (wanted(1)) {
      PyObject* strides = find(Source{Source::Strides, 1})->object;
      if (PyTuple_GET_SIZE(strides) != 2) return false;
      transposed = PyLong_AsLongLong(PyTuple_GET_ITEM(strides, 0)) == 1 && PyLong_AsLongLong(PyTuple_GET_ITEM(strides, 1)) != 1;
      x = find(Source{Source::Argument, 0})->tensors[0].unpack(Ref<Node>(this));
      if (x->dim() != dy->dim() || !plain(x)) return false;
    }
    gemm::LinearGradients r;
    bool added = false;
    if (!wanted(1) || !gemm::add_weight_gradient_at_once(next_edges[size_t(first_edge_[1])], dy, x, w, wanted(2), &r)) {
      added = wanted(1) && adds_weight_gradient(dy);
      std::optional<GilRelease> released;
      if (dy->device().is_cpu()) released.emplace();
      r = gemm::linear_backward(dy, added ? Tensor() : x, w, transposed, wanted(2));
    }
    if (!r.done) {
      CHECK(Kind::Runtime, !added, "linear: its gradients cannot be computed on ", to_string(dy->device()));
      return false;
    }
    if (r.dx) out[size_t(first_edge_[0])] = std::move(r.dx);
    if (r.dw) out[size_t(first_edge_[1])] = std::move(r.dw);
    if (r.db) out[size_t(first_edge_[2])] = std::move(r.db);
    return true;
  }

  void call(const PlannedFormula& f, Grads& grads, Grads& out) {
    std::vector<PyObject*> args;
    struct Drop {
      std::vector<PyObject*>& v;
      ~Drop() { for (PyObject* o : v) Py_XDECREF(o); }
    } drop_args{args};
    for (const Source& s : f.sources) {
      PyObject* o = s.kind == Source::Grad ? gradient(s.index, grads) : unpack(*find(s));
      if (!o) throw PythonError();
      args.push_back(o);
    }
    PyObject* r = PyObject_Vectorcall(f.formula->function, args.data(), args.size(), nullptr);
    if (!r) throw PythonError();
    if (f.inputs.size() == 1) {
      take(f.inputs[0], r, out);
    } else {
      PyObject* fast = PySequence_Fast(r, "a fused gradient gives a sequence");
      for (size_t i = 0; fast && i < f.inputs.size(); ++i) take(f.inputs[i], PySequence_Fast_GET_ITEM(fast, Py_ssize_t(i)), out);
      Py_XDECREF(fast);
    }
    Py_DECREF(r);
  }

  void take(int argument, PyObject* r, Grads& out) {
    int first = first_edge_[size_t(argument)], last = first_edge_[size_t(argument) + 1];
    if (is_tensor(r)) {
      if (first < last) out[size_t(first)] = Tensor(unwrap(r));
    } else if (PyList_Check(r) || PyTuple_Check(r)) {
      for (int e = first; e < last && e - first < PySequence_Fast_GET_SIZE(r); ++e)
        if (PyObject* item = PySequence_Fast_GET_ITEM(r, e - first); is_tensor(item)) out[size_t(e)] = Tensor(unwrap(item));
    }
  }

  void drop() {
    if (values_.empty()) return;
    if (Py_IsInitialized()) {
      GilAcquire gil;
      for (Saved& v : values_) Py_CLEAR(v.object);
    }
    values_.clear();
    keys_.clear();
  }

 public:
  bool underivable_ = false;

 private:
  Operator& op_;
  Plan& plan_;
  std::vector<int> first_edge_;
  std::vector<const PlannedFormula*> chosen_;
  std::vector<Source> keys_;
  std::vector<Saved> values_;
  bool released_ = false;
};

class NotDerivable final : public Node {        // an operator without a formula: an error, but only if backward comes here
 public:
  explicit NotDerivable(std::string op) : op_(std::move(op)) {}
  Grads apply(Grads&&) override { fail(Kind::NotImplemented, "the derivative for '", op_, "' is not implemented."); }
  std::string name() const override { return "NotImplemented"; }

 private:
  std::string op_;
};

bool differentiable(const TensorImpl& t) { return is_floating(t.dtype()) || is_complex(t.dtype()); }

}  // namespace

bool any_requires_grad(PyObject* const* args, size_t n) {
  if (__builtin_expect(python_dispatch, 0) && below_python_dispatch()) return false;
  for (size_t i = 0; i < n; ++i) {
    PyObject* a = args[i];
    if (is_tensor(a)) {
      if (unwrap(a)->requires_grad()) return true;
    } else if (PyList_Check(a) || PyTuple_Check(a)) {
      for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(a); ++k)
        if (PyObject* item = PySequence_Fast_GET_ITEM(a, k); is_tensor(item) && unwrap(item)->requires_grad()) return true;
    }
  }
  return false;
}

Ref<Node> prepare_history(Operator& op, PyObject* const* args, size_t n) {
  if (op.formulas.empty() && op.fused.empty()) return {};
  auto node = make<RecordNode>(op, plan_of(op));
  node->build(args, n);
  node->save(args, nullptr);
  return node;
}

void record_history(Operator& op, PyObject* const* args, size_t n, PyObject* result, bool inplace, const Ref<Node>& prepared) {
  std::vector<Tensor> outputs;
  if (is_tensor(result)) {
    outputs.emplace_back(unwrap(result));
  } else if (PyList_Check(result) || PyTuple_Check(result)) {
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(result); ++k)
      if (PyObject* item = PySequence_Fast_GET_ITEM(result, k); is_tensor(item)) outputs.emplace_back(unwrap(item));
  }
  if (std::none_of(outputs.begin(), outputs.end(), [](auto& t) { return differentiable(*t); })) return;
  Plan& plan = plan_of(op);
  if (op.formulas.empty() && op.fused.empty()) {
    bool flows = op.record == nullptr;          // operators of torch.library: no formula, no history, as PyTorch
    auto node = make<NotDerivable>(op.schema.qualified());
    if (flows) return;
    node->set_next_edges({Edge{}});
    for (auto& t : outputs)
      if (differentiable(*t)) set_history(t, node);
    return;
  }
  Ref<RecordNode> node(static_cast<RecordNode*>(prepared.get()));
  if (!node) {
    node = make<RecordNode>(op, plan);
    node->build(args, n);
  }
  if (inplace) {
    node->save(args, result);
    rebase_history(outputs[0], node);
    return;
  }
  for (auto& t : outputs) {
    if (differentiable(*t)) set_history(t, node);
    else node->add_input(*t);
  }
  node->save(args, result);                     // after history: a saved result knows which output it is
}

void record_history(Operator& op, PyObject* const* args, size_t n, PyObject* result, bool inplace) {
  record_history(op, args, n, result, inplace, Ref<Node>());
}

bool raw_saved_attribute(Node* node, const char* name, std::vector<SavedTensor*>* found, bool* list) {
  auto* record = dynamic_cast<RecordNode*>(node);
  Saved* v = record ? record->find(std::string(name)) : nullptr;
  if (!v || (!v->is_tensor && !v->is_list)) return false;
  for (SavedTensor& t : v->tensors) found->push_back(&t);
  *list = v->is_list;
  return true;
}

PyObject* saved_attribute(Node* node, const char* name) {
  auto* record = dynamic_cast<RecordNode*>(node);
  return record ? record->saved(name) : nullptr;
}

}  // namespace shim
