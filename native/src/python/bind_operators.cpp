// The callables of the operator table: torch.f, Tensor.f and torch.ops.ns.f.

#include <algorithm>
#include <cstring>
#include <vector>

#include "python/dispatch.h"
#include "python/held.h"
#include "python/override.h"
#include "python/sparse_dispatch.h"
#include "python/torch_dispatch.h"

#include <structmember.h>

namespace shim {
namespace {

struct Callable {
  PyObject_HEAD vectorcallfunc vectorcall;
  const std::vector<Operator*>* candidates;
  Operator* single;  // of an OpOverload: this overload only
  Form form;
  PyObject *name, *qualname, *module, *doc, *dict, *weakrefs;
  PyObject* public_form;  // of __add__: Tensor.add, which __torch_function__ sees
  bool reflected;         // __rsub__: the operands are swapped
  bool reciprocal;        // __rtruediv__: the product of the tensor's reciprocal and the other
  bool of_tensors;        // __rmul__, which PyTorch has as a descriptor of its tensor type
};

PyTypeObject *FunctionType = nullptr, *MethodType = nullptr, *OpType = nullptr;

// As torch.ops gives them: a list of tensors as a list, several results as a plain tuple.
PyObject* plain_results(const Operator& op, PyObject* result) {
  if (!result || !PyTuple_Check(result)) return result;
  const bool list = op.schema.returns.size() == 1 && op.schema.returns[0].type.list;
  if (!list && PyTuple_CheckExact(result)) return result;
  PyObject* plain = list ? PySequence_List(result) : PyTuple_GetSlice(result, 0, PyTuple_GET_SIZE(result));
  Py_DECREF(result);
  return plain;
}

// torch.zeros as a handler sees it: its memory is named, where torch.ops.aten.zeros says what it was given alone.
void say_where(const Operator& op, Bound& b) {
  if (op.out) return;  // what is given says it
  if (op.pin_slot >= 0 && b.data()[op.pin_slot] == Py_None) b.set(size_t(op.pin_slot), Py_NewRef(Py_False));
  if (op.device_slot >= 0 && b.data()[op.device_slot] == Py_None && !default_device())
    b.set(size_t(op.device_slot), device_object(Device{DeviceType::cpu}));
}

// What an operator without results gives: torch._foreach_add_ the very list that it was given, torch.ops nothing.
PyObject* without_results(const Callable& f, const Operator& op, const CallArgs& c, PyObject* result) {
  if (!result) return nullptr;
  const std::string& name = op.schema.name;
  PyObject* given = c.nargs ? c.args[0] : c.nkw() ? c.kwvalue(0) : nullptr;
  for (size_t i = 0; !c.nargs && i < c.nkw(); ++i)
    if (PyUnicode_CompareWithASCIIString(c.kwname(i), "self") == 0) given = c.kwvalue(i);
  const bool of_lists = f.form != Form::op && given && name.starts_with("_foreach_") && name.ends_with('_');
  Py_DECREF(result);
  return Py_NewRef(of_lists ? given : Py_None);
}

PyObject* call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames);

// Operators of torch.ops take any sequence for a list: after a refusal the call goes again with lists in the places of sequences of other classes.
PyObject* with_lists(PyObject* self, const CallArgs& c) {
  const size_t n = c.nargs + c.nkw();
  std::vector<PyObject*> args(c.args, c.args + n);
  std::vector<Held> lists;
  for (PyObject*& a : args) {
    if (!PySequence_Check(a) || PyList_Check(a) || PyTuple_Check(a) || PyUnicode_Check(a) || PyBytes_Check(a) ||
        PyByteArray_Check(a) || is_tensor(a))
      continue;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject* list = PySequence_List(a);
    PyErr_Restore(type, value, trace);
    if (!list) return nullptr;
    lists.emplace_back(list);
    a = list;
  }
  if (lists.empty()) return nullptr;
  PyErr_Clear();
  return call(self, args.data(), c.nargs, c.kwnames);
}

PyObject* call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  auto* f = reinterpret_cast<Callable*>(self);
  CallArgs c{args, size_t(PyVectorcall_NARGS(nargsf)), kwnames};
  if (torch_function_mode_active()) {
    PyObject* r = call_torch_function(self, c, nullptr);
    if (r || PyErr_Occurred()) return r;
  }
  const char* name = PyUnicode_AsUTF8(f->name);
  if (f->form == Form::method && (c.nargs == 0 || !is_tensor(c.args[0]))) {
    if (c.nargs == 0)
      PyErr_Format(PyExc_TypeError, "unbound method TensorBase.%s() needs an argument", name);
    else
      PyErr_Format(PyExc_TypeError, "descriptor '%s' for 'torch._C.TensorBase' objects doesn't apply to a '%s' object",
          name, Py_TYPE(c.args[0])->tp_name);
    return nullptr;
  }
  binding_name = name;
  Bound b;
  Operator* op;
  if (f->single) {
    Failure failure;
    Fit fit = bind_one(*f->single, f->form, c, b, failure);
    op = fit == Fit::yes ? f->single : nullptr;
    if (fit == Fit::no) set_binding_error({f->single}, name, f->form, c);
  } else {
    op = bind_arguments(*f->candidates, name, f->form, c, b);
  }
  if (!op)
    return f->form == Form::op && !PyErr_ExceptionMatches(PyExc_NotImplementedError) ? with_lists(self, c) : nullptr;
  if (b.overloaded && torch_function_enabled()) {
    PyObject* r = call_torch_function(self, c, &b);
    if (r || PyErr_Occurred()) return r;
  }
  if (f->form != Form::op && op->factory && (__builtin_expect(python_dispatch, 0) || !op->overrides.empty()))
    say_where(*op, b);
  PyObject* result = call_operator(*op, b);
  if (op->schema.returns.empty()) return without_results(*f, *op, c, result);
  return f->form == Form::op ? plain_results(*op, result) : name_results(*op, result);
}

// x + y: as a call, but operands that fit no overload leave the word to the other side.
// A symbol whose override raised a TypeError leaves it to the other operand, and Python has the last word.
PyObject* refused_if_type_error(PyObject* r) {
  if (r || !PyErr_ExceptionMatches(PyExc_TypeError)) return r;
  PyErr_Clear();
  Py_RETURN_NOTIMPLEMENTED;
}

PyObject* call_symbol(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  auto* f = reinterpret_cast<Callable*>(self);
  size_t n = size_t(PyVectorcall_NARGS(nargsf));
  const CallArgs given{args, n, kwnames};  // overrides see the operands as they stand: tensor first
  PyObject* swapped[2];
  // A keyword that the symbol does not take is a TypeError, and those leave the word to the other operand.
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i)
    if (f->reflected || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "out") == 0)
      Py_RETURN_NOTIMPLEMENTED;
  if (n && !is_tensor(args[0]) && f->of_tensors) {
    PyErr_Format(PyExc_TypeError, "descriptor '%U' for 'torch._C.TensorBase' objects doesn't apply to a '%s' object",
        f->name, Py_TYPE(args[0])->tp_name);
    return nullptr;
  }
  if (f->reflected && n == 2) {
    swapped[0] = args[1];
    swapped[1] = args[0];
    args = swapped;
  }
  CallArgs c{args, n, kwnames};
  binding_name = PyUnicode_AsUTF8(f->name);
  const bool compares =
      std::strcmp(binding_name, "__eq__") == 0;  // the one that PyTorch asks for twice: __eq__, then eq
  if (torch_function_mode_active()) {
    PyObject* r = call_torch_function(compares ? self : f->public_form, given, nullptr);
    if (r || PyErr_Occurred()) return refused_if_type_error(r);
  }
  Bound b;
  Operator* op = nullptr;
  for (Operator* o : *f->candidates) {
    Failure failure;
    Fit fit = bind_one(*o, Form::function, c, b, failure);
    if (fit == Fit::error) return nullptr;
    if (fit == Fit::yes) {
      op = o;
      break;
    }
  }
  if (!op) {  // tensor == array alone compares with what is no tensor
    PyObject* other = n == 2 && compares ? tensor_over_array(args[1]) : nullptr;
    if (!other) Py_RETURN_NOTIMPLEMENTED;
    PyObject* const with_tensor[2] = {args[0], other};
    PyObject* r = call_symbol(self, with_tensor, 2, kwnames);
    Py_DECREF(other);
    return r;
  }
  if (b.overloaded && torch_function_enabled()) {
    PyObject* r = call_torch_function(compares && has_torch_function(args[0]) ? self : f->public_form, given, &b);
    if (r || PyErr_Occurred()) return refused_if_type_error(r);
  }
  if (f->reciprocal) {
    PyObject* inverse = PyObject_CallMethod(args[0], "reciprocal", nullptr);
    if (!inverse) return nullptr;
    b.set(0, inverse);
  }
  return call_operator(*op, b);
}

PyObject* make(PyTypeObject* type, const std::string& qualified, Form form, const char* module) {
  auto* f = reinterpret_cast<Callable*>(type->tp_alloc(type, 0));
  if (!f) return nullptr;
  std::string name = qualified.substr(qualified.find("::") + 2);
  f->vectorcall = call;
  f->candidates = form == Form::op ? &overloads(qualified) : &public_overloads(qualified);
  f->form = form;
  f->name = PyUnicode_InternFromString(name.c_str());
  f->qualname = PyUnicode_FromString(form == Form::method ? ("TensorBase." + name).c_str() : name.c_str());
  f->module = module ? PyUnicode_FromString(module) : Py_NewRef(Py_None);
  f->doc = Py_NewRef(Py_None);
  return reinterpret_cast<PyObject*>(f);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  auto* f = reinterpret_cast<Callable*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(f->dict);
  Py_VISIT(f->qualname);
  Py_VISIT(f->module);
  Py_VISIT(f->doc);
  Py_VISIT(f->public_form);
  return 0;
}
int clear(PyObject* self) {
  auto* f = reinterpret_cast<Callable*>(self);
  Py_CLEAR(f->dict);
  Py_CLEAR(f->qualname);
  Py_CLEAR(f->module);
  Py_XSETREF(f->doc, Py_NewRef(Py_None));
  Py_CLEAR(f->public_form);
  return 0;
}
void dealloc(PyObject* self) {
  auto* f = reinterpret_cast<Callable*>(self);
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (f->weakrefs) PyObject_ClearWeakRefs(self);
  Py_XDECREF(f->name);
  Py_XDECREF(f->qualname);
  Py_XDECREF(f->module);
  Py_XDECREF(f->doc);
  Py_XDECREF(f->dict);
  Py_XDECREF(f->public_form);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* descr_get(PyObject* self, PyObject* obj, PyObject*) {
  if (!obj || obj == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, obj);
}

PyObject* repr(PyObject* self) {
  auto* f = reinterpret_cast<Callable*>(self);
  if (f->form == Form::method) return PyUnicode_FromFormat("<method '%U' of 'torch._C.TensorBase' objects>", f->name);
  return PyUnicode_FromFormat("<built-in function %U>", f->name);
}

PyObject* reduce(PyObject* self, PyObject*) {  // pickled by name, as built-in functions are
  auto* f = reinterpret_cast<Callable*>(self);
  if (f->form != Form::method) return Py_NewRef(f->name);
  PyObject* builtins = PyImport_ImportModule("builtins");
  PyObject* getattr = builtins ? PyObject_GetAttrString(builtins, "getattr") : nullptr;
  Py_XDECREF(builtins);
  if (!getattr) return nullptr;
  return Py_BuildValue("N(OO)", getattr, TensorType, f->name);
}

PyMemberDef members[] = {{"__name__", T_OBJECT, offsetof(Callable, name), READONLY, nullptr},
    {"__qualname__", T_OBJECT, offsetof(Callable, qualname), 0, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Callable, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Callable, weakrefs), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Callable, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
// "add(input, other, *, alpha=1, out=None) -> Tensor", as the first lines of PyTorch's docstrings; a method's leave self out.
std::string signature(const Schema& schema, Form form, bool takes_out) {
  std::string text = schema.name + "(";
  bool first = true, starred = false;
  auto add = [&](const std::string& part) {
    text += (first ? "" : ", ") + part;
    first = false;
  };
  for (size_t i = 0; i < schema.args.size(); ++i) {
    const Argument& a = schema.args[i];
    if (form == Form::method && i == 0) continue;
    if (a.kwarg_only && !starred) add("*");
    starred |= a.kwarg_only;
    std::string fallback = argument_text(a);
    fallback = a.fallback ? fallback.substr(fallback.find('=', fallback.find(' '))) : "";
    add((a.name == "self" ? "input" : a.name) + fallback + (fallback.ends_with('.') ? "0" : ""));
  }
  if (takes_out) add(starred ? "out=None" : "*, out=None");
  text += ") -> ";
  if (schema.returns.size() == 1) return text + type_text(schema.returns[0].type);
  text += "(";
  for (size_t i = 0; i < schema.returns.size(); ++i) text += (i ? ", " : "") + type_text(schema.returns[i].type);
  return text + ")";
}

// The overloads' signatures, and what the record's author wrote about the operator.
std::string documentation(const Callable& f) {
  std::string lines, words;
  const bool out = f.form == Form::function && std::ranges::any_of(*f.candidates, [](Operator* op) { return op->out; });
  for (Operator* op : *f.candidates) {
    if (op->out) continue;
    lines += signature(op->schema, f.form, out) + "\n";
    if (!words.empty() || !op->record) continue;
    Held body{PyObject_GetAttrString(op->record, "body")};
    Held doc{body.o ? PyObject_GetAttrString(body, "__doc__") : nullptr};
    const char* found = doc.o && PyUnicode_Check(doc) ? PyUnicode_AsUTF8(doc) : nullptr;
    if (found) words = std::string("\n") + found + "\n";
    PyErr_Clear();
  }
  return lines + words;
}

PyObject* get_doc(PyObject* self, void*) {
  auto* f = reinterpret_cast<Callable*>(self);
  if (f->doc != Py_None || f->single || f->form == Form::op) return Py_NewRef(f->doc);
  return guarded([&]() -> PyObject* {
    const std::string text = documentation(*f);
    if (text.empty()) Py_RETURN_NONE;
    return PyUnicode_FromString(text.c_str());
  });
}

int set_doc(PyObject* self, PyObject* value, void*) {
  auto* f = reinterpret_cast<Callable*>(self);
  Py_XSETREF(f->doc, Py_NewRef(value ? value : Py_None));
  return 0;
}

PyGetSetDef getset[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"__doc__", get_doc, set_doc, nullptr, nullptr}, {nullptr, nullptr, nullptr, nullptr, nullptr}};

// __module__ is no member: the type would answer for its own with the member. Code that tells built-in functions from others by
// isinstance (inspect, torch.fx) finds them built in, as PyTorch's are.
bool is_attribute(PyObject* name, const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; }

PyObject* get_attribute(PyObject* self, PyObject* name) {
  auto* f = reinterpret_cast<Callable*>(self);
  if (is_attribute(name, "__module__")) return Py_NewRef(f->module ? f->module : Py_None);
  if (is_attribute(name, "__class__")) {
    if (Py_TYPE(self) == FunctionType) return Py_NewRef(reinterpret_cast<PyObject*>(&PyCFunction_Type));
    if (Py_TYPE(self) == MethodType) return Py_NewRef(reinterpret_cast<PyObject*>(&PyMethodDescr_Type));
  }
  return PyObject_GenericGetAttr(self, name);
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  if (!is_attribute(name, "__module__")) return PyObject_GenericSetAttr(self, name, value);
  auto* f = reinterpret_cast<Callable*>(self);
  Py_XSETREF(f->module, Py_XNewRef(value));
  return 0;
}

PyObject* op_new(PyTypeObject* type, PyObject* args, PyObject*) {  // OperatorCall(qualified, overload or None, ...)
  const char* qualified;
  PyObject* overload = Py_None;
  PyObject* first = PyTuple_GetSlice(args, 0, 2);
  if (!first) return nullptr;
  int ok = PyArg_ParseTuple(first, "s|O", &qualified, &overload);
  std::string name = ok ? qualified : "";
  std::string wanted = "";
  const char* given = ok && overload != Py_None ? PyUnicode_AsUTF8(overload) : "";
  if (given)
    wanted = given;
  else
    ok = false;
  const bool whole = overload == Py_None;
  Py_DECREF(first);
  if (!ok) return nullptr;
  Operator* op = whole ? nullptr : find_operator(name, wanted);
  if (!whole && !op) {
    PyErr_Format(
        PyExc_RuntimeError, "operator %s%s%s does not exist", name.c_str(), wanted.empty() ? "" : ".", wanted.c_str());
    return nullptr;
  }
  PyObject* self = make(type, name, Form::op, "torch._ops");
  if (self) reinterpret_cast<Callable*>(self)->single = op;
  return self;
}

PyTypeObject* make_type(const char* name, unsigned long extra, PyType_Slot extra_slot, bool op = false) {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)}, {Py_tp_repr, reinterpret_cast<void*>(repr)},
      {Py_tp_members, members}, {Py_tp_methods, methods}, {Py_tp_getset, getset},
      {Py_tp_getattro, reinterpret_cast<void*>(op ? PyObject_GenericGetAttr : get_attribute)},
      {Py_tp_setattro, reinterpret_cast<void*>(op ? PyObject_GenericSetAttr : set_attribute)}, extra_slot,
      {0, nullptr}};
  PyType_Spec spec{name, sizeof(Callable), 0,
      unsigned(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | extra), slots};
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

PyObject* py_define(PyObject*, PyObject* args) {
  PyObject *record, *run = nullptr;
  if (!PyArg_ParseTuple(args, "O|O", &record, &run)) return nullptr;
  return guarded([&]() -> PyObject* { return define_record(record, run); });
}

PyObject* py_derive(PyObject*, PyObject* args) {
  const char *schema, *name, *overload;
  if (!PyArg_ParseTuple(args, "sss", &schema, &name, &overload)) return nullptr;
  return guarded([&]() -> PyObject* { return derive_operator(schema, name, overload); });
}

PyObject* py_function(PyObject*, PyObject* args) {
  const char *qualified, *module = "torch";
  if (!PyArg_ParseTuple(args, "s|s", &qualified, &module)) return nullptr;
  return make(FunctionType, qualified, Form::function, module);
}
PyObject* py_method(PyObject*, PyObject* args) {
  const char* qualified;
  if (!PyArg_ParseTuple(args, "s", &qualified)) return nullptr;
  return make(MethodType, qualified, Form::method, nullptr);
}

PyObject* py_symbol(PyObject*, PyObject* args) {  // ("__add__", "aten::add", reflected=False)
  const char *symbol, *qualified;
  int reflected = 0;
  PyObject* seen = Py_None;
  if (!PyArg_ParseTuple(args, "ss|pO", &symbol, &qualified, &reflected, &seen)) return nullptr;
  PyObject* made = make(MethodType, qualified, Form::method, nullptr);
  if (!made) return nullptr;
  auto* f = reinterpret_cast<Callable*>(made);
  f->vectorcall = call_symbol;
  f->reflected = reflected;
  f->reciprocal = std::strcmp(symbol, "__rtruediv__") == 0;
  static const char* const functions[] = {"__rsub__", "__rtruediv__", "__pow__", "__ipow__", "__rpow__", "__floordiv__",
      "__rfloordiv__", "__rmod__", "__rlshift__", "__rrshift__", "__rmatmul__"};
  f->of_tensors = std::none_of(
      std::begin(functions), std::end(functions), [&](const char* s) { return std::strcmp(s, symbol) == 0; });
  const bool itself = PyUnicode_Check(seen);  // overrides see the symbol, by that name
  f->public_form = itself            ? Py_NewRef(made)
                   : seen != Py_None ? Py_NewRef(seen)
                                     : make(MethodType, qualified, Form::method, nullptr);
  PyObject* name = itself ? Py_NewRef(seen) : PyUnicode_InternFromString(symbol);
  Py_SETREF(f->qualname, PyUnicode_FromFormat("TensorBase.%U", name));
  Py_SETREF(f->name, name);
  return made;
}

PyObject* py_overloads(PyObject*, PyObject* args) {  // (qualified) -> [overload, ...]
  const char* qualified;
  if (!PyArg_ParseTuple(args, "s", &qualified)) return nullptr;
  const std::vector<Operator*>& found = overloads(qualified);
  if (found.empty() && define_waiting && std::strncmp(qualified, "aten::", 6) == 0) define_waiting();
  PyObject* list = PyList_New(0);
  for (Operator* op : found) {
    PyObject* s = PyUnicode_FromString(op->schema.overload.c_str());
    PyList_Append(list, s);
    Py_DECREF(s);
  }
  return list;
}

PyObject* strings(const std::vector<std::string>& names) {
  PyObject* list = PyList_New(0);
  for (auto& n : names) {
    PyObject* s = PyUnicode_FromString(n.c_str());
    PyList_Append(list, s);
    Py_DECREF(s);
  }
  return list;
}
PyObject* py_names(PyObject*, PyObject* args) {  // (ns) -> operator names
  const char* ns;
  if (!PyArg_ParseTuple(args, "s", &ns)) return nullptr;
  return strings(operator_names(ns));
}
PyObject* py_namespaces(PyObject*, PyObject*) { return strings(operator_namespaces()); }

PyObject* waiting = nullptr;

bool run_waiting() {
  PyGILState_STATE state = PyGILState_Ensure();
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject* call = Py_NewRef(waiting);
  PyObject* made = PyObject_CallNoArgs(call);
  const bool defined = made == Py_True;
  if (!made) PyErr_WriteUnraisable(call);
  Py_XDECREF(made);
  Py_DECREF(call);
  PyErr_Restore(type, value, trace);
  PyGILState_Release(state);
  return defined;
}

PyObject* py_set_waiting(PyObject*, PyObject* define) {
  PyObject* old = std::exchange(waiting, define == Py_None ? nullptr : Py_NewRef(define));
  define_waiting = waiting ? run_waiting : nullptr;
  Py_XDECREF(old);
  Py_RETURN_NONE;
}

PyObject* py_counts(PyObject*, PyObject*) {  // {"aten::add.Tensor": (body calls, native calls)} of those called
  PyObject* d = PyDict_New();
  for (auto& ns : operator_namespaces())
    for (auto& name : operator_names(ns))
      for (Operator* op : overloads(ns + "::" + name)) {
        if (!op->calls_body && !op->calls_native) continue;
        std::string key = op->schema.qualified() + (op->schema.overload.empty() ? "" : "." + op->schema.overload);
        PyObject* pair = Py_BuildValue("KK", (unsigned long long)op->calls_body, (unsigned long long)op->calls_native);
        PyDict_SetItemString(d, key.c_str(), pair);
        Py_DECREF(pair);
      }
  return d;
}

PyMethodDef operators_functions[] = {
    {"define", py_define, METH_VARARGS,
        "define(record, run=None): adds a record's operators; the qualified names they got."},
    {"derive", py_derive, METH_VARARGS,
        "derive(schema, qualified, overload): torch.ops gets an overload made of another: with out=, in place, or with "
        "numbers for tensors."},
    {"function", py_function, METH_VARARGS, "function(\"aten::add\", module=\"torch\"): the callable torch.add."},
    {"method", py_method, METH_VARARGS, "method(\"aten::add\"): the descriptor Tensor.add."},
    {"symbol_method", py_symbol, METH_VARARGS,
        "symbol_method(\"__add__\", \"aten::add\", reflected=False, seen=None): the descriptor behind x + y; `seen`: "
        "what overrides see, a method, or itself by that name."},
    {"operator_overloads", py_overloads, METH_VARARGS, "The overload names of an operator."},
    {"operator_names", py_names, METH_VARARGS, "The operators of a namespace."},
    {"set_waiting_operators", py_set_waiting, METH_O,
        "What defines the operators of aten that wait to be asked for, and gives whether it did; None: none wait."},
    {"operator_namespaces", py_namespaces, METH_NOARGS, "The namespaces that have operators."},
    {"operator_counts", py_counts, METH_NOARGS, "Body and native calls of each operator called so far."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_schema(PyObject* module);
int bind_run(PyObject* module);
int bind_lazy_clones(PyObject* module);
int bind_return_types(PyObject* module);

int bind_operators(PyObject* module) {
  FunctionType = make_type("builtins.builtin_function_or_method", 0, {0, nullptr});
  MethodType = make_type("builtins.method_descriptor", Py_TPFLAGS_METHOD_DESCRIPTOR,
      {Py_tp_descr_get, reinterpret_cast<void*>(descr_get)});
  OpType = make_type("torch.OperatorCall", Py_TPFLAGS_BASETYPE, {Py_tp_new, reinterpret_cast<void*>(op_new)}, true);
  if (!FunctionType || !MethodType || !OpType) return -1;
  if (PyModule_AddObject(module, "OperatorCall", Py_NewRef(reinterpret_cast<PyObject*>(OpType))) < 0) return -1;
  if (PyModule_AddFunctions(module, operators_functions) < 0) return -1;
  return bind_run(module) < 0 || bind_lazy_clones(module) < 0 || bind_return_types(module) < 0 ||
                 bind_schema(module) < 0 || bind_library(module) < 0 || bind_modes(module) < 0 ||
                 bind_torch_function(module) < 0 || bind_torch_dispatch(module) < 0 || bind_sparse(module) < 0
             ? -1
             : 0;
}

}  // namespace shim
