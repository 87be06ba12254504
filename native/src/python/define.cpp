// From a Python record to Operators: the base overload, its in-place and out= variants, and the same under each alias.
#include <algorithm>

#include "python/dispatch.h"
#include "python/owned_ref.h"
#include "autograd/formula_plan.h"
#include "python/traits.h"

namespace shim {
namespace {

OwnedRef attribute(PyObject* o, const char* name) {
  PyObject* v = PyObject_GetAttrString(o, name);
  if (!v) throw PythonError();
  return OwnedRef{v};
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

void finish(PythonOperator& op, Numbers numbers) {
  prepare_slots(op);
  if (PyErr_Occurred()) throw PythonError();
  for (size_t i = 0; i < op.slots.size(); ++i) {
    const ArgType& t = op.schema.args[i].type;
    op.slots[i].number_ok =
        numbers != Numbers::none && t.base == ArgType::Tensor && !t.list && !op.schema.args[i].alias;
  }
  if (numbers == Numbers::not_first && !op.slots.empty()) op.slots[0].number_ok = false;
  op.wants_a_tensor = numbers == Numbers::not_all;
  op.number_overloads = numbers == Numbers::not_first || numbers == Numbers::not_all;
}

PythonOperator copy_base(const PythonOperator& f) {  // shares references with f, which lives as long as the table
  PythonOperator o;
  o.schema = f.schema;
  o.traits = f.traits;
  o.alias_of = f.alias_of;
  o.kind = f.kind;
  o.record = f.record;
  o.recorded = f.recorded;
  o.run = f.run;
  o.formulas = f.formulas;
  o.fused = f.fused;
  o.differentiable_outputs = f.differentiable_outputs;
  o.pointwise = f.pointwise;
  return o;
}

Operator* add(PythonOperator&& op) { return add_operator(std::make_unique<PythonOperator>(std::move(op))); }

Operator* add_inplace(PythonOperator* f, const std::string& native) {
  PythonOperator o = copy_base(*f);
  o.schema.name += "_";
  o.schema.args[0].alias = Alias{{"a"}, {"a"}, true, false};
  Return r;
  r.type.base = ArgType::Tensor;
  r.alias = o.schema.args[0].alias;
  o.schema.returns = {r};
  o.inplace = true;
  o.functional = f;
  if (!native.empty()) find_natives(native + "_", o);
  finish(o, f->traits->numbers == Numbers::none ? Numbers::none : Numbers::any);  // the first is a tensor anyhow
  return add(std::move(o));
}

// The out= overload's name: "out" belongs to the main one, which is not always the unnamed or the tensors' one.
std::string out_overload(const Operator& f) {
  if (f.traits->out_overload) return f.traits->out_overload;
  const std::string& overload = f.schema.overload;
  return overload.empty() || overload == "Tensor" ? "out" : overload + "_out";
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
  const std::string& overload = f->schema.overload;
  o.schema.overload = out_overload(*f);
  if (find_operator(o.schema.qualified(), o.schema.overload))
    o.schema.overload = overload.empty() ? "default_out" : overload + "_out";
  const std::vector<std::string> names = out_names(record, *f);
  for (size_t i = 0; i < f->schema.returns.size(); ++i) {
    Return& r = o.schema.returns[i];
    r.alias = Alias{{std::string(1, char('a' + i))}, {std::string(1, char('a' + i))}, true, false};
    Argument a;
    a.type.base = ArgType::Tensor;
    a.type.list = r.type.list;
    a.name = names[i];
    a.alias = r.alias;
    a.kwarg_only = a.is_out = true;
    o.schema.args.push_back(a);
  }
  o.out = true;
  o.functional = f;
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
  auto report = [&](Operator* op) {
    OwnedRef name{PyUnicode_FromString(op->schema.qualified().c_str())};
    if (!name.o || PyList_Append(names, name) < 0) throw PythonError();
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
  OwnedRef kind = attribute(record, "kind"), body = attribute(record, "body");
  const std::string kind_name = text(kind);
  base.kind = kind_name == "view" ? Operator::View : kind_name == "composite" ? Operator::Composite : Operator::Kernel;
  base.record = Py_NewRef(record);
  base.recorded = true;
  base.run = Py_NewRef(run && run != Py_None ? run : body.o);
  OwnedRef grad = attribute(record, "grad"), fused = attribute(record, "fused");
  base.formulas = formulas_of(grad);
  base.fused = formulas_of(fused);
  OwnedRef differentiable = attribute(record, "differentiable");
  if (PyTuple_Check(differentiable))
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(differentiable.o); ++i)
      base.differentiable_outputs.push_back(std::to_string(PyLong_AsLong(PyTuple_GET_ITEM(differentiable.o, i))));
  OwnedRef shape = attribute(record, "shape");
  if (PyFunction_Check(shape)) {
    OwnedRef name = attribute(shape, "__name__");
    base.pointwise = text(name) == "broadcast";
  }
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

// An overload that follows from another one: the schema says how. Further arguments at the end are out= tensors, a first
// argument that is written makes it in-place, and else numbers stand where the other has tensors.
PyObject* derive_operator(const std::string& schema, const std::string& of, const std::string& overload) {
  Operator* f = find_operator(of, overload);
  CHECK(Kind::Runtime, f, "operator ", of, overload.empty() ? "" : ".", overload, " does not exist");
  PythonOperator o = copy_base(python_of(*f));
  o.schema = parse_schema(schema);
  o.ops_only = true;
  auto& args = o.schema.args;
  const size_t given = f->schema.args.size();
  CHECK(Kind::Runtime, args.size() >= given, schema, ": fewer arguments than ", f->schema.text());
  if (args.size() > given) {
    o.out = true;
    o.functional = f;
    for (size_t i = given; i < args.size(); ++i) args[i].is_out = args[i].kwarg_only = true;
  } else if (!f->inplace && !args.empty() && args[0].alias && args[0].alias->write) {
    o.inplace = true;
    o.functional = f;
  } else {
    o.inplace = f->inplace;
    o.functional = f->functional == f ? nullptr : f->functional;
    o.native = f->native;
    o.native_data = f->native_data;
    o.dispatch_leaf = f->dispatch_leaf;
  }
  const bool same_numbers = o.schema.name == f->schema.name && !(f->inplace && f->functional != f);
  finish(o, same_numbers ? o.traits->numbers : Numbers::none);
  Operator* made = add(std::move(o));
  if (f->functional == f && made->inplace) made->functional = made;
  Py_RETURN_NONE;
}

}  // namespace shim
