// From a Python record to Operators: the base overload, its in-place and out= variants, and the same under each alias.
#include <algorithm>
#include <unordered_map>

#include "ops/derived.h"
#include "python/dispatch.h"
#include "python/owned_ref.h"

namespace shim {
namespace {

// Every record is asked for the same names, so that the strings are made once; `name` is a literal.
OwnedRef attribute(PyObject* o, const char* name) {
  static auto* names = new std::unordered_map<const char*, PyObject*>;
  PyObject*& text = (*names)[name];
  if (!text) text = PyUnicode_InternFromString(name);
  return owned(text ? PyObject_GetAttr(o, text) : nullptr);
}
bool flag(PyObject* record, const char* name) {
  const int truth = PyObject_IsTrue(attribute(record, name));
  if (truth < 0) throw PythonError();
  return truth != 0;
}
std::string text(PyObject* o) {
  const char* s = PyUnicode_AsUTF8(o);
  if (!s) throw PythonError();
  return s;
}
std::vector<std::string> split(const std::string& names) {
  std::vector<std::string> parts;
  std::string part;
  for (char c : names + ",") {
    if (c == ',') {
      if (!part.empty()) parts.push_back(part);
      part.clear();
    } else if (c != ' ')
      part += c;
  }
  return parts;
}

std::vector<std::string> parameter_names(PyObject* function) {
  std::vector<std::string> names;
  OwnedRef code = attribute(function, "__code__");
  OwnedRef variables = attribute(code, "co_varnames"), positional = attribute(code, "co_argcount"),
           keyword = attribute(code, "co_kwonlyargcount");
  long n = PyLong_AsLong(positional) + PyLong_AsLong(keyword);
  for (long i = 0; i < n; ++i) names.push_back(text(PyTuple_GetItem(variables, i)));
  return names;
}

}  // namespace

std::vector<Formula> formulas_of(PyObject* dict) {
  std::vector<Formula> all;
  PyObject *key, *value;
  Py_ssize_t at = 0;
  while (PyDict_Next(dict, &at, &key, &value)) {
    Formula f;
    f.inputs = split(text(key));
    f.function = Py_NewRef(value);
    f.parameters = parameter_names(value);
    f.flat = PyObject_HasAttrString(value, "flat");
    all.push_back(std::move(f));
  }
  return all;
}

namespace {

// Of a row of shim_torch/_impl/data/records.py: ((inputs, parameters, flat), ...). The functions come with the record's module.
std::vector<Formula> formulas_of_row(PyObject* row) {
  std::vector<Formula> all;
  for (Py_ssize_t i = 0; i < PyTuple_Size(row); ++i) {
    PyObject* formula = PyTuple_GET_ITEM(row, i);
    Formula f;
    f.inputs = split(text(PyTuple_GetItem(formula, 0)));
    PyObject* parameters = PyTuple_GetItem(formula, 1);
    for (Py_ssize_t k = 0; k < PyTuple_Size(parameters); ++k)
      f.parameters.push_back(text(PyTuple_GET_ITEM(parameters, k)));
    f.flat = PyTuple_GetItem(formula, 2) == Py_True;
    all.push_back(std::move(f));
  }
  return all;
}

// A derived operator may have fewer formulas than its record.
void attach(std::vector<Formula>& waiting, const std::vector<Formula>& found, const Operator& op) {
  for (Formula& f : waiting) {
    const auto same = std::ranges::find(found, f.inputs, &Formula::inputs);
    CHECK(Kind::Runtime, same != found.end() && same->parameters == f.parameters, op.full_name(),
        ": not the formula that it was defined with");
    f.function = same->function;
  }
}

}  // namespace

void attach_formulas(PythonOperator& op) {
  OwnedRef grad = attribute(op.record, "grad"), fused = attribute(op.record, "fused");
  attach(op.formulas, formulas_of(grad), op);
  attach(op.fused, formulas_of(fused), op);
}

namespace {

TraitValue trait_value(PyObject* o) {
  if (PyBool_Check(o)) return o == Py_True;
  if (!PyTuple_Check(o)) return o == Py_None ? nullptr : utf8(o);
  std::vector<const char*> texts;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
    PyObject* item = PyTuple_GET_ITEM(o, i);
    texts.push_back(item == Py_None ? nullptr : utf8(item));
  }
  return texts;
}

// What the options of a record say; never freed. Those that only Python reads are left out.
const Traits* read_traits(PyObject* options) {
  std::unique_ptr<Traits> made;
  PyObject *key, *value;
  Py_ssize_t at = 0;
  while (PyDict_Next(options, &at, &key, &value)) {
    const char* option = utf8(key);
    const TraitReader reader = find_trait(option);
    if (!reader) continue;
    if (!made) made = std::make_unique<Traits>();
    reader(*made, trait_value(value), option);
  }
  return made ? made.release() : &kNoTraits;
}

void finish(PythonOperator& op, Numbers numbers) {
  prepare_slots(op);
  if (PyErr_Occurred()) throw PythonError();
  const std::vector<bool> allowed = allow_numbers(op, numbers);
  for (size_t i = 0; i < op.slots.size(); ++i) op.slots[i].number_ok = allowed[i];
}

PythonOperator copy_base(const PythonOperator& f) {  // shares references with f, which lives as long as the table
  PythonOperator o;
  take_over(o, f);
  o.record = f.record;
  o.run = f.run;
  return o;
}

Operator* add(PythonOperator&& op) { return add_operator(std::make_unique<PythonOperator>(std::move(op))); }

Operator* add_inplace(PythonOperator* f, const std::string& native) {
  PythonOperator o = copy_base(*f);
  make_inplace(o, *f);
  if (!native.empty()) find_natives(native + "_", o);
  finish(o, f->traits->numbers == Numbers::none ? Numbers::none : Numbers::any);  // the first is a tensor anyhow
  return add(std::move(o));
}

std::vector<std::string> out_names(
    PyObject* record, const Operator& f) {  // the record may say them: out=("out", "indices")
  std::vector<std::string> names;
  OwnedRef given = attribute(record, "out");
  for (size_t i = 0; i < f.schema.returns.size(); ++i) {
    const Return& r = f.schema.returns[i];
    if (PyTuple_Check(given))
      names.push_back(text(PyTuple_GET_ITEM(given.o, Py_ssize_t(i))));
    else
      names.push_back(f.schema.returns.size() == 1 ? "out" : r.name.empty() ? "out" + std::to_string(i) : r.name);
  }
  return names;
}

Operator* add_out(PythonOperator* f, PyObject* record, const std::string& native) {
  PythonOperator o = copy_base(*f);
  make_out(o, *f, out_names(record, *f));
  if (!native.empty()) find_natives(native + "_out", o);
  finish(o, f->traits->numbers);
  return add(std::move(o));
}

void add_variants(PythonOperator&& base, PyObject* record, const std::string& native, PyObject* names) {
  if (!native.empty()) find_natives(native, base);
  finish(base, base.traits->numbers);
  auto* f = &python_of(*add(std::move(base)));
  if (f->kind == Operator::Kernel && !f->schema.args.empty() && f->schema.args[0].alias &&
      f->schema.args[0].alias->write) {
    f->inplace = true;  // fill_, zero_: the body gives the new value of self
    f->functional = f;
  }
  auto report = [&](Operator* op) {  // each name once: add.out is called as add
    OwnedRef name = owned(PyUnicode_FromString(op->schema.name.c_str()));
    const int known = PySequence_Contains(names, name);
    if (known < 0 || (!known && PyList_Append(names, name) < 0)) throw PythonError();
  };
  report(f);
  if (flag(record, "inplace")) report(add_inplace(f, native));
  if (flag(record, "out")) report(add_out(f, record, native));
}

}  // namespace

PyObject* define_record(PyObject* record, PyObject* run) {
  PythonOperator base;
  OwnedRef schema = attribute(record, "schema");
  base.schema = parse_schema(text(schema));
  OwnedRef kind = attribute(record, "kind"), row = attribute(record, "row");
  const std::string kind_name = text(kind);
  base.kind = kind_name == "view" ? Operator::View : kind_name == "composite" ? Operator::Composite : Operator::Kernel;
  base.record = Py_NewRef(record);
  base.recorded = true;
  base.run = run && run != Py_None ? Py_NewRef(run) : attribute(record, "body").give();
  if (row != Py_None) {
    base.formulas = formulas_of_row(PyTuple_GetItem(row, 3));
    base.fused = formulas_of_row(PyTuple_GetItem(row, 4));
    base.pointwise = PyTuple_GetItem(row, 5) == Py_True;
  } else {
    OwnedRef grad = attribute(record, "grad"), fused = attribute(record, "fused"), shape = attribute(record, "shape");
    base.formulas = formulas_of(grad);
    base.fused = formulas_of(fused);
    base.pointwise = PyFunction_Check(shape) && text(attribute(shape, "__name__")) == "broadcast";
  }
  OwnedRef differentiable = attribute(record, "differentiable");
  if (PyTuple_Check(differentiable))
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(differentiable.o); ++i)
      base.differentiable_outputs.push_back(std::to_string(PyLong_AsLong(PyTuple_GET_ITEM(differentiable.o, i))));
  OwnedRef native_name = attribute(record, "native");
  const std::string native = native_name == Py_None ? "" : text(native_name);
  base.ops_only = flag(record, "ops_only");
  OwnedRef options = attribute(record, "traits"), aliases = attribute(record, "aliases");
  base.traits = read_traits(options);
  OwnedRef names{PyList_New(0)}, own_name = attribute(record, "name");
  for (Py_ssize_t i = 0; i < PyTuple_Size(aliases); ++i) {
    PythonOperator alias = copy_base(base);
    alias.schema.name = text(PyTuple_GET_ITEM(aliases.o, i));
    alias.alias_of = PyUnicode_AsUTF8(own_name);  // the record keeps it
    add_variants(std::move(alias), record, native, names);
  }
  add_variants(std::move(base), record, native, names);
  return Py_NewRef(names.o);
}

PyObject* derive_operator(const std::string& schema, const std::string& of, const std::string& overload) {
  Operator* f = find_operator(of, overload);
  CHECK(Kind::Runtime, f, "operator ", of, overload.empty() ? "" : ".", overload, " does not exist");
  PythonOperator o = copy_base(python_of(*f));
  make_by_schema(o, *f, parse_schema(schema));
  const bool same_numbers = o.schema.name == f->schema.name && !(f->inplace && f->functional != f);
  finish(o, same_numbers ? o.traits->numbers : Numbers::none);
  Operator* made = add(std::move(o));
  if (f->functional == f && made->inplace) made->functional = made;
  Py_RETURN_NONE;
}

}  // namespace shim
