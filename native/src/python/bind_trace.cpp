// Calls of compiled functions, as functions of shim_torch._impl.native._core (shim_torch/_impl/compile).
#include "python/owned_ref.h"
#include "python/trace_call.h"
#include "python/trace_whole.h"
#include "trace/backend.h"
#include "trace/described.h"
#include "trace/foreseen.h"
#include "trace/learn.h"
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

PyObject* trace_steps(Trees& trees) { return object_of(Described().ways(trees)); }

void set_trace_hooks(PyObject* reason_against, PyObject* condition, PyObject* raises_unsupported, PyObject* names) {
  deferral_rule = make<HeldObject>(reason_against);
  condition_rule = make<HeldObject>(condition);
  Py_XSETREF(unsupported_break, Py_NewRef(raises_unsupported));
  Py_XSETREF(names_read, Py_NewRef(names));
}

void set_trace_lowering(PyObject* lower) { lowering = make<HeldObject>(lower); }

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
    function<&totals>("trace_totals",
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
    function<&set_foreseen_from>("trace_foreseen_from",
        "(bytes): a first call is planned whose operators have tensors of as many. What it was."),
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
