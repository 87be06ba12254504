// Calls of compiled functions, as functions of shim_torch._impl.native._core (shim_torch/_impl/compile).
#include "cuda/driver.h"
#include "python/module_function.h"
#include "python/owned_ref.h"
#include "python/tensors_in.h"
#include "python/trace.h"
#include "python/trace_rules.h"

namespace shim {

using namespace trace;

namespace {

constexpr const char* kTrees = "shim_torch.Trees";
PyObject* unsupported = nullptr;  // (reason, file, line) raises torch._dynamo.exc.Unsupported

struct Trees {  // what a function does may depend on the default dtype, and on the GPU that is current
  size_t most_ways;
  bool together, graphs;
  Ref<Constant> backend;
  using Modes = std::pair<DType, int>;
  std::vector<std::pair<Modes, std::unique_ptr<Tree>>> by_modes;
  Tree& now() {
    const Modes modes{default_dtype(), Session::device_of_factories()};
    for (auto& [m, tree] : by_modes)
      if (m == modes) return *tree;
    Tree& made = *by_modes.emplace_back(modes, std::make_unique<Tree>()).second;
    made.most_ways = most_ways;
    made.together = together;
    made.graphs = graphs;
    made.backend = backend;
    return made;
  }
};

Trees& trees_of(PyObject* o) {
  auto* t = static_cast<Trees*>(PyCapsule_GetPointer(o, kTrees));
  if (!t) throw PythonError();
  return *t;
}

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

PyObject* described(const Session& s) {
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
  return Py_BuildValue("{s:n,s:n,s:n,s:n,s:n,s:O,s:O,s:O,s:i}", "deferred", Py_ssize_t(s.deferred), "learned",
      Py_ssize_t(s.learned), "at_once", Py_ssize_t(s.at_once), "runs", Py_ssize_t(s.flushes), "programs",
      Py_ssize_t(s.programs), "breaks", breaks.o, "graphs", graphs.o, "reasons", reasons.o, "left",
      int(!s.following()));
}

// trace_call(trees, function, args, kwargs, watch, forbid, seen) -> its result; `seen` is called with what happened
PyObject* trace_call(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 7) return PyErr_Format(PyExc_TypeError, "trace_call() takes 7 arguments");
  return guarded([&]() -> PyObject* {
    CHECK(Kind::Runtime, !current(), "trace_call(): a compiled function runs already");
    Storage::run_deferred = run_deferred;
    Session::execute = execute_node;
    Session::run_together = run_as_program;
    Session::who_asks = who_asks;
    Session::on_break = raise_unsupported;
    Running running(trees_of(args[0]).now(), args[4] == Py_True);
    Session& s = running.session;
    s.breaks_forbidden = args[5] == Py_True;
    if (s.watching) {
      each_tensor(args[2], [&](TensorImpl& t) { s.watch(*t.storage()); });
      s.rewatch();
    }
    OwnedRef result{PyObject_Call(args[1], args[2], args[3])};
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    const bool failed = type != nullptr;
    s.unwatch();
    try {
      s.flush();
    } catch (...) {
      if (!failed) throw;
      PyErr_Clear();  // the function's own error is what its caller is to see
    }
    OwnedRef info = owned(described(s));
    PyErr_Restore(type, value, trace);
    if (failed) return nullptr;
    owned(PyObject_CallOneArg(args[6], info.o));
    return result.give();
  });
}

// trace_trees(most_ways, together, graphs, backend or None)
PyObject* trace_trees(PyObject*, PyObject* args) {
  Py_ssize_t most_ways;
  int together, graphs;
  PyObject* backend;
  if (!PyArg_ParseTuple(args, "nppO:trace_trees", &most_ways, &together, &graphs, &backend)) return nullptr;
  return PyCapsule_New(new Trees{size_t(most_ways), together != 0, graphs != 0,
                           backend == Py_None ? Ref<Constant>() : held(backend), {}},
      kTrees, [](PyObject* o) { delete static_cast<Trees*>(PyCapsule_GetPointer(o, kTrees)); });
}

PyObject* trace_active(PyObject*, PyObject*) { return PyBool_FromLong(tracing && current()->on_this_thread()); }

PyObject* trace_possible(PyObject*, PyObject*) {  // no other thread could meet hidden memory
  return PyBool_FromLong(!PyThreadState_Next(PyInterpreterState_ThreadHead(PyThreadState_Get()->interp)));
}

PyObject* trace_flush(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    if (current()) current()->unwatch(), current()->flush(), current()->rewatch();
    Py_RETURN_NONE;
  });
}

// trace_break(reason): what the user asks for ends the graph here
PyObject* trace_break(PyObject*, PyObject* reason) {
  return guarded([&]() -> PyObject* {
    if (current() && !inside_traced) current()->asked(nullptr, utf8(reason));
    Py_RETURN_NONE;
  });
}

// trace_pause(): operators run as they are called until trace_resume() gets what it gave
PyObject* trace_pause(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    if (current()) current()->unwatch(), current()->flush();
    const bool was = tracing;
    set_tracing(false);
    return PyBool_FromLong(was);
  });
}
PyObject* trace_resume(PyObject*, PyObject* was) {
  set_tracing(was == Py_True && current());
  Py_RETURN_NONE;
}

// trace_steps(trees) -> the ways through the function, each a list of its operators
PyObject* trace_steps(PyObject*, PyObject* trees) {
  return guarded([&]() -> PyObject* {
    OwnedRef ways = owned(PyList_New(0));
    for (auto& [modes, tree] : trees_of(trees).by_modes) {
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
  });
}

// trace_sources(trees) -> the text of each program
PyObject* trace_sources(PyObject*, PyObject* trees) {
  return guarded([&]() -> PyObject* {
    OwnedRef all = owned(PyList_New(0));
    for (auto& [modes, tree] : trees_of(trees).by_modes)
      for (auto& [stretch, together] : tree->programs) {
        const std::string source = together.program->source();
        OwnedRef text = owned(PyUnicode_FromStringAndSize(source.data(), Py_ssize_t(source.size())));
        if (PyList_Append(all, text) < 0) throw PythonError();
      }
    return all.give();
  });
}

// set_trace_hooks(reason_against, divides_integers, unsupported)
PyObject* set_trace_hooks(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (n != 3) return PyErr_Format(PyExc_TypeError, "set_trace_hooks() takes 3 arguments");
  Py_XSETREF(deferral_rule, Py_NewRef(args[0]));
  Py_XSETREF(division_rule, Py_NewRef(args[1]));
  Py_XSETREF(unsupported, Py_NewRef(args[2]));
  Py_RETURN_NONE;
}

PyObject* set_trace_lowering(PyObject*, PyObject* lower) {
  Py_XSETREF(lowering, Py_NewRef(lower));
  Py_RETURN_NONE;
}

template <auto F> PyCFunction fast() { return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(F)); }

PyMethodDef trace_functions[] = {
    {"trace_trees", trace_trees, METH_VARARGS,
        "What is known of a compiled function, nothing yet: of so many ways through it at most."},
    {"trace_call", fast<&trace_call>(), METH_FASTCALL, "Calls a function while its operators are traced."},
    {"trace_active", trace_active, METH_NOARGS, "Whether this thread's calls of operators are traced."},
    {"trace_possible", trace_possible, METH_NOARGS, "Whether no other thread of Python runs."},
    {"trace_flush", trace_flush, METH_NOARGS, "Runs what is deferred."},
    {"trace_break", trace_break, METH_O, "Ends the graph here, for a reason."},
    {"trace_pause", trace_pause, METH_NOARGS, "Runs what is deferred; operators run at once from here."},
    {"trace_resume", trace_resume, METH_O, "Ends a pause."},
    {"trace_steps", trace_steps, METH_O, "The operators of a compiled function, a list a way through it."},
    {"trace_sources", trace_sources, METH_O, "The programs of a compiled function, as text."},
    {"set_trace_lowering", set_trace_lowering, METH_O, "What makes graphs for backends (compile/backends.py)."},
    {"set_trace_hooks", fast<&set_trace_hooks>(), METH_FASTCALL, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_trace(PyObject* module) { return PyModule_AddFunctions(module, trace_functions); }

}  // namespace shim
