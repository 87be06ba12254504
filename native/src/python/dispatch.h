#pragma once
// The general call path: bound arguments -> result, in the order modes, autocast, overrides, kernel, history.
#include "autograd/autocast.h"
#include "python/arguments.h"

namespace shim {

PyObject* call_operator(Operator&, Bound&);                   // after __torch_function__ had its say
PyObject* run_inplace(Operator&, PyObject** args, size_t n);  // inplace.cpp
extern constinit thread_local int
    own_bodies;  // how many bodies of ours run within a transform: they may write to what it captured
PyObject* run_out(Operator&, PyObject** args, size_t n);         // out.cpp
PyObject* run_functional(Operator&, PyObject** args, size_t n);  // native, else run; no history
PyObject* run_recorded(Operator&, PyObject** args, size_t n);    // and with history
// The result, which it steals, with its history.
PyObject* with_history(
    Operator&, PyObject* const* args, size_t n, PyObject* result, const Ref<Node>& prepared = Ref<Node>());
// The history of a composite's result gets PyTorch's name of it (record_history.cpp).
void name_history(const Operator&, PyObject* const* args, size_t n, PyObject* result);
PyObject* run_override(Operator&, PyObject** args, size_t n, bool* done);  // kernels of torch.library
Operator* define_operator(Schema,
    bool ops_only = false);  // library_table.cpp: of another namespace than aten; throws if it is defined already
// Registers a kernel for a dispatch key, also before its operator is defined; null removes it. The old one, or null.
PyObject* set_kernel(
    const std::string& qualified, const std::string& overload, const std::string& key, PyObject* kernel);
void raise_no_kernel(const Operator&, PyObject** args, size_t n);
void check_same_device(const Operator&, PyObject* const* args, size_t n);
void check_overlaps(const TensorImpl& target, const Operator&, PyObject* const* args, size_t n);  // ops/overlap.h
// A view's results are tied to their base before history is recorded (view_tracking.cpp); `several`: they are parts of it.
void mark_views(Operator&, PyObject* const* args, size_t n, PyObject* result, bool several = false);
PyObject* name_results(Operator&, PyObject* result);  // steals; a tuple becomes torch.return_types.max

// torch_function.cpp
PyObject* call_torch_function(
    PyObject* callable, const CallArgs&, Bound*);  // NotImplemented-style fallthrough: returns null without error
bool torch_function_mode_active();
bool torch_function_enabled();
int bind_torch_function(PyObject* module);
int bind_torch_dispatch(PyObject* module);  // bind_torch_dispatch.cpp

// modes.cpp
bool apply_autocast(Operator&, PyObject** args, size_t n);  // false: Python error
PyObject* default_device();                                 // borrowed; null when none is set
int bind_modes(PyObject* module);

// define.cpp
std::vector<Formula> formulas_of(PyObject* dict);  // {"input, input": callable}
void attach_formulas(PythonOperator& op);  // those of a record whose module was not imported when it was defined
PyObject* define_record(PyObject* record, PyObject* run);
PyObject* derive_operator(const std::string& schema, const std::string& of, const std::string& overload);
int bind_library(PyObject* module);

}  // namespace shim
