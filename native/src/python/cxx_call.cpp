// Calls of C++ extensions into the operator table, and errors both ways.
#include <utility>

#include "python/cxx_values.h"
#include "python/dispatch.h"
#include "python/owned_ref.h"

namespace shim {

namespace {

struct LastError {  // of a thread
  int kind = SHIM_RUNTIME;
  std::string text;
  PyObject* python = nullptr;  // the exception itself, where it came from Python
};
LastError& last() {
  static thread_local LastError e;
  return e;
}

int kind_of(const Error& e) {
  const int kind = int(e.kind());
  return kind <= SHIM_OUT_OF_MEMORY ? kind : SHIM_PYTHON;
}

int kind_of(PyObject* exception) {
  const std::pair<PyObject*, int> kinds[] = {{PyExc_TypeError, SHIM_TYPE}, {PyExc_ValueError, SHIM_VALUE},
      {PyExc_IndexError, SHIM_INDEX}, {PyExc_NotImplementedError, SHIM_NOT_IMPLEMENTED},
      {out_of_memory_type, SHIM_OUT_OF_MEMORY}, {PyExc_RuntimeError, SHIM_RUNTIME}};
  for (auto& [type, kind] : kinds)
    if (type && PyErr_GivenExceptionMatches(exception, type)) return kind;
  return SHIM_PYTHON;
}

void forget() noexcept {
  if (PyObject* old = std::exchange(last().python, nullptr)) {
    GilAcquire gil;
    Py_DECREF(old);
  }
}

void keep_python() {  // the exception that is set
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  OwnedRef text{PyObject_Str(value)};
  const char* chars = text.o ? PyUnicode_AsUTF8(text.o) : nullptr;
  PyErr_Clear();
  forget();
  last().kind = kind_of(value);
  last().text = chars ? chars : "an exception without a text";
  last().python = value;
  Py_XDECREF(type);
  Py_XDECREF(trace);
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

void keep_error(const std::exception& e) noexcept {
  if (dynamic_cast<const PythonError*>(&e)) {
    GilAcquire gil;
    if (PyErr_Occurred()) return keep_python();
  }
  forget();
  auto* ours = dynamic_cast<const Error*>(&e);
  last().kind = ours ? kind_of(*ours) : dynamic_cast<const std::bad_alloc*>(&e) ? SHIM_OUT_OF_MEMORY : SHIM_RUNTIME;
  last().text = e.what();
  if (!ours || last().kind != SHIM_PYTHON) return;
  GilAcquire gil;  // of a class that has no number here: as the exception that it is in Python
  raise(*ours);
  keep_python();
}

void raise_kept() { shim_cxx_raise(last().kind, last().text.c_str()); }

}  // namespace shim

using namespace shim;

int shim_cxx_error(const char** text) {
  *text = last().text.c_str();
  return last().kind;
}

void shim_cxx_set_error(int kind, const char* text) {
  if (last().python && last().text == text) return;  // a Python error on its way through
  forget();
  last().kind = kind;
  last().text = text;
}

void shim_cxx_raise(int kind, const char* text) {
  if (last().python && last().text == text) {
    OwnedRef value{std::exchange(last().python, nullptr)};
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
