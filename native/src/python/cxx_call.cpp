// Calls of C++ extensions into the operator table, and Python's errors both ways.
#include <algorithm>
#include <utility>

#include "abi/results.h"
#include "dispatch/call_values.h"
#include "python/cxx_values.h"
#include "python/library_table.h"

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
  Pending raised;
  PyObject* value = raised.value();
  put_extension_error(python_kind(value), raised.text().c_str(), Py_NewRef(value));
  raised.drop();
  return true;
}

// What the cells hold, then the defaults.
void read_cells(
    const PythonOperator& op, const ShimCell* cells, size_t n, ValueRoom& room, Values& defaults, Value* to) {
  const Schema& s = op.schema;
  CHECK(Kind::Type, n <= s.args.size(), s.qualified(), "() takes ", s.args.size(), " arguments, got ", n);
  for (size_t i = 0; i < n; ++i) {
    const ArgType& type = s.args[i].type;
    to[i] = value_in(cells[i], room, &type);
    const bool missing = cells[i].tag == SHIM_TENSOR && to[i].tag == Value::none;
    CHECK(Kind::Runtime, !missing || type.optional || type.base != ArgType::Tensor,
        "Expected a proper Tensor but got None (or an undefined Tensor in C++) for argument #", i, " '", s.args[i].name,
        "'");
  }
  for (size_t i = n; i < s.args.size(); ++i) {
    CHECK(Kind::Type, op.slots[i].fallback, s.qualified(), "() misses its argument '", s.args[i].name, "'");
    to[i] = defaults.of(op.slots[i].fallback);
  }
}

Operator* found(const ShimOp* op) { return reinterpret_cast<Operator*>(const_cast<ShimOp*>(op)); }

}  // namespace

void raise_kept() { shim_cxx_raise(extension_error().kind, extension_error().text.c_str()); }

void call_extension(ShimKernel kernel, void* context, const Cells& given, Cells& results) {
  int failed;
  {
    GilRelease released;
    failed = kernel(context, given.all.data(), given.all.size(), results.all.data(), results.all.size());
  }
  if (!failed) return;
  raise_kept();
  throw PythonError();
}

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
    const Schema& s = op.schema;
    GilAcquire gil;
    ValueRoom room;
    Values defaults;
    Value* values = room.take(std::max(n, s.args.size()));
    read_cells(python_of(op), args, n, room, defaults, values);
    call_values(op, values, [&](const Value& result) {
      abi::put_results(
          s, result, std::span(results, wanted), [](const Value& v, const ArgType& type) { return cell_of(v, &type); },
          [](ShimCell& c, const ArgType&) { release_cell(c); });
    });
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
