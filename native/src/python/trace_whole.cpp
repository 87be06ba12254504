#include "python/trace_whole.h"

#include <algorithm>
#include <cstring>

#include "autograd/autocast.h"
#include "core/sparse.h"
#include "ops/default_device.h"
#include "python/batching.h"
#include "python/dispatch.h"
#include "python/torch_dispatch.h"

namespace shim {

using namespace trace;

PyObject* names_read = nullptr;

namespace {

constexpr int kCallsBefore = 3;  // the first learns, the second plans

// Whether nothing is on that sees operators, or gives them other arguments.
bool plain_here() {
  if (!looks_at(Check::whole_modes)) return true;
  return !any_autocast() && !torch_function_mode_active() && !dispatch_mode_active() && !gradient_transforms &&
         !running_transforms && !forward_gradients() && !InferenceMode::enabled() && !default_device();
}

bool is_constant(PyObject* o) {
  return o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o) ||
         is_dtype(o) || is_device(o);
}

bool same_constant(PyObject* a, PyObject* b) {
  if (a == b || !looks_at(Check::whole_constants)) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) {  // to the bit: 0.0 is not -0.0
    const double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return !std::memcmp(&x, &y, sizeof x);
  }
  return PyLong_CheckExact(a) && PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

// Of no subclass, without attributes of its own, which could stand before a method.
bool is_plain_tensor(PyObject* o) {
  if (!is_tensor_exact(o)) return false;
  PyObject* dict = reinterpret_cast<PyTensor*>(o)->dict;
  return (!dict || !PyDict_GET_SIZE(dict)) && !is_sparse(*unwrap(o));
}

size_t count(const FunctionCall& c) {
  return size_t(PyVectorcall_NARGS(c.n)) + size_t(c.names ? PyTuple_GET_SIZE(c.names) : 0);
}

bool same_names(PyObject* a, PyObject* b) { return a == b || (a && b && PyObject_RichCompareBool(a, b, Py_EQ) == 1); }

}  // namespace

// (dict, name, value): it stands there; (dict, name): nothing does; (cell, value): it holds it; (function, code, defaults, defaults by
// name): they are its own.
bool WholeCalls::reads_hold() const {
  if (!looks_at(Check::whole_names)) return true;
  if (TensorType->tp_version_tag != methods_ || !methods_) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(reads_); ++i) {
    PyObject* read = PyTuple_GET_ITEM(reads_, i);
    PyObject* of = PyTuple_GET_ITEM(read, 0);
    const Py_ssize_t size = PyTuple_GET_SIZE(read);
    const auto item = [&](Py_ssize_t k) { return PyTuple_GET_ITEM(read, k); };
    if (size == 4) {
      const auto or_none = [](PyObject* o) { return o ? o : Py_None; };
      if (PyFunction_GET_CODE(of) != item(1) || or_none(PyFunction_GET_DEFAULTS(of)) != item(2) ||
          or_none(PyFunction_GET_KW_DEFAULTS(of)) != item(3))
        return false;
    } else if (PyCell_Check(of)) {
      if (PyCell_GET(of) != item(1)) return false;
    } else if (PyDict_GetItemWithError(of, item(1)) != (size == 3 ? item(2) : nullptr)) {
      return false;
    }
  }
  return true;
}

void WholeCalls::ask(PyObject* function) {
  known_.clear();
  held_.clear();
  owned(PyObject_GetAttrString(
      reinterpret_cast<PyObject*>(TensorType), "__add__"));  // which gives it a tag, if it has none
  methods_ = TensorType->tp_version_tag;
  Py_XSETREF(reads_, owned(PyObject_CallOneArg(names_read, function)).give());
  if (reads_ == Py_None) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(reads_); ++i) {
    PyObject* read = PyTuple_GET_ITEM(reads_, i);
    PyObject* value = PyTuple_GET_ITEM(read, PyTuple_GET_SIZE(read) - 1);
    if (is_tensor_exact(value) && std::ranges::find(held_, value) == held_.end()) held_.push_back(value);
  }
}

bool WholeCalls::takes(const Known& known, const FunctionCall& c, std::vector<TensorImpl*>& tensors) const {
  const size_t n = count(c);
  if (n != known.constants.size() || !same_names(c.names, known.names)) return false;
  tensors.clear();
  for (size_t i = 0; i < n; ++i) {
    PyObject* constant = known.constants[i];
    if (constant ? !same_constant(constant, c.args[i]) : !is_plain_tensor(c.args[i])) return false;
    if (!constant) tensors.push_back(unwrap(c.args[i]));
  }
  for (PyObject* o : held_) {
    if (!is_plain_tensor(o)) return false;
    tensors.push_back(unwrap(o));
  }
  return known.whole->fits(tensors);
}

PyObject* WholeCalls::call(const FunctionCall& c) {
  if (known_.empty() || !plain_here() || !reads_hold()) return nullptr;
  const auto found = std::ranges::find_if(known_, [&](const Known& k) { return takes(k, c, tensors_); });
  if (found == known_.end()) return nullptr;
  results_.clear();
  found->whole->run(tensors_, results_);
  if (!found->tuple) return wrap(std::move(results_[0]));
  return tuple_by(results_.size(), [&](size_t i) { return wrap(std::move(results_[i])); });
}

std::optional<WholeCalls::Attempt> WholeCalls::attempt(const FunctionCall& c) {
  if (reads_ == Py_None || attempts_ == kMostAttempts || known_.size() == kMostKnown || c.kwargs || !plain_here())
    return {};
  if (++calls_ < kCallsBefore) return {};
  if (!reads_) ask(c.function);
  if (reads_ != Py_None && !reads_hold()) ++attempts_, ask(c.function);
  if (reads_ == Py_None) return {};
  Attempt a;
  const auto add = [&](PyObject* o) {
    a.tensors.push_back(unwrap(o));
    a.specs.push_back(TensorSpec::of(*unwrap(o)));
    a.versions.push_back(unwrap(o)->version());
  };
  for (size_t i = 0; i < count(c); ++i) {
    const bool tensor = is_plain_tensor(c.args[i]);
    if (!tensor && !is_constant(c.args[i])) return {};
    a.constants.push_back(tensor ? nullptr : c.args[i]);
    if (tensor) add(c.args[i]);
  }
  if (!std::ranges::all_of(held_, is_plain_tensor)) return {};
  std::ranges::for_each(held_, add);
  return a;
}

void WholeCalls::look(Attempt& a, const Session& s, PyObject* result) {
  if (!s.quiet()) return;
  std::vector<TensorImpl*> results;
  a.tuple = PyTuple_CheckExact(result);
  const auto add = [&](PyObject* o) {
    if (is_plain_tensor(o)) results.push_back(unwrap(o));
    return is_plain_tensor(o);
  };
  bool plain = a.tuple || add(result);
  for (Py_ssize_t i = 0; a.tuple && i < PyTuple_GET_SIZE(result); ++i)
    plain = plain && add(PyTuple_GET_ITEM(result, i));
  for (size_t i = 0; i < a.tensors.size(); ++i)
    plain = plain && a.specs[i].lies_like(*a.tensors[i]) && a.tensors[i]->version() == a.versions[i];
  if (plain) a.whole = Whole::of(s, a.tensors, results);
  if (!a.whole) ++attempts_;
}

void WholeCalls::keep(Attempt a, const Session& s, const FunctionCall& c) {
  if (!a.whole || !a.whole->ran(s) || !reads_hold()) return;
  std::vector<OwnedRef> constants;
  for (PyObject* o : a.constants) constants.emplace_back(Py_XNewRef(o));
  known_.push_back({std::move(constants), OwnedRef{Py_XNewRef(c.names)}, std::move(a.whole), a.tuple});
}

}  // namespace shim
