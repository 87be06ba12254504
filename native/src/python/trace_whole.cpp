#include "python/trace_whole.h"

#include <algorithm>

#include "core/sparse.h"

namespace shim {

using namespace trace;

PyObject* names_read = nullptr;

namespace {

// Of no subclass, without attributes of its own, which could stand before a method.
TensorImpl* bare_tensor(void* of) {
  auto* const o = static_cast<PyObject*>(of);
  if (!is_tensor_exact(o)) return nullptr;
  PyObject* dict = reinterpret_cast<PyTensor*>(o)->dict;
  return (!dict || !PyDict_GET_SIZE(dict)) && !is_sparse(*unwrap(o)) ? unwrap(o) : nullptr;
}

bool is_constant(void* of) {
  auto* const o = static_cast<PyObject*>(of);
  return o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o) ||
         is_dtype(o) || is_device(o);
}

std::span<void* const> lent(PyObject* const* objects, size_t n) { return {reinterpret_cast<void* const*>(objects), n}; }

CallObjects objects_of(const FunctionCall& c, const std::vector<PyObject*>& held) {
  const size_t n = size_t(PyVectorcall_NARGS(c.n)) + size_t(c.names ? PyTuple_GET_SIZE(c.names) : 0);
  return {lent(c.args, n), lent(held.data(), held.size()), c.names};
}

const ModulePart whole_calls{{}, [](PyObject*) {
                               object_questions = {bare_tensor, is_constant};
                               return 0;
                             }};

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
  known_.forget();
  owned(PyObject_GetAttrString(
      reinterpret_cast<PyObject*>(TensorType), "__add__"));  // which gives it a tag, if it has none
  methods_ = TensorType->tp_version_tag;
  Py_XSETREF(reads_, owned(PyObject_CallOneArg(names_read, function)).give());
  held_.clear();
  if (reads_ == Py_None) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(reads_); ++i) {
    PyObject* read = PyTuple_GET_ITEM(reads_, i);
    PyObject* value = PyTuple_GET_ITEM(read, PyTuple_GET_SIZE(read) - 1);
    if (is_tensor_exact(value) && std::ranges::find(held_, value) == held_.end()) held_.push_back(value);
  }
}

PyObject* WholeCalls::call(const FunctionCall& c) {
  if (runs_ || known_.empty() || !plain_here() || !reads_hold()) return nullptr;
  struct Runs {
    bool& on;
    explicit Runs(bool& b) : on(b = true) {}
    ~Runs() { on = false; }
  } runs(runs_);
  bool tuple = false;
  results_.clear();
  if (!known_.run(objects_of(c, held_), results_, &tuple)) return nullptr;
  if (!tuple) return wrap(std::move(results_[0]));
  return tuple_by(results_.size(), [&](size_t i) { return wrap(std::move(results_[i])); });
}

std::optional<WholeCalls::Attempt> WholeCalls::attempt(const FunctionCall& c) {
  if (runs_ || reads_ == Py_None || c.kwargs || !known_.may_learn()) return {};
  if (!reads_) ask(c.function);
  if (reads_ != Py_None && !reads_hold()) known_.failed(), ask(c.function);
  if (reads_ == Py_None) return {};
  return known_.attempt(objects_of(c, held_));
}

void WholeCalls::look(Attempt& a, const Session& s, PyObject* result) {
  const bool tuple = PyTuple_CheckExact(result);
  known_.look(
      a, s, tuple ? lent(&PyTuple_GET_ITEM(result, 0), size_t(PyTuple_GET_SIZE(result))) : lent(&result, 1), tuple);
}

void WholeCalls::keep(Attempt a, const Session& s) {
  if (reads_hold()) known_.keep(std::move(a), s);
}

}  // namespace shim
