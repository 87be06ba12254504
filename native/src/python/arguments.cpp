#include "python/arguments.h"

#include "python/deprecated_signatures.h"
#include "python/owned_ref.h"

#include <algorithm>
#include <cstring>

namespace shim {
namespace {

bool same_name(PyObject* a, PyObject* b) { return a == b || (a && b && PyUnicode_Compare(a, b) == 0); }

// Positions of keywords that belong to no schema argument but to every call of the kind.
struct Extras {
  PyObject* out;
  PyObject* requires_grad;
  PyObject* names;
  static Extras& get() {
    static Extras e{PyUnicode_InternFromString("out"), PyUnicode_InternFromString("requires_grad"),
        PyUnicode_InternFromString("names")};
    return e;
  }
};

PyObject* slot_name(const Slot& s, Form form) {
  static PyObject* input = PyUnicode_InternFromString("input");
  return s.is_self && form == Form::function ? input : s.name;
}

bool is_alternative(const Slot& s, PyObject* word) {
  for (Py_ssize_t i = 0; s.alternatives && i < PyTuple_GET_SIZE(s.alternatives); ++i)
    if (same_name(word, PyTuple_GET_ITEM(s.alternatives, i))) return true;
  return false;
}

// Index of the keyword for this slot, or -1. Pointer comparison first: names of calls in source code are interned.
int find_keyword(const Slot& s, Form form, const CallArgs& c) {
  PyObject* name = slot_name(s, form);
  size_t n = c.nkw();
  for (size_t i = 0; i < n; ++i)
    if (c.kwname(i) == name) return int(i);
  for (size_t i = 0; i < n; ++i) {
    if (PyUnicode_CHECK_INTERNED(c.kwname(i)) && !s.alternatives) continue;
    if (same_name(c.kwname(i), name) || (form != Form::op && is_alternative(s, c.kwname(i)))) return int(i);
  }
  return -1;
}

// x.view(2, 3): the only positional argument is an int list, given as several ints.
bool takes_varargs(const Operator& op, Form form, const CallArgs& c, size_t first) {
  size_t own = op.positional - (form == Form::method ? 1 : 0);
  if (form == Form::op || own != 1 || c.nargs <= first) return false;
  const ArgType& t = op.schema.args[first].type;
  if (!t.list || t.base != ArgType::Int) return false;
  for (size_t i = first; t.list_size > 0 && i < c.nargs; ++i)
    if (PyBool_Check(c.args[i])) return false;  // x.var(0, True): another overload; in a size, True is 1
  return PyIndex_Check(c.args[first]) && !PyTuple_Check(c.args[first]) && !PyList_Check(c.args[first]) &&
         !PyBool_Check(c.args[first]);
}

// out=(values, indices) stands for the named out arguments of the overload.
PyObject* out_value(const Operator& op, size_t slot, const CallArgs& c, bool& bad) {
  for (size_t i = 0; i < c.nkw(); ++i) {
    if (!same_name(c.kwname(i), Extras::get().out)) continue;
    PyObject* value = c.kwvalue(i);
    if (op.out_count == 1) return value;
    if (!PyTuple_Check(value) && !PyList_Check(value)) return nullptr;
    size_t given = size_t(PySequence_Fast_GET_SIZE(value));
    if (given != op.out_count) {
      PyErr_Format(PyExc_TypeError, "expected tuple of %d elements but got %zu", int(op.out_count), given);
      bad = true;
      return nullptr;
    }
    size_t first = op.schema.args.size() - op.out_count;
    return PySequence_Fast_GET_ITEM(value, slot - first);
  }
  return nullptr;
}

bool takes_out(const Operator& op, Form form) { return form != Form::op && op.out_count > 0; }

// out=None is nothing where out= is known: to functions of which some overload has it.
bool may_have_out(const Operator& op, Form form) {
  return form == Form::function &&
         std::ranges::any_of(overloads(op.schema.qualified()), [](const Operator* o) { return o->out_count > 0; });
}

bool all_numbers(const Operator& op, PyObject* const* bound) {  // in the places of tensors
  for (size_t i = 0; i < op.schema.args.size(); ++i)
    if (op.schema.args[i].type.base == ArgType::Tensor && !op.schema.args[i].alias && !PyLong_Check(bound[i]) &&
        !PyFloat_Check(bound[i]) && !PyComplex_Check(bound[i]))
      return false;
  return true;
}

}  // namespace

Fit bind_one(Operator& op, Form form, const CallArgs& c, Bound& b, Failure& f) {
  const std::vector<Slot>& slots = python_of(op).slots;
  const size_t n = slots.size();
  b.reset(n);
  b.overloaded = b.requires_grad = false;
  PyObject** bound = b.data();
  size_t first = form == Form::method ? 1 : 0, given = c.nargs, used = 0;
  bool varargs = false;
  if (given > op.positional || (op.positional == first + 1 && given == first + 1)) {
    varargs = takes_varargs(op, form, c, first);
    if (varargs)
      given = first + 1;
    else if (given > op.positional) {
      f.what = Failure::too_many;
      return Fit::no;
    }
  }
  const size_t nkw = c.nkw();
  bool out_used = false;
  for (size_t i = 0; i < n; ++i) {
    const Slot& s = slots[i];
    const Argument& a = op.schema.args[i];
    PyObject* value = nullptr;
    OwnedRef packed;
    if (i < given) {
      value = c.args[i];
      if (varargs && i == first) {
        value = packed.o = tuple_of_lent(c.args + first, c.nargs - first);
        if (!value) return Fit::error;
      }
    } else if (used < nkw) {
      int k = find_keyword(s, form, c);
      // The first of several outs may be called out too, as the tuple of them all is.
      const bool several =
          k >= 0 && a.is_out && op.out_count > 1 && takes_out(op, form) && PyTuple_Check(c.kwvalue(size_t(k)));
      if (k >= 0 && !several) {
        value = c.kwvalue(size_t(k));
        ++used;
      }
    }
    if (!value && a.is_out && takes_out(op, form) && nkw) {
      bool bad = false;
      value = out_value(op, i, c, bad);
      if (bad) return Fit::error;
      if (value && !out_used) {
        out_used = true;
        ++used;
      }
    }
    if (!value) {
      if (!s.fallback) {
        f.what = Failure::missing;
        f.slot = i;
        return Fit::no;
      }
      Py_INCREF(s.fallback);
      bound[i] = s.fallback;
      continue;
    }
    const bool undefined = value == Py_None && s.none_ok && form == Form::op;
    Fit fit = undefined ? Fit::yes : convert_argument(a, s, value, i, b, &bound[i]);
    if (undefined) bound[i] = Py_NewRef(Py_None);
    if (fit == Fit::no && form == Form::op && PyBool_Check(value) && a.type.base == ArgType::Int && !a.type.list)
      fit = (bound[i] = PyLong_FromLong(value == Py_True)) ? Fit::yes : Fit::error;  // a number, as C++ has it
    f.value = value;
    if (__builtin_expect(fit != Fit::yes, 0)) {
      if (fit == Fit::unreadable) {
        if (form != Form::op) raise_unreadable(a, value);
        fit = form == Form::op ? Fit::no : Fit::error;
      }
      if (varargs && i == first) f.value = c.args[first];
    }
    if (fit != Fit::yes) {
      f.what = Failure::type;
      f.slot = i;
      f.position = i < given ? int(i + 1 - first) : -1;
      return fit;
    }
  }
  for (size_t i = 0; used < nkw && i < nkw; ++i) {
    PyObject* name = c.kwname(i);
    bool known = false, positional = false;
    for (size_t k = 0; k < n && !known; ++k) {
      const Slot& s = slots[k];
      const bool own = same_name(name, slot_name(s, form));
      known = own || (form != Form::op && is_alternative(s, name));
      if (known && k < given)
        f.what = own && k >= size_t(form == Form::method) ? Failure::multiple : Failure::unexpected;
      positional = known && k < given;
    }
    Extras& e = Extras::get();
    if (known && !positional) continue;
    if (!known && same_name(name, e.out) && (out_used || (c.kwvalue(i) == Py_None && may_have_out(op, form)))) continue;
    if (!known && same_name(name, e.names) && c.kwvalue(i) == Py_None) continue;
    if (!known && op.factory && same_name(name, e.requires_grad)) {
      int truth = PyObject_IsTrue(c.kwvalue(i));
      if (truth < 0) return Fit::error;
      b.requires_grad = truth;
      continue;
    }
    if (!known) f.what = Failure::unexpected;
    f.value = name;
    return Fit::no;
  }
  if (op.wants_a_tensor && all_numbers(op, bound)) {
    f.what = Failure::type;
    f.slot = 0;
    f.value = c.nargs ? c.args[0] : bound[0];
    f.position = c.nargs ? 1 : -1;
    return Fit::no;
  }
  return Fit::yes;
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

PyObject* default_object(const Argument& a) {
  const Default::Value& v = a.fallback->value;
  if (std::holds_alternative<std::monostate>(v)) Py_RETURN_NONE;
  if (auto* b = std::get_if<bool>(&v)) return PyBool_FromLong(*b);
  if (auto* t = std::get_if<DType>(&v)) return dtype_object(*t);
  if (auto* d = std::get_if<double>(&v)) return PyFloat_FromDouble(*d);
  if (auto* i = std::get_if<int64_t>(&v)) {
    if (a.type.base == ArgType::MemoryFormat) return memory_format_object(MemoryFormat(*i));
    if (a.type.base == ArgType::Layout) return layout_object(int(*i));
    if (a.type.base == ArgType::Float) return PyFloat_FromDouble(double(*i));
    return PyLong_FromLongLong(*i);
  }
  if (auto* s = std::get_if<std::string>(&v)) {
    if (a.type.base == ArgType::Device) return device_object(parse_device(*s));
    return PyUnicode_FromString(s->c_str());
  }
  if (auto* l = std::get_if<std::vector<int64_t>>(&v)) {
    if (a.type.base == ArgType::Tensor) return PyList_New(0);
    return tuple_by(l->size(), [&](size_t i) { return PyLong_FromLongLong((*l)[i]); });
  }
  if (auto* l = std::get_if<std::vector<double>>(&v))
    return tuple_by(l->size(), [&](size_t i) { return PyFloat_FromDouble((*l)[i]); });
  auto& l = std::get<std::vector<bool>>(v);
  return tuple_by(l.size(), [&](size_t i) { return PyBool_FromLong(l[i]); });
}

// NumPy's keywords for PyTorch's; PyTorch's functions take all of them.
PyObject* numpy_words(const std::string& name) {
  static const std::unordered_map<std::string, std::vector<const char*>> words = {
      {"dim", {"axis"}}, {"keepdim", {"keepdims"}}, {"self", {"x", "a", "x1"}}, {"other", {"x2"}}};
  auto it = words.find(name);
  if (it == words.end()) return nullptr;
  return tuple_by(it->second.size(), [&](size_t i) { return PyUnicode_InternFromString(it->second[i]); });
}

}  // namespace

void prepare_slots(PythonOperator& op) {
  op.read_schema();
  op.slots.clear();
  for (const Argument& a : op.schema.args) {
    Slot s;
    s.name = PyUnicode_InternFromString(a.name.c_str());
    s.is_self = a.name == "self" && !a.type.list;
    s.alternatives = numpy_words(a.name);
    s.none_ok = op.schema.ns != "aten" && a.type.base == ArgType::Tensor && !a.type.list;
    if (a.fallback) s.fallback = default_object(a);
    op.slots.push_back(s);
  }
}

}  // namespace shim
