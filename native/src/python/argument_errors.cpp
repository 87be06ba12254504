// What PyTorch's texts for calls that fit no overload (ops/call_errors.h) say of Python's objects.
#include "ops/call_errors.h"
#include "python/arguments.h"
#include "python/foreign.h"
#include "python/owned_ref.h"

#include <unordered_map>

namespace shim {

namespace {

std::string shown_text(PyObject* string) {  // what has no UTF-8 as its escapes
  if (const char* text = PyUnicode_AsUTF8(string)) return text;
  PyErr_Clear();
  const OwnedRef escaped{PyObject_ASCII(string)};
  const char* text = escaped.o ? PyUnicode_AsUTF8(escaped) : nullptr;
  return text ? text : "?";
}

std::string type_name(PyObject* o) {
  if (is_tensor_exact(o)) return "Tensor";
  const std::string name = Py_TYPE(o)->tp_name;
  return name.starts_with("shim_torch.") ? name.substr(name.rfind('.') + 1) : name;
}

GivenCall given_call(const CallArgs& c, Form form) {
  GivenCall given{.positional = c.nargs};
  const auto add = [&](const std::string& type) { given.types += (given.types.empty() ? "" : ", ") + type; };
  for (size_t i = form == Form::method ? 1 : 0; i < c.nargs; ++i) add(type_name(c.args[i]));
  std::unordered_map<std::string, std::string> shown;  // PyTorch gives keywords in this container's order
  for (size_t i = 0; i < c.nkw(); ++i) {
    const std::string& word = given.keywords.emplace_back(shown_text(c.kwname(i)));
    shown.emplace(word, word + "=" + type_name(c.kwvalue(i)));
    given.out |= word == "out" && c.kwvalue(i) != Py_None;
  }
  const bool words_alone = given.types.empty() && !shown.empty();
  for (const auto& [word, text] : shown) add(text);
  if (words_alone) given.types += ", ";  // as PyTorch writes it
  return given;
}

Misfit misfit(const Operator& op, Form form, const Failure& f) {
  Misfit m{.what = Misfit::What(f.what), .slot = f.slot, .position = f.position, .is_none = f.value == Py_None};
  if (f.what == Failure::multiple || f.what == Failure::unexpected) m.keyword = shown_text(f.value);
  if (f.what != Failure::type) return m;
  const ArgType& type = op.schema.args[f.slot].type;
  m.type_name = type_name(f.value);
  if ((PyTuple_Check(f.value) || PyList_Check(f.value)) && PySequence_Fast_GET_SIZE(f.value))
    m.element = type_name(PySequence_Fast_GET_ITEM(f.value, 0));
  m.note = type.base == ArgType::Tensor && !type.list ? tensor_note(f.value) : foreign_note(f.value);
  if (form == Form::op) m.shown = shown_text(owned(PyObject_Repr(f.value)));
  return m;
}

// The overloads that PyTorch has for numbers in the places of tensors, which are one here.
std::string number_signatures(const Operator& op, Form form, bool with_out) {
  std::string text = " * " + signature_text(op, form, with_out) + "\n";
  for (size_t i = form == Form::method ? 1 : 0; i < op.schema.args.size(); ++i)
    if (python_of(op).slots[i].number_ok) text += " * " + signature_text(op, form, with_out, i) + "\n";
  return text;
}

// Several results go into a tuple of tensors.
void check_out_is_tuple(const char* name, const CallArgs& c, const GivenCall& given) {
  for (size_t i = 0; i < c.nkw(); ++i) {
    PyObject* value = c.kwvalue(i);
    CHECK(Kind::Type, given.keywords[i] != "out" || PyTuple_Check(value) || PyList_Check(value), name,
        "(): argument 'out' must be tuple of Tensors, not ", type_name(value));
  }
}

[[noreturn]] void fail_one(
    Operator& op, const char* name, Form form, const CallArgs& c, const GivenCall& given, bool with_out) {
  if (op.out_count > 1 && given.out && form != Form::op) check_out_is_tuple(name, c, given);
  Bound b;
  Failure f;
  if (bind_one(op, form, c, b, f) == Fit::error) throw PythonError();
  if (form == Form::op) throw operator_misfit_error(op, given, misfit(op, form, f));
  if (f.what == Failure::type && op.number_overloads)
    fail(Kind::Type, invalid_combination(name, given), number_signatures(op, form, with_out));
  throw misfit_error(op, name, form, given, misfit(op, form, f));
}

[[noreturn]] void fail_all(const std::vector<Operator*>& listed, const CallArgs& c, const GivenCall& given) {
  std::string text = "Overloaded torch operator invoked from Python failed to match any schema:\n";
  for (Operator* op : listed) {
    Bound b;
    Failure f;
    bind_one(*op, Form::op, c, b, f);
    PyErr_Clear();
    text += operator_misfit_error(*op, given, misfit(*op, Form::op, f)).what() + std::string("\n\n");
  }
  fail(Kind::Runtime, text);
}

}  // namespace

void set_binding_error(const std::vector<Operator*>& candidates, const char* name, Form form, const CallArgs& c) {
  guarded([&]() -> PyObject* {
    const GivenCall given = given_call(c, form);
    const Meant meant = meant_overloads(candidates, given);
    if (meant.only) fail_one(*meant.only, name, form, c, given, out_variant(candidates, meant.only));
    if (form == Form::op) fail_all(meant.listed, c, given);
    std::string text = invalid_combination(name, given);
    for (Operator* op : meant.listed) text += " * " + signature_text(*op, form, out_variant(candidates, op)) + "\n";
    fail(Kind::Type, text);
  });
}

}  // namespace shim
