// PyTorch's texts for calls that fit no overload.
#include <algorithm>

#include "ops/schema_names.h"
#include "python/arguments.h"
#include "python/foreign.h"

namespace shim {

namespace {

std::string shown_text(PyObject* string) {  // what has no UTF-8 as its escapes
  if (const char* text = PyUnicode_AsUTF8(string)) return text;
  PyErr_Clear();
  PyObject* escaped = PyObject_ASCII(string);
  const char* text = escaped ? PyUnicode_AsUTF8(escaped) : nullptr;
  const std::string shown = text ? text : "?";
  Py_XDECREF(escaped);
  return shown;
}

std::string type_name(PyObject* o) {
  if (is_tensor_exact(o)) return "Tensor";
  std::string name = Py_TYPE(o)->tp_name;
  return name.rfind("shim_torch.", 0) == 0 ? name.substr(name.rfind('.') + 1) : name;
}

std::string given_types(const CallArgs& c, Form form) {
  std::string s;
  for (size_t i = form == Form::method ? 1 : 0; i < c.nargs; ++i) s += (s.empty() ? "" : ", ") + type_name(c.args[i]);
  for (size_t i = 0; i < c.nkw(); ++i) {
    s += (s.empty() ? "" : ", ") + shown_text(c.kwname(i)) + "=" + type_name(c.kwvalue(i));
  }
  return s;
}

void raise_failure(Operator& op, const char* name, Form form, const CallArgs& c, const Failure& f) {
  const size_t skip = form == Form::method ? 1 : 0;
  const Argument* a = f.slot < op.schema.args.size() ? &op.schema.args[f.slot] : nullptr;
  switch (f.what) {
    case Failure::too_many: {
      size_t most = op.positional - skip, least = op.required > skip ? op.required - skip : 0, given = c.nargs - skip;
      if (least != most)
        PyErr_Format(PyExc_TypeError, "%s() takes from %zu to %zu positional arguments but %zu were given", name, least,
            most, given);
      else
        PyErr_Format(PyExc_TypeError, "%s() takes %zu positional argument%s but %zu %s given", name, most,
            most == 1 ? "" : "s", given, given == 1 ? "was" : "were");
      return;
    }
    case Failure::missing: {
      std::string names;
      size_t count = 0;
      for (size_t i = std::max(c.nargs, skip); i < op.schema.args.size(); ++i) {
        const Argument& m = op.schema.args[i];
        if (m.fallback) continue;
        bool given = false;
        for (size_t k = 0; k < c.nkw(); ++k)
          given |= PyUnicode_CompareWithASCIIString(c.kwname(k), shown_name(m, form).c_str()) == 0;
        if (given) continue;
        names += (count++ ? ", \"" : "\"") + shown_name(m, form) + "\"";
      }
      PyErr_Format(PyExc_TypeError, "%s() missing %zu required positional argument%s: %s", name, count,
          count == 1 ? "s" : "", names.c_str());
      return;
    }
    case Failure::type: {
      std::string position = f.position >= 0 ? " (position " + std::to_string(f.position) + ")" : "";
      const bool sequence = PyTuple_Check(f.value) || PyList_Check(f.value);
      if (a->type.list && a->type.base == ArgType::Int && sequence && PySequence_Fast_GET_SIZE(f.value) > 0) {
        PyErr_Format(PyExc_TypeError,
            "%s(): argument '%s'%s must be tuple of ints, but found element of type %s at pos 0", name,
            shown_name(*a, form).c_str(), position.c_str(), type_name(PySequence_Fast_GET_ITEM(f.value, 0)).c_str());
        return;
      }
      const char* note =
          a->type.base == ArgType::Tensor && !a->type.list ? tensor_note(f.value) : foreign_note(f.value);
      PyErr_Format(PyExc_TypeError, "%s(): argument '%s'%s must be %s, not %s%s", name, shown_name(*a, form).c_str(),
          position.c_str(), parameter_type_name(*a).c_str(), type_name(f.value).c_str(), note);
      return;
    }
    case Failure::multiple:
      PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", name, f.value);
      return;
    default:
      if (PyUnicode_CompareWithASCIIString(f.value, "names") == 0 && op.traits->dim_names)
        PyErr_Format(PyExc_NotImplementedError,
            "torch.%s: argument 'names' is not supported by shim-torch: there are no named tensors", name);
      else
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", name, f.value);
      return;
  }
}

void raise_op_failure(Operator& op, const CallArgs& c, const Failure& f) {
  std::string name = op.schema.qualified(), declaration = op.schema.text();
  if (f.what == Failure::missing) {
    PyErr_Format(PyExc_RuntimeError, "%s() is missing value for argument '%s'. Declaration: %s", name.c_str(),
        op.schema.args[f.slot].name.c_str(), declaration.c_str());
  } else if (f.what == Failure::type && f.value == Py_None && op.schema.args[f.slot].type.base == ArgType::Tensor &&
             !op.schema.args[f.slot].type.list) {
    PyErr_Format(PyExc_RuntimeError,
        "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #%d '%s'", int(f.slot),
        op.schema.args[f.slot].name.c_str());
  } else if (f.what == Failure::type) {
    ArgType type = op.schema.args[f.slot].type;
    type.symint = false;
    PyErr_Format(PyExc_RuntimeError,
        "%s() Expected a value of type '%s' for argument '%s' but instead found type '%s'.\nPosition: %d\nValue: "
        "%R\nDeclaration: %s",
        name.c_str(), jit_type(type).c_str(), op.schema.args[f.slot].name.c_str(), type_name(f.value).c_str(),
        int(f.slot), f.value, declaration.c_str());
  } else if (f.what == Failure::too_many || f.what == Failure::none) {
    PyErr_Format(PyExc_RuntimeError,
        "%s() expected at most %zu argument(s) but received %zu argument(s). Declaration: %s", name.c_str(),
        op.schema.args.size(), c.nargs + c.nkw(), declaration.c_str());
  } else {
    PyErr_Format(PyExc_RuntimeError, "Unknown keyword argument '%U' for operator '%s'. Schema: %s", f.value,
        name.c_str(), declaration.c_str());
  }
}

// The overloads that PyTorch has for numbers in the places of tensors, which are one here.
std::string number_signatures(const Operator& op, Form form, bool with_out) {
  std::string text = " * " + signature_text(op, form, with_out) + "\n";
  for (size_t i = form == Form::method ? 1 : 0; i < op.schema.args.size(); ++i)
    if (python_of(op).slots[i].number_ok) text += " * " + signature_text(op, form, with_out, i) + "\n";
  return text;
}

// Several results go into a tuple of tensors.
bool raise_out_not_tuple(const char* name, const CallArgs& c) {
  for (size_t i = 0; i < c.nkw(); ++i) {
    PyObject* value = c.kwvalue(i);
    if (PyUnicode_CompareWithASCIIString(c.kwname(i), "out") != 0 || PyTuple_Check(value) || PyList_Check(value))
      continue;
    PyErr_Format(
        PyExc_TypeError, "%s(): argument 'out' must be tuple of Tensors, not %s", name, type_name(value).c_str());
    return true;
  }
  return false;
}

}  // namespace

void set_binding_error(const std::vector<Operator*>& candidates, const char* name, Form form, const CallArgs& c) {
  std::vector<Operator*> signatures, plausible;
  bool out_given = false;
  for (size_t i = 0; i < c.nkw(); ++i)
    out_given |= PyUnicode_CompareWithASCIIString(c.kwname(i), "out") == 0 && c.kwvalue(i) != Py_None;
  for (Operator* op : candidates)
    if (!op->out_count || candidates.size() == 1) signatures.push_back(op);
  if (signatures.empty()) signatures = candidates;
  const size_t given = c.nargs + c.nkw();
  for (Operator* op : signatures) {
    size_t least = op->required,
           most = op->schema.args.size() + (out_variant(candidates, op) ? 1 : 0) + (op->factory ? 1 : 0);
    if (given >= least && given <= most) plausible.push_back(op);
  }
  Operator* only = signatures.size() == 1 ? signatures[0] : plausible.size() == 1 ? plausible[0] : nullptr;
  if (only && out_given)
    for (Operator* op : candidates)
      if (op->out_count && op->functional == only) only = op;
  if (only && only->out_count > 1 && out_given && form != Form::op && raise_out_not_tuple(name, c)) return;
  if (only) {
    Bound b;
    Failure f;
    if (bind_one(*only, form, c, b, f) == Fit::error) return;
    if (form == Form::op)
      raise_op_failure(*only, c, f);
    else if (f.what == Failure::type && only->number_overloads) {
      const std::string text = std::string(name) + "() received an invalid combination of arguments - got (" +
                               given_types(c, form) + "), but expected one of:\n" +
                               number_signatures(*only, form, out_variant(candidates, only));
      PyErr_SetString(PyExc_TypeError, text.c_str());
    } else
      raise_failure(*only, name, form, c, f);
    return;
  }
  if (form == Form::op) {
    std::string text = "Overloaded torch operator invoked from Python failed to match any schema:\n";
    for (Operator* op : signatures) {
      Bound b;
      Failure f;
      bind_one(*op, form, c, b, f);
      PyErr_Clear();
      raise_op_failure(*op, c, f);
      PyObject *type, *value, *trace;
      PyErr_Fetch(&type, &value, &trace);
      PyObject* words = PyObject_Str(value);
      if (words) text += shown_text(words) + "\n\n";
      Py_XDECREF(words);
      Py_XDECREF(type);
      Py_XDECREF(value);
      Py_XDECREF(trace);
    }
    PyErr_SetString(PyExc_RuntimeError, text.c_str());
    return;
  }
  std::string text = std::string(name) + "() received an invalid combination of arguments - got (" +
                     given_types(c, form) + "), but expected one of:\n";
  for (Operator* op : signatures) text += " * " + signature_text(*op, form, out_variant(candidates, op)) + "\n";
  PyErr_SetString(PyExc_TypeError, text.c_str());
}

}  // namespace shim
