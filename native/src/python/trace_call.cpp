// A call of a compiled function: one session.
#include "python/trace_call.h"

#include "python/frames.h"
#include "python/owned_ref.h"
#include "python/values.h"
#include "trace/calls.h"
#include "trace/described.h"
#include "trace/running.h"
#include "python/trace_whole.h"

namespace shim {

using namespace trace;

PyObject* unsupported_break = nullptr;

namespace {

void raise_unsupported(const Break& b) {
  owned(PyObject_CallFunction(unsupported_break, "ssi", b.reason.c_str(), b.file.c_str(), b.line));
  throw PythonError();
}

// Runs what is deferred; the function's own error is what its caller is to see.
void flush_last(Session& s, bool failed) {
  try {
    s.flush_last();
  } catch (...) {
    if (!failed) throw;
    PyErr_Clear();
  }
}

PyObject* run(const FunctionCall& c) {
  return c.kwargs ? PyObject_VectorcallDict(c.function, c.args, c.n, c.kwargs)
                  : PyObject_Vectorcall(c.function, c.args, c.n, c.names);
}

}  // namespace

PyObject* call_traced(
    Trees& trees, const TracedCall& how, const FunctionCall& call, PyObject* seen, WholeCalls* whole) {
  std::optional<WholeCalls::Attempt> attempt;
  if (whole) attempt = whole->attempt(call);
  Running running(trees.now(), how.watch);
  Session& s = running.session;
  s.breaks_forbidden = how.forbid;
  s.learns = how.learns;
  if (how.refusal) s.refusal = how.refusal;
  if (s.watching) {
    const auto n = size_t(PyVectorcall_NARGS(call.n));
    each_tensor(Values(call.args, n).data(), n, [&](TensorImpl& t) { s.watch(*t.storage()); });
    s.rewatch();
  }
  OwnedRef result{run(call)}, info;
  if (attempt && result.o) whole->look(*attempt, s, result);
  {
    const Pending failed;
    flush_last(s, bool(failed));
    if (failed) return nullptr;
    if (s.quiet()) {
      s.tell();
      if (attempt) whole->keep(std::move(*attempt), s);
      return result.give();
    }
    info = owned(object(report(s)));
  }
  owned(PyObject_CallOneArg(seen, info.o));
  return result.give();
}

namespace {

// The package's own frames are no lines of the user.
bool own_frame(PyObject* frame) {
  const std::string package = package_of(frame);
  return package.starts_with("shim_torch") || package == "torch" || package.starts_with("torch.");
}

void user_line(std::string* file, int* line) {
  OwnedRef held = current_frame();
  while (held.o && own_frame(held)) held = frame_behind(held);
  if (!held.o) return;
  auto* frame = reinterpret_cast<PyFrameObject*>(held.o);
  PyCodeObject* code = PyFrame_GetCode(frame);
  const char* name = PyUnicode_AsUTF8(code->co_filename);
  *file = name ? name : "";
  *line = PyFrame_GetLineNumber(frame);
  Py_DECREF(code);
  if (PyErr_Occurred()) PyErr_Clear();
}

Break who_asks(const char* reason) {
  Break b;
  user_line(&b.file, &b.line);
  b.reason = reason ? reason : "reads the values of a tensor";
  return b;
}

// torch._dynamo.config.capture_scalar_outputs, capture_dynamic_output_shape_ops.
bool no_break(Asks asks) {
  const OwnedRef modules = owned(PyObject_GetAttrString(owned(PyImport_ImportModule("sys")), "modules"));
  PyObject* config = PyDict_GetItemString(modules, "shim_torch._dynamo.config");
  if (!config) return false;
  const char* name = asks == Asks::shape ? "capture_dynamic_output_shape_ops" : "capture_scalar_outputs";
  return PyObject_IsTrue(owned(PyObject_GetAttrString(config, name))) == 1;
}

void failed_at([[maybe_unused]] const TreeNode& node) {  // notes are of Python 3.11
  guarded([]() -> int { throw; });
#if PY_VERSION_HEX >= 0x030b0000
  {
    Pending raised;
    const std::string note =
        str("In a compiled function, by ", node.op->full_name(), " at ", node.file, ":", node.line);
    OwnedRef added{PyObject_CallMethod(raised.value(), "add_note", "s", note.c_str())};
    if (!added.o) PyErr_Clear();
  }
#endif
  throw PythonError();
}

}  // namespace

void set_session_hooks() {
  Session::failed = failed_at;
  Session::who_asks = who_asks;
  Session::no_break = no_break;
  Session::on_break = raise_unsupported;
  install_traced_calls();
}

}  // namespace shim
