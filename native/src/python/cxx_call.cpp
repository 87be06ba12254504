// Calls of C++ extensions into the operator table, and Python's errors both ways.
#include <utility>

#include "python/cxx_values.h"
#include "python/dispatch.h"
#include "python/library_table.h"
#include "python/owned_ref.h"

namespace shim {

namespace {

int python_kind(PyObject* exception) {
  const std::pair<PyObject*, int> kinds[] = {{PyExc_TypeError, SHIM_TYPE}, {PyExc_ValueError, SHIM_VALUE},
      {PyExc_IndexError, SHIM_INDEX}, {PyExc_NotImplementedError, SHIM_NOT_IMPLEMENTED},
      {out_of_memory_type, SHIM_OUT_OF_MEMORY}, {PyExc_RuntimeError, SHIM_RUNTIME}};
  for (auto& [type, kind] : kinds)
    if (type && PyErr_GivenExceptionMatches(exception, type)) return kind;
  return SHIM_PYTHON;
}

bool keep_python(const std::exception& e) {
  auto* ours = dynamic_cast<const Error*>(&e);
  if (ours ? extension_kind(*ours) != SHIM_PYTHON : !dynamic_cast<const PythonError*>(&e)) return false;
  GilAcquire gil;
  if (ours) raise(*ours);
  if (!PyErr_Occurred()) return false;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  OwnedRef text{PyObject_Str(value)};
  const char* chars = text.o ? PyUnicode_AsUTF8(text.o) : nullptr;
  PyErr_Clear();
  put_extension_error(python_kind(value), chars ? chars : "an exception without a text", value);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return true;
}

void bind_cells(const Schema& s, const ShimCell* args, size_t n, Bound& b) {
  CHECK(Kind::Type, n <= s.args.size(), s.qualified(), "() takes ", s.args.size(), " arguments, got ", n);
  b.reset(s.args.size());
  for (size_t i = 0; i < n; ++i) {
    const ArgType& type = s.args[i].type;
    const bool missing =
        args[i].tag == SHIM_TENSOR && !abi::is_defined(handle_in(static_cast<const ShimTensor*>(args[i].p)));
    CHECK(Kind::Runtime, !missing || type.optional || type.base != ArgType::Tensor,
        "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #", i, " '", s.args[i].name,
        "'");
    b.set(i, owned(object_of(args[i], &type)).give());
  }
}

void fill_defaults(const PythonOperator& op, size_t from, Bound& b) {
  for (size_t i = from; i < op.schema.args.size(); ++i) {
    CHECK(Kind::Type, op.slots[i].fallback, op.schema.qualified(), "() misses its argument '", op.schema.args[i].name,
        "'");
    b.set(i, Py_NewRef(op.slots[i].fallback));
  }
}

void put_results(const Schema& s, PyObject* result, ShimCell* results, size_t wanted) {
  const size_t n = s.returns.size();
  if (!wanted) return;
  if (n == 1 && wanted == 1) {
    results[0] = cell_of_object(result, &s.returns[0].type);
    return;
  }
  CHECK(Kind::Runtime, wanted == n && PyTuple_Check(result) && size_t(PyTuple_GET_SIZE(result)) == n, s.qualified(),
      " returned ", Py_TYPE(result)->tp_name, " where ", wanted, " values are expected");
  for (size_t i = 0; i < n; ++i) {
    try {
      results[i] = cell_of_object(PyTuple_GET_ITEM(result, Py_ssize_t(i)), &s.returns[i].type);
    } catch (...) {
      for (size_t k = 0; k < i; ++k) release_cell(results[k]);
      throw;
    }
  }
}

Operator* found(const ShimOp* op) { return reinterpret_cast<Operator*>(const_cast<ShimOp*>(op)); }

}  // namespace

void raise_kept() { shim_cxx_raise(extension_error().kind, extension_error().text.c_str()); }

void install_extension_errors() { keep_exception = keep_python; }

}  // namespace shim

using namespace shim;

void shim_cxx_raise(int kind, const char* text) {
  if (ExtensionError& e = extension_error(); e.exception && e.text == text) {
    OwnedRef value{static_cast<PyObject*>(std::exchange(e.exception, nullptr))};
    return PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(value.o)), value.o);
  }
  if (kind >= SHIM_ACCELERATOR) return raise(Error(Kind::Accelerator, text, kind - SHIM_ACCELERATOR));
  if (kind == SHIM_LINALG) {
    OwnedRef module{PyImport_ImportModule("shim_torch.linalg")};
    OwnedRef type{module.o ? PyObject_GetAttrString(module, "LinAlgError") : nullptr};
    if (type.o) PyErr_SetString(type, text);
    return;
  }
  raise(Error(kind < SHIM_PYTHON ? Kind(kind) : Kind::Runtime, text));
}

const ShimOp* shim_cxx_op(const char* name, const char* overload) {
  Operator* op = nullptr;
  kept([&] {
    CHECK(Kind::Runtime, Py_IsInitialized(), "the interpreter has ended");
    GilAcquire gil;
    op = find_operator(name, overload);
    if (op) return;
    OwnedRef module = owned(PyImport_ImportModule("shim_torch._impl.extensions.cxx_function"));
    owned(PyObject_CallMethod(module, "define", "ss", name, overload));
    op = find_operator(name, overload);
  });
  return reinterpret_cast<const ShimOp*>(op);
}

int shim_cxx_call(
    const ShimOp* entry, const char* name, const ShimCell* args, size_t n, ShimCell* results, size_t wanted) {
  return kept([&] {
    CHECK(Kind::NotImplemented, entry, name, ": shim-torch has no such operator");
    CHECK(Kind::Runtime, python_lives(), "the interpreter has ended");
    Operator& op = *found(entry);
    GilAcquire gil;
    Bound b;
    bind_cells(op.schema, args, n, b);
    fill_defaults(python_of(op), n, b);
    OwnedRef result = owned(call_operator(op, b));
    put_results(op.schema, result, results, wanted);
  });
}

void shim_cxx_release(ShimCell* cells, size_t n) {
  for (size_t i = 0; i < n; ++i) release_cell(cells[i]);
}

int shim_cxx_from_python(uint32_t tag, void* object, ShimCell* result) {
  auto* o = static_cast<PyObject*>(object);
  return kept([&] {
    ShimCell c = cell_of_object(o);
    if (c.tag != tag && tag != SHIM_NONE) {
      release_cell(c);
      fail(Kind::Type, "incompatible ", Py_TYPE(o)->tp_name);
    }
    *result = c;
  });
}

void* shim_cxx_to_python(const ShimCell* c) {
  return guarded([&]() -> PyObject* { return object_of(*c); });
}

int shim_cxx_item(ShimTensor* handle, ShimCell* result) {
  return kept([&] {
    const Tensor t = tensor_in(handle);
    CHECK(Kind::Runtime, t, "Expected a proper Tensor but got None (or an undefined Tensor in C++)");
    GilAcquire gil;
    OwnedRef o = owned(wrap(t));
    *result = cell_of_object(owned(PyObject_CallMethod(o, "item", nullptr)));
  });
}

int shim_cxx_below_autograd(int on) {
  const bool was = below_autograd;
  if (on >= 0) below_autograd = on != 0;
  return was;
}
