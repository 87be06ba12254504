// What is read of a Python record for its operators (ops/derived.h).
#include "ops/derived.h"
#include "python/dispatch.h"
#include "python/module_parameters.h"

namespace shim {
namespace {

// Every record is asked for the same names, so that the strings are made once; `name` is a literal.
OwnedRef attribute(PyObject* o, const char* name) {
  static auto* names = new std::unordered_map<const char*, PyObject*>;
  PyObject*& text = (*names)[name];
  if (!text) text = PyUnicode_InternFromString(name);
  return owned(text ? PyObject_GetAttr(o, text) : nullptr);
}
// The same as a parameter of that type.
template <class P> std::remove_cvref_t<P> read(PyObject* o, const char* name) {
  const OwnedRef found = attribute(o, name);
  module_call::FromObjects r;
  module_call::Argument<P> given;
  CHECK(Kind::Type, given.take(found, r), "a record's ", name, ": ", r.why);
  return given.value();
}
using RecordText = const std::string&;
using RecordTexts = std::vector<std::string>;

RecordTexts parameter_names(PyObject* function) {
  const OwnedRef code = attribute(function, "__code__");
  RecordTexts names = read<RecordTexts>(code, "co_varnames");
  names.resize(size_t(read<int>(code, "co_argcount") + read<int>(code, "co_kwonlyargcount")));
  return names;
}

std::vector<Formula> formulas_in(PyObject* record, const char* which) { return formulas_of(attribute(record, which)); }

// Of the row that the table of records has of it, else of the record itself, whose module is there.
void read_formulas(PyObject* record, Operator& op) {
  const OwnedRef row = attribute(record, "row");
  Values values;
  if (const Value v = values.of(row); v.tag == Value::list && v.size > 5) {
    op.formulas = formulas_of_row(v.items[3]);
    op.fused = formulas_of_row(v.items[4]);
    op.pointwise = v.items[5].i;
    return;
  }
  op.formulas = formulas_in(record, "grad");
  op.fused = formulas_in(record, "fused");
  const OwnedRef shape = attribute(record, "shape");
  op.pointwise = PyFunction_Check(shape) && read<RecordText>(shape, "__name__") == "broadcast";
}

// out=("out", "indices"), or whether it has one.
void read_out(PyObject* record, Variants& variants) {
  variants.out = read<Truth>(record, "out");
  if (PyTuple_Check(attribute(record, "out"))) variants.out_names = read<RecordTexts>(record, "out");
}

RecordTexts define(PyObject* record, std::optional<PyObject*> run) {
  auto base = std::make_unique<PythonOperator>();
  base->schema = parse_schema(read<RecordText>(record, "schema"));
  const std::string kind = read<RecordText>(record, "kind");
  base->kind = kind == "view" ? Operator::View : kind == "composite" ? Operator::Composite : Operator::Kernel;
  base->record = Py_NewRef(record);
  base->recorded = true;
  base->run = run ? Py_NewRef(*run) : attribute(record, "body").give();
  read_formulas(record, *base);
  Values values;
  const OwnedRef differentiable = attribute(record, "differentiable"), options = attribute(record, "traits");
  const Value outputs = values.of(differentiable);
  for (uint32_t i = 0; outputs.tag == Value::list && i < outputs.size; ++i)
    base->differentiable_outputs.push_back(std::to_string(outputs.items[i].i));
  base->ops_only = read<Truth>(record, "ops_only");
  base->traits = read_traits(values.of(options));
  Variants variants{.name = read<RecordText>(record, "name"), .aliases = read<RecordTexts>(record, "aliases")};
  if (attribute(record, "native") != Py_None) variants.native = read<RecordText>(record, "native");
  variants.inplace = read<Truth>(record, "inplace");
  read_out(record, variants);
  return add_variants(std::move(base), variants);
}

const ModulePart define_functions{{function<&define>("define",
                                       "define(record, run=None): adds a record's operators; the names they got, "
                                       "without the namespace."),
    function<&derive_operator>("derive",
        "derive(schema, qualified, overload): torch.ops gets an overload made of another: with out=, in place, or with "
        "numbers for tensors.")}};

}  // namespace

std::vector<Formula> formulas_of(PyObject* dict) {
  std::vector<Formula> all;
  PyObject *key, *value;
  Py_ssize_t at = 0;
  while (PyDict_Next(dict, &at, &key, &value)) {
    Formula& f = all.emplace_back();
    f.inputs = listed_names(utf8(key));
    f.function = Py_NewRef(value);
    f.parameters = parameter_names(value);
    f.flat = PyObject_HasAttrString(value, "flat");
  }
  return all;
}

void attach_formulas(PythonOperator& op) {
  attach_formulas(op.formulas, formulas_in(op.record, "grad"), op);
  attach_formulas(op.fused, formulas_in(op.record, "fused"), op);
}

}  // namespace shim
