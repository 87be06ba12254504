#pragma once
// The call of an operator with values: bound arguments -> result, in the order modes, overrides, kernel, history.
#include "autograd/operator_node.h"
#include "autograd/recording.h"
#include "core/math_bits.h"
#include "core/sparse.h"
#include "ops/operator.h"
#include "ops/result.h"

namespace shim {

// `args` are values in the schema's order, which outlive the call; some may be replaced.
void call_operator(Operator&, Value* args, size_t n, Result&);  // all of it, profiled too
Tensor call_for_tensor(Operator&, Value* args, size_t n);       // TypeError where it gives none
void call_below_modes(
    Operator&, Value* args, size_t n, Result&);  // once autocast, the default device and vmap had their say
void run_functional(Operator&, Value* args, size_t n, Result&);  // native, else body; no history
void run_recorded(Operator&, Value* args, size_t n, Result&);    // and with history
Tensor call_recorded(Operator&, const Tensor& first, const Tensor& second);
void run_at_once(Operator&, Value* args, size_t n, Result&);   // where a trace does not defer it
void run_inplace(Operator&, Value* args, size_t n, Result&);   // inplace.cpp
void run_out(Operator&, Value* args, size_t n, Result&);       // out.cpp
bool run_kernels(Operator&, const Value* args, Answer&);       // false: none takes the call
void copy_by_operator(const Tensor& self, const Tensor& src);  // recorded, and seen by who looks on
Tensor clone_by_operator(const Tensor&);
Tensor view_by_operator(const Tensor&);  // of the same sizes

// What only the interpreter can do of a call. Set by the binding; null: nobody is there to ask.
struct InterpreterCalls {
  void (*body)(Operator&, const Value* args, size_t n, Result&) = nullptr;
  bool (*has_body)(const Operator&) = nullptr;
  // __torch_dispatch__: the handlers' answer, and that of the operators that PyTorch has in the place of one (of has_parts).
  void (*handlers)(Operator&, const Value* args, size_t n, Result&) = nullptr;
  void (*parts)(Operator&, const Value* args, size_t n, Result&) = nullptr;
  bool (*has_parts)(const Operator&) = nullptr;
  size_t (*modes)() = nullptr;  // how many are on, on this thread
  bool (*innermost_mode_has)(const char* attribute) = nullptr;
  bool (*functions_are_seen)() = nullptr;  // by modes of __torch_dispatch__ or __torch_function__
  // Others that may answer in the place of the operator: whether they did.
  bool (*sparse)(Operator&, Value* args, size_t n, Result&) = nullptr;
  bool (*as_parts)(Operator&, Value* args, size_t n, Result&) = nullptr;
  bool (*library)(Operator&, Value* args, size_t n, Result&) = nullptr;
  bool (*batched)(Operator&, Value* args, size_t n, Result&) = nullptr;
  // Of the error that is being handled: the dtype that it says no kernel has, the text of a NotImplementedError, and its end.
  DType (*lacking_dtype)() = nullptr;
  std::string (*not_implemented)() = nullptr;
  void (*drop_error)() = nullptr;
  bool (*alone)() = nullptr;                      // no other thread of the interpreter's is there
  bool (*is_plain)(const TensorImpl&) = nullptr;  // no class of its own is the tensor's, whose object is there
  // A replay of the call that made a view.
  Ref<ViewReplay> (*replay)(Operator&, const Value* args, size_t n) = nullptr;
};
inline InterpreterCalls interpreter_calls;

// What a trace does with calls while a compiled function runs; set by trace/calls.h.
struct TracedCalls {
  void (*call)(Operator&, Value* args, size_t n, Result&) = nullptr;
  bool (*kernel)(KernelCall, Operator&, const Value* args, size_t n, Result&) = nullptr;  // whether it took it
  void (*write)(Operator&, const Value* args, size_t n, const std::function<void(bool deferred)>& write) = nullptr;
  void (*before_untraced)(const Value* args, size_t n) = nullptr;  // memory of these is touched otherwise
};
inline TracedCalls traced_calls;

extern bool
    python_dispatch;  // a mode is on somewhere, a class with a handler has had an instance, or there are sparse tensors
extern bool sparse_seen;   // this process has made a sparse tensor
extern bool batches_seen;  // vmap was used
extern bool aten_kernels;  // torch.library has one for an operator of aten
extern bool tracing;       // a compiled function runs
// Modes and classes that see operators, and those that see functions, are not asked on this thread.
extern thread_local constinit bool handlers_disabled, functions_disabled;
extern thread_local constinit int running_transforms;  // of functions (torch.func: vmap, grad, jvp), on this thread
extern thread_local constinit int
    own_bodies;  // bodies of ours that run in a transform: they may write to what it captured

inline bool wants_dispatch(const Value* args, size_t n) {  // a mode does, or a tensor's class
  return !handlers_disabled && (interpreter_calls.modes() || any_tensor(args, n, SubclassOps::is_special));
}
inline bool wants_history(const Value* args, size_t n) { return GradMode::enabled() && any_requires_grad(args, n); }

// history.cpp: the history of a result; of operators in place, of their first argument.
void record_history(
    Operator&, const Value* args, size_t n, const Answer& result, bool inplace, const Ref<Node>& prepared);
Ref<Node> prepare_history(
    Operator&, const Value* args, size_t n);  // saves the inputs: for hooks that want them before it runs
// `out` was written by an operator whose out= form PyTorch's autograd does not know: backward through it is an error.
void forbid_derivative(const Tensor& out, const std::string& op, const Value* args, size_t n);
void name_history(
    const Operator&, const Value* args, size_t n, const Answer& result);  // of a composite, PyTorch's name
// A view's results are tied to their base before history is recorded (views.cpp); `several`: they are parts of it.
void mark_views(Operator&, const Value* args, size_t n, const Answer& result, bool several = false);
void count_together(TensorImpl& base, TensorImpl& view);  // what a handler gave as a view counts writes with its base

void check_same_device(const Operator&, const Value* args, size_t n);
void check_overlaps(const TensorImpl& target, const Operator&, const Value* args, size_t n);  // ops/overlap.h
// Where an operator that writes to `target` failed for want of a kernel: PyTorch's errors that come before that one.
void check_before_kernel(const Operator&, const Value* args, size_t n, const TensorImpl& target, bool in_place);

// tangents.cpp: calls with arguments that carry tangents (autograd/forward_mode.h).
bool any_tangent(const Value* args, size_t n);
void check_forward_mode(const Operator&, const Value* args, size_t n);
void call_with_tangents(Operator&, Value* args, size_t n, Result&);
void run_inplace_with_tangents(Operator&, Value* args, size_t n, bool history, Result&);

inline bool any_math_bits(const Value* args, size_t n) {
  return __builtin_expect(math_bits_seen, 0) && any_tensor(args, n, [](TensorImpl& t) { return t.has_math_bits(); });
}
// Of a tensor. What C++ gave may say that it could be of a class of its own.
inline bool of_plain_class(const Value& v) {
  return v.width == Value::plain || !v.t->pyobj || interpreter_calls.is_plain(*v.t);
}
inline bool any_sparse(const Value* args, size_t n) {
  return any_tensor(args, n, [](TensorImpl& t) { return is_sparse(t); });
}

}  // namespace shim
