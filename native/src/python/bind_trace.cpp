// Calls of compiled functions, as functions of shim_torch._impl.native._core (shim_torch/_impl/compile).
#include <algorithm>
#include <utility>

#include "cuda/driver.h"
#include "python/module_parameters.h"
#include "python/owned_ref.h"
#include "python/tensors_in.h"
#include "python/trace.h"
#include "python/trace_rules.h"
#include "python/values.h"
#include "trace/trees.h"

namespace shim {

using namespace trace;

namespace {

PyObject* unsupported = nullptr;  // (reason, file, line) raises torch._dynamo.exc.Unsupported

}  // namespace

template <> constexpr const char* module_call::capsule_name<Trees> = "shim_torch.Trees";

namespace {

void run_deferred(const Storage& s) {
  Session* session = current();
  if (session) {
    GilAcquire gil;
    if (inside_traced || !session->on_this_thread())  // a kernel, or a helper of it
      session->unwatch(), session->flush();
    else
      session->asked(&s, nullptr);
  }
  CHECK(Kind::Runtime, !s.hidden(),
      "the tensor has no values: the compiled operator that was to give them, or one before it, raised an error");
}

void run_before_outside() {
  GilAcquire gil;
  Session* s = current();
  if (!s || inside_traced || !s->on_this_thread() || !s->any_deferred()) return;
  s->unwatch();
  s->flush();
  s->rewatch();
}

void raise_unsupported(const Break& b) {
  owned(PyObject_CallFunction(unsupported, "ssi", b.reason.c_str(), b.file.c_str(), b.line));
  throw PythonError();
}

struct Running {  // one session at a time
  Session session;
  Running(Tree& tree, bool watch) : session(tree, watch) {
    set_current(&session);
    set_tracing(true);
    cuda::run_waiting = run_before_outside;
  }
  ~Running() {
    cuda::run_waiting = nullptr;
    set_tracing(false);
    set_current(nullptr);
  }
};

PyObject* described_session(const Session& s) {
  OwnedRef breaks = owned(PyList_New(0)), reasons = owned(PyDict_New());
  for (const Break& b : s.breaks) {
    OwnedRef one = owned(Py_BuildValue("(ssin)", b.reason.c_str(), b.file.c_str(), b.line, Py_ssize_t(b.operators)));
    if (PyList_Append(breaks, one) < 0) throw PythonError();
  }
  for (const auto& [what, times] : s.reasons) {
    OwnedRef key = owned(Py_BuildValue("(ss)", what.first.c_str(), what.second.c_str()));
    OwnedRef count = owned(PyLong_FromSize_t(times));
    if (PyDict_SetItem(reasons, key, count) < 0) throw PythonError();
  }
  OwnedRef graphs = owned(PyDict_New());
  for (const auto& [how, times] : s.graphs) {
    OwnedRef count = owned(PyLong_FromSize_t(times));
    if (PyDict_SetItemString(graphs, how.c_str(), count) < 0) throw PythonError();
  }
  return Py_BuildValue("{s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:O,s:O,s:O,s:i}", "deferred", Py_ssize_t(s.deferred), "learned",
      Py_ssize_t(s.learned), "resized", Py_ssize_t(s.resized), "at_once", Py_ssize_t(s.at_once), "runs",
      Py_ssize_t(s.flushes), "programs", Py_ssize_t(s.programs), "backwards", Py_ssize_t(s.backwards), "breaks",
      breaks.o, "graphs", graphs.o, "reasons", reasons.o, "left", int(!s.following()));
}

// The pending exception, which is set again at the end.
struct Failed {
  PyObject *type, *value, *trace;
  Failed() { PyErr_Fetch(&type, &value, &trace); }
  ~Failed() {
    if (type) PyErr_Restore(type, value, trace);
  }
  explicit operator bool() const { return type; }
};

// Runs what is deferred; the function's own error is what its caller is to see.
void flush_last(Session& s, bool failed) {
  s.unwatch();
  try {
    s.flush();
  } catch (...) {
    if (!failed) throw;
    PyErr_Clear();
  }
}

// Its result; `seen` is called with what happened.
PyObject* trace_call(Trees& trees, PyObject* f, PyObject* args, PyObject* kwargs, bool watch, bool forbid, bool learns,
    std::optional<std::string_view> refusal, PyObject* seen) {
  CHECK(Kind::Runtime, !current(), "trace_call(): a compiled function runs already");
  Storage::run_deferred = run_deferred;
  Session::execute = execute_node;
  Session::run_together = run_together;
  Session::failed = failed_at;
  Session::who_asks = who_asks;
  Session::on_break = raise_unsupported;
  traced_backward = trace_backward;
  Running running(trees.now(), watch);
  Session& s = running.session;
  s.breaks_forbidden = forbid;
  s.learns = learns;
  s.refusal = refusal;
  if (s.watching) {
    each_tensor(args, [&](TensorImpl& t) { s.watch(*t.storage()); });
    s.rewatch();
  }
  OwnedRef result{PyObject_Call(f, args, kwargs)}, info;
  {
    const Failed failed;
    flush_last(s, bool(failed));
    if (failed) return nullptr;
    if (s.quiet()) {
      told = {told.calls + 1, told.deferred + s.deferred, told.runs + s.flushes, told.programs + s.programs,
          told.backwards + s.backwards};
      return result.give();
    }
    info = owned(described_session(s));
  }
  owned(PyObject_CallOneArg(seen, info.o));
  return result.give();
}

PyObject* trace_trees(int64_t most_ways, bool together, bool graphs, bool resizes, std::optional<PyObject*> backend) {
  Ref<HeldObject> called = backend ? make<HeldObject>(*backend) : Ref<HeldObject>();
  return PyCapsule_New(new Trees{size_t(most_ways), together, graphs, resizes, std::move(called), {}},
      module_call::capsule_name<Trees>,
      [](PyObject* o) { delete static_cast<Trees*>(PyCapsule_GetPointer(o, module_call::capsule_name<Trees>)); });
}

// The same since the last time that it was asked.
PyObject* trace_totals() {
  const Totals t = std::exchange(told, {});
  return Py_BuildValue("{s:n,s:n,s:n,s:n,s:n}", "calls", Py_ssize_t(t.calls), "deferred", Py_ssize_t(t.deferred),
      "runs", Py_ssize_t(t.runs), "programs", Py_ssize_t(t.programs), "backwards", Py_ssize_t(t.backwards));
}

bool trace_active() { return tracing && current()->on_this_thread(); }

bool trace_possible() {  // no other thread could meet hidden memory
  return !PyThreadState_Next(PyInterpreterState_ThreadHead(PyThreadState_Get()->interp));
}

// For tests alone.
void trace_leave_out(std::optional<std::string_view> name) {
  left_out = 0;
  if (!name) return;
  const auto found = std::ranges::find(kCheckNames, *name);
  CHECK(Kind::Value, found != std::end(kCheckNames), "there is no check of ", *name);
  left_out = 1u << (found - kCheckNames);
}
std::vector<std::string> trace_checks() { return {std::begin(kCheckNames), std::end(kCheckNames)}; }

// Whether a call can be traced from here.
bool trace_ready() { return !current() && trace_possible(); }

void trace_flush() {
  if (current()) current()->unwatch(), current()->flush(), current()->rewatch();
}

// What the user asks for ends the graph here.
void trace_break(std::string_view reason) {
  if (current() && !inside_traced) current()->asked(nullptr, std::string(reason).c_str());
}

// Operators run as they are called until trace_resume() gets what this gave.
bool trace_pause() {
  if (current()) current()->unwatch(), current()->flush();
  const bool was = tracing;
  set_tracing(false);
  return was;
}
void trace_resume(bool was) { set_tracing(was && current()); }

// The ways through the function, each a list of its operators.
PyObject* trace_steps(Trees& trees) {
  OwnedRef ways = owned(PyList_New(0));
  for (auto& [modes, tree] : trees.by_modes) {
    std::vector<const TreeNode*> open{&tree->root};
    while (!open.empty()) {
      const TreeNode* at = open.back();
      open.pop_back();
      for (auto& next : at->next) open.push_back(next.get());
      if (!at->next.empty() || at == &tree->root) continue;
      OwnedRef way = owned(PyList_New(0));
      for (const TreeNode* node = at; node->op; node = node->before) {
        OwnedRef one = owned(described_node(*node));
        if (PyList_Append(way, one) < 0) throw PythonError();
      }
      if (PyList_Reverse(way) < 0 || PyList_Append(ways, way) < 0) throw PythonError();
    }
  }
  return ways.give();
}

std::vector<std::string> trace_sources(Trees& trees) {
  std::vector<std::string> all;
  for (auto& [modes, tree] : trees.by_modes)
    for (auto& [stretch, together] : tree->programs) all.push_back(together.program->source());
  return all;
}

void set_trace_hooks(PyObject* reason_against, PyObject* condition, PyObject* raises_unsupported) {
  Py_XSETREF(deferral_rule, Py_NewRef(reason_against));
  Py_XSETREF(condition_rule, Py_NewRef(condition));
  Py_XSETREF(unsupported, Py_NewRef(raises_unsupported));
}

void set_trace_lowering(PyObject* lower) { Py_XSETREF(lowering, Py_NewRef(lower)); }

PyMethodDef trace_functions[] = {function<&trace_trees>("trace_trees",
                                     "(most_ways, together, graphs, resizes, backend or None): what is known of a "
                                     "compiled function, nothing yet: of so "
                                     "many ways through it at most; `resizes`: other sizes are no way of their own."),
    function<&trace_call>("trace_call",
        "(trees, function, args, kwargs, watch, forbid, learns, refusal or None, seen): calls a function while its "
        "operators are traced."),
    function<&trace_active>("trace_active", "Whether this thread's calls of operators are traced."),
    function<&trace_possible>("trace_possible", "Whether no other thread of Python runs."),
    function<&trace_ready>("trace_ready", "Whether a call can be traced from here: none is, and no other thread runs."),
    function<&trace_totals>(
        "trace_totals", "What calls deferred of which nothing else was to be told, since it was asked for."),
    function<&trace_flush>("trace_flush", "Runs what is deferred."),
    function<&trace_break>("trace_break", "(reason): ends the graph here."),
    function<&trace_pause>("trace_pause", "Runs what is deferred; operators run at once from here."),
    function<&trace_resume>("trace_resume", "(what trace_pause() gave): ends a pause."),
    function<&trace_steps>("trace_steps", "(trees): the operators of a compiled function, a list a way through it."),
    function<&trace_sources>("trace_sources", "(trees): the programs of a compiled function, as text."),
    function<&trace_leave_out>("trace_leave_out",
        "(name or None): what calls are not compared by from here on. For tests: answers are stale then."),
    function<&trace_checks>("trace_checks", "The names of what calls are compared by."),
    function<&set_trace_lowering>("set_trace_lowering", "(what makes graphs for backends): compile/backends.py's."),
    function<&set_trace_hooks>("set_trace_hooks"), {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_trace(PyObject* module) { return PyModule_AddFunctions(module, trace_functions); }

}  // namespace shim
