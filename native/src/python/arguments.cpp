#include "python/arguments.h"

#include "python/deprecated_signatures.h"
#include "python/owned_ref.h"
#include "python/values.h"

namespace shim {
namespace {

// `known` is interned, as words of calls in source code are: those are the same object or another word.
bool same_name(PyObject* word, PyObject* known) {
  return word == known || (!PyUnicode_CHECK_INTERNED(word) && PyUnicode_Compare(word, known) == 0);
}

PyObject* slot_name(const Slot& s, Form form) {
  static PyObject* input = PyUnicode_InternFromString("input");
  return form == Form::op ? s.name : s.is_self && form == Form::function ? input : s.python_name;
}

struct PythonObjects {  // what ops/binding.h asks
  using Call = CallArgs;
  using Object = PyObject*;
  using Bound = shim::Bound;
  using Owned = OwnedRef;

  static const std::vector<Slot>& slots(const Operator& op) { return python_of(op).slots; }
  static bool is_name(const Slot& s, Form form, PyObject* word) { return same_name(word, slot_name(s, form)); }
  static bool is_alternative(const Slot& s, Form form, PyObject* word) {
    for (Py_ssize_t i = 0; form != Form::op && s.alternatives && i < PyTuple_GET_SIZE(s.alternatives); ++i)
      if (same_name(word, PyTuple_GET_ITEM(s.alternatives, i))) return true;
    return false;
  }
  // Index of the keyword for this slot, or -1. Pointer comparison first: names of calls in source code are interned.
  static int keyword_of(const CallArgs& c, const Slot& s, Form form) {
    PyObject* name = slot_name(s, form);
    const size_t n = c.nkw();
    for (size_t i = 0; i < n; ++i)
      if (c.kwname(i) == name) return int(i);
    for (size_t i = 0; i < n; ++i) {
      if (PyUnicode_CHECK_INTERNED(c.kwname(i)) && !s.alternatives) continue;
      if (same_name(c.kwname(i), name) || is_alternative(s, form, c.kwname(i))) return int(i);
    }
    return -1;
  }
  static ExtraWord extra_word(PyObject* word) {
    static PyObject *const out = PyUnicode_InternFromString("out"), *const names = PyUnicode_InternFromString("names"),
                           *const requires_grad = PyUnicode_InternFromString("requires_grad");
    return same_name(word, out)             ? ExtraWord::out
           : same_name(word, names)         ? ExtraWord::names
           : same_name(word, requires_grad) ? ExtraWord::requires_grad
                                            : ExtraWord::none;
  }
  static PyObject* together(const CallArgs& c, size_t first, OwnedRef& tuple) {
    return (tuple = OwnedRef(tuple_of_lent(c.args + first, c.nargs - first))).o;
  }

  static bool is_none(PyObject* o) { return o == Py_None; }
  static bool is_bool(PyObject* o) { return PyBool_Check(o); }
  static bool is_number(PyObject* o) { return PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o); }
  static bool is_tuple(PyObject* o) { return PyTuple_Check(o); }
  static bool is_sequence(PyObject* o) { return PyTuple_Check(o) || PyList_Check(o); }
  static bool is_index(PyObject* o) { return PyIndex_Check(o) && !is_sequence(o) && !PyBool_Check(o); }
  static size_t length(PyObject* o) { return size_t(PySequence_Fast_GET_SIZE(o)); }
  static PyObject* item(PyObject* o, size_t i) { return PySequence_Fast_GET_ITEM(o, Py_ssize_t(i)); }
  static PyObject* shared(PyObject* o) { return Py_NewRef(o); }
  static PyObject* number_of_bool(PyObject* o) { return PyLong_FromLong(o == Py_True); }
  static int truth(PyObject* o) { return PyObject_IsTrue(o); }

  static constexpr auto& convert = convert_argument;
  static constexpr auto& refuse_unreadable = raise_unreadable;
  static constexpr auto& refuse = raise;
};

}  // namespace

Fit bind_one(Operator& op, Form form, const CallArgs& c, Bound& b, Failure& f) {
  return Binding<PythonObjects>::bind(op, form, c, b, f);
}

Operator* bind_arguments(
    const std::vector<Operator*>& candidates, const char* name, Form form, const CallArgs& c, Bound& b) {
  for (Operator* op : candidates) {
    Failure f;
    Fit fit = bind_one(*op, form, c, b, f);
    if (fit == Fit::yes) return op;
    if (fit == Fit::error) return nullptr;
  }
  // A callable may have been made before its operator.
  if (candidates.empty() && define_waiting && define_waiting()) return bind_arguments(candidates, name, form, c, b);
  if (Operator* op = bind_deprecated(candidates, name, form, c, b)) return op;
  if (!PyErr_Occurred()) set_binding_error(candidates, name, form, c);
  return nullptr;
}

namespace {

// NumPy's keywords for PyTorch's; PyTorch's functions take all of them.
PyObject* numpy_words(const std::string& name) {
  static const std::unordered_map<std::string, std::vector<const char*>> words = {
      {"dim", {"axis"}}, {"keepdim", {"keepdims"}}, {"self", {"x", "a", "x1"}}, {"other", {"x2"}}};
  auto it = words.find(name);
  if (it == words.end()) return nullptr;
  return tuple_by(it->second.size(), [&](size_t i) { return PyUnicode_InternFromString(it->second[i]); });
}

}  // namespace

std::unique_ptr<Operator> PythonOperator::sharing() const {
  auto made = std::make_unique<PythonOperator>();
  made->record = record;
  made->run = run;
  return made;
}

void PythonOperator::prepare(const std::vector<bool>& numbers) {
  read_schema();
  slots.clear();
  for (Argument& a : schema.args) {
    for (size_t i = 0; i + 1 < traits->python_names.size(); i += 2)
      if (a.name == traits->python_names[i]) a.python_name = traits->python_names[i + 1];
    Slot s;
    ValueRoom room;
    s.name = PyUnicode_InternFromString(a.name.c_str());
    s.python_name = a.python_name.empty() ? s.name : PyUnicode_InternFromString(a.python_name.c_str());
    s.is_self = a.name == "self" && !a.type.list;
    s.alternatives = numpy_words(a.name);
    s.none_ok = schema.ns != "aten" && a.type.base == ArgType::Tensor && !a.type.list;
    s.number_ok = !numbers.empty() && numbers[slots.size()];
    if (a.fallback) s.fallback = object_of(default_of(a, room));
    slots.push_back(s);
  }
}

}  // namespace shim
