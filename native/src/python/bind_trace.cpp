// Calls of compiled functions, as functions of shim_torch._impl.native._core (shim_torch/_impl/compile).
#include <algorithm>
#include <utility>

#include "python/owned_ref.h"
#include "python/trace_call.h"
#include "python/trace_rules.h"
#include "python/trace_whole.h"
#include "trace/running.h"

namespace shim {

using namespace trace;

namespace {

// Its result; `seen` is called with what happened.
PyObject* trace_call(Trees& trees, PyObject* f, PyObject* args, PyObject* kwargs, bool watch, bool forbid, bool learns,
    std::optional<std::string_view> refusal, PyObject* seen) {
  CHECK(Kind::Runtime, !current(), "trace_call(): a compiled function runs already");
  const FunctionCall call{f, &PyTuple_GET_ITEM(args, 0), size_t(PyTuple_GET_SIZE(args)), nullptr, kwargs};
  return call_traced(trees, {watch, forbid, learns, refusal}, call, seen);
}

std::shared_ptr<Trees> trace_trees(
    int64_t most_ways, bool together, bool graphs, bool resizes, std::optional<PyObject*> backend) {
  Ref<HeldObject> called = backend ? make<HeldObject>(*backend) : Ref<HeldObject>();
  return std::make_shared<Trees>(Trees{size_t(most_ways), together, graphs, resizes, std::move(called), {}});
}

// The same since the last time that it was asked.
PyObject* trace_totals() {
  const Totals t = std::exchange(told, {});
  OwnedRef reasons = owned(described_reasons(t.reasons)), graphs = owned(PyDict_New());
  for (const auto& [how, times] : t.graphs) {
    OwnedRef count = owned(PyLong_FromSize_t(times));
    if (PyDict_SetItemString(graphs, how.c_str(), count) < 0) throw PythonError();
  }
  return Py_BuildValue("({s:n,s:n,s:n,s:n,s:n,s:n,s:n},O,O)", "calls", Py_ssize_t(t.calls), "whole",
      Py_ssize_t(t.whole), "deferred", Py_ssize_t(t.deferred), "at_once", Py_ssize_t(t.at_once), "runs",
      Py_ssize_t(t.runs), "programs", Py_ssize_t(t.programs), "backwards", Py_ssize_t(t.backwards), reasons.o,
      graphs.o);
}

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
      for (const TreeNode* node = at; node->op; node = node->before)
        if (PyList_Append(way, owned(described_node(*node))) < 0) throw PythonError();
      if (PyList_Reverse(way) < 0 || PyList_Append(ways, way) < 0) throw PythonError();
    }
  }
  return ways.give();
}

void set_trace_hooks(PyObject* reason_against, PyObject* condition, PyObject* raises_unsupported, PyObject* names) {
  Py_XSETREF(deferral_rule, Py_NewRef(reason_against));
  Py_XSETREF(condition_rule, Py_NewRef(condition));
  Py_XSETREF(unsupported_break, Py_NewRef(raises_unsupported));
  Py_XSETREF(names_read, Py_NewRef(names));
}

void set_trace_lowering(PyObject* lower) { Py_XSETREF(lowering, Py_NewRef(lower)); }

const HeldType<Trees> trees_type{"Trees"};

PyMethodDef trace_functions[] = {function<&trace_trees>("trace_trees",
                                     "(most_ways, together, graphs, resizes, backend or None): what is known of a "
                                     "compiled function, nothing yet: of so "
                                     "many ways through it at most; `resizes`: other sizes are no way of their own."),
    function<&trace_call>("trace_call",
        "(trees, function, args, kwargs, watch, forbid, learns, refusal or None, seen): calls a function while its "
        "operators are traced."),
    function<&is_traced_here>("trace_active", "Whether this thread's calls of operators are traced."),
    function<&may_trace>("trace_possible", "Whether no compiled function runs, in no thread."),
    function<&trace_caller>("trace_caller",
        "(function, otherwise, seen): what calls a function traced, with nothing in between, where nothing is in the "
        "way; else it calls otherwise(args, kwargs)."),
    function<&trace_set_trees>("trace_set_trees",
        "(caller, trees or None, forbids): what is known of the function now, and whether it may have no breaks; None: "
        "each "
        "call goes the other way."),
    function<&trace_is_current>("trace_is_current", "(caller): whether nothing was forgotten since it got its trees."),
    function<&trace_forget>("trace_forget", "What callers have got is void."),
    function<&trace_take_stance>(
        "trace_take_stance", "(plain): whether callers may trace, or each call goes the other way."),
    function<&trace_entry>("trace_entry",
        "(function whose body calls what its one free variable is): the same, whose calls are that one's at once."),
    function<&trace_totals>("trace_totals",
        "What calls did of which nothing else was to be told, since it was asked for: counts, why "
        "operators ran at once, and how programs ran that may be graphs."),
    function<&run_what_is_deferred>("trace_flush", "Runs what is deferred."),
    function<&end_graph>("trace_break", "(reason): ends the graph here."),
    function<&pause>("trace_pause",
        "(deferred): operators stay as they are from here. They run at once, after what is deferred, unless they may "
        "be deferred too."),
    function<&resume>("trace_resume", "(what trace_pause() gave): ends a pause."),
    function<&trace_steps>("trace_steps", "(trees): the operators of a compiled function, a list a way through it."),
    function<&sources>("trace_sources", "(trees): the programs of a compiled function, as text."),
    function<&leave_out>("trace_leave_out",
        "(name or None): what calls are not compared by from here on. For tests: answers are stale then."),
    function<&check_names>("trace_checks", "The names of what calls are compared by."),
    function<&set_trace_lowering>("set_trace_lowering", "(what makes graphs for backends): compile/backends.py's."),
    function<&set_trace_hooks>("set_trace_hooks"), {}};

}  // namespace

int bind_trace(PyObject* module) {
  if (make_caller_types() < 0) return -1;
  set_session_hooks();
  return PyModule_AddFunctions(module, trace_functions);
}

}  // namespace shim
