// A call of a compiled function: one session.
#include "python/trace_call.h"

#include "python/owned_ref.h"
#include "python/trace_rules.h"
#include "python/values.h"
#include "trace/calls.h"
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

}  // namespace

PyObject* described_reasons(const std::map<Because, size_t>& reasons) {
  OwnedRef all = owned(PyDict_New());
  for (const auto& [b, times] : reasons) {
    OwnedRef key = owned(Py_BuildValue("(ss)", b.op ? b.op->full_name().c_str() : "torch.compile", b.why));
    PyObject* before = PyDict_GetItem(all, key);  // one text may stand in two places
    OwnedRef count = owned(PyLong_FromSize_t(times + (before ? PyLong_AsSize_t(before) : 0)));
    if (PyDict_SetItem(all, key, count) < 0) throw PythonError();
  }
  return all.give();
}

namespace {

PyObject* described_session(const Session& s) {
  OwnedRef breaks = owned(list_by(s.breaks.size(), [&](size_t i) {
    const Break& b = s.breaks[i];
    return Py_BuildValue("(ssin)", b.reason.c_str(), b.file.c_str(), b.line, Py_ssize_t(b.operators));
  }));
  std::map<Because, size_t> reasons;
  for (const Because& b : s.reasons) ++reasons[b];
  OwnedRef because = owned(described_reasons(reasons));
  return Py_BuildValue("{s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:O,s:O,s:i}", "deferred", Py_ssize_t(s.deferred), "learned",
      Py_ssize_t(s.learned), "resized", Py_ssize_t(s.resized), "at_once", Py_ssize_t(s.at_once), "runs",
      Py_ssize_t(s.flushes), "programs", Py_ssize_t(s.programs), "backwards", Py_ssize_t(s.backwards), "breaks",
      breaks.o, "reasons", because.o, "left", int(!s.following()));
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
      if (attempt) whole->keep(std::move(*attempt), s, call);
      return result.give();
    }
    info = owned(described_session(s));
  }
  owned(PyObject_CallOneArg(seen, info.o));
  return result.give();
}

void set_session_hooks() {
  Session::run_by_backend = run_by_backend;
  Session::failed = failed_at;
  Session::who_asks = who_asks;
  Session::no_break = no_break;
  Session::on_break = raise_unsupported;
  rule_of = rule_by_record;
  install_traced_calls();
}

}  // namespace shim
