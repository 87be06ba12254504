// A compiled kernel called with Python values.
#include <new>
#include <stdexcept>

#include "python/owned_ref.h"
#include "python/stable_values.h"
#include "python/values.h"

namespace shim {

namespace {

using abi::Cell;

// A returned ScalarType, Layout or MemoryFormat is a plain number for Python, as with PyTorch.
ArgType returned_type(const ArgType& t, Cell v) {
  if (t.base != ArgType::ScalarType && t.base != ArgType::Layout && t.base != ArgType::MemoryFormat) return t;
  if (t.list) return t;
  if (t.optional && v) *reinterpret_cast<Cell*>(v) = Cell(int64_t(int32_t(*reinterpret_cast<Cell*>(v))));
  ArgType number = t;
  number.base = ArgType::Int;
  return number;
}

// What a kernel returned, as Python sees it: None, one value or a tuple; numbers' lists become lists.
PyObject* returned(const Schema& s, const Cell* stack) {
  const size_t n = s.returns.size();
  size_t taken = 0;
  const auto next = [&] {
    const size_t i = taken++;
    const ArgType type = returned_type(s.returns[i].type, stack[i]);
    const bool narrow = type.base != s.returns[i].type.base && !type.optional;
    OwnedRef o{object_from(narrow ? Cell(int64_t(int32_t(stack[i]))) : stack[i], type)};
    return PyTuple_CheckExact(o.o) ? owned(PySequence_List(o)) : std::move(o);
  };
  try {
    if (n == 0) Py_RETURN_NONE;
    if (n == 1) return next().give();
    return tuple_by(n, [&](size_t) { return next().give(); });
  } catch (const std::exception& e) {
    for (; taken < n; ++taken) abi::release(s.returns[taken].type, stack[taken]);
    if (dynamic_cast<const Error*>(&e)) fail(Kind::Runtime, s.qualified(), ": ", e.what());
    throw;
  }
}

// The kernel's own text. Wheels of before 2.13 say only which call failed; the reason is added.
std::string failure_text(const char* what) {
  std::string text = what;
  const std::string& reason = abi::last_error();
  if (!reason.empty() && text.find(reason) == std::string::npos) text += "\n" + reason;
  return text;
}

// The standard library's exceptions as PyTorch's Python calls give them: torchcodec ends an iteration by out_of_range.
PyObject* exception_type(const std::exception& e) {
  if (dynamic_cast<const std::bad_alloc*>(&e)) return PyExc_MemoryError;
  if (dynamic_cast<const std::out_of_range*>(&e)) return PyExc_IndexError;
  if (dynamic_cast<const std::overflow_error*>(&e)) return PyExc_OverflowError;
  const bool value = dynamic_cast<const std::domain_error*>(&e) || dynamic_cast<const std::invalid_argument*>(&e) ||
                     dynamic_cast<const std::length_error*>(&e) || dynamic_cast<const std::range_error*>(&e);
  return value ? PyExc_ValueError : PyExc_RuntimeError;
}

}  // namespace

PyObject* object_from(abi::Cell c, const ArgType& t) {
  struct Owner {
    const ArgType& type;
    Cell cell;
    ~Owner() { abi::release(type, cell); }
  } owner{t, c};
  ValueRoom room;
  return object_of(abi::value_in(c, t, room));
}

PyObject* call_stable(const Schema& s, abi::Kernel kernel, PyObject* const* args, size_t n) {
  constexpr size_t kInline = 24;
  const size_t cells = std::max(n, s.returns.size());
  Cell inline_stack[kInline];
  std::vector<Cell> heap(cells > kInline ? cells : 0);
  Cell* stack = cells > kInline ? heap.data() : inline_stack;
  const Values given(args, n);
  size_t done = 0;
  try {
    for (; done < n; ++done) stack[done] = abi::cell_of(given.data()[done], s.args[done].type);
  } catch (...) {
    abi::release_arguments(s, stack, done);
    throw;
  }
  std::string problem;
  PyObject* failed = nullptr;
  {
    GilRelease released;
    abi::clear_last_error();
    try {
      kernel(stack, n, s.returns.size());
    } catch (const std::exception& e) {
      failed = exception_type(e);
      problem = failure_text(e.what());
    } catch (...) {
      failed = PyExc_RuntimeError;
      problem = failure_text("the kernel threw an exception that is no std::exception");
    }
  }
  if (failed) {
    if (!raise_interrupt()) PyErr_SetString(failed, problem.c_str());
    throw PythonError();
  }
  return returned(s, stack);
}

}  // namespace shim
