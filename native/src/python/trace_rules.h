#pragma once
// What the trace of a compiled function asks of records, of Python's frames and of the process.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "autograd/autograd.h"
#include "trace/foreseen.h"
#include "trace/learn.h"

namespace shim {

const trace::Rule& rule_by_record(Operator&);
trace::Break who_asks(const char* reason);
bool no_break(trace::Asks);
extern PyObject *deferral_rule,
    *condition_rule;                               // of a record: None or why its calls run at once; what else decides
PyObject* described_node(const trace::TreeNode&);  // trace_described.cpp
extern PyObject* lowering;                         // (backend, nodes, given, wanted, tensors) -> a function
bool run_by_backend(trace::Session&, std::span<const trace::Session::Deferred>, std::vector<Ref<Storage>>& storages);
void failed_at(const trace::TreeNode&);  // Session::failed

}  // namespace shim
