// torch.library's part of the table: schemas defined and kernels registered from Python, by dispatch key.
#include "python/library_table.h"

#include <map>

#include "autograd/autograd.h"
#include "ops/call_errors.h"
#include "python/dispatch.h"
#include "python/owned_ref.h"
#include "python/math_bits.h"
#include "python/shown_call.h"
#include "python/stable_values.h"
#include "python/tensors_in.h"
#include "python/torch_dispatch.h"

namespace shim {

thread_local constinit bool below_autograd = false;
thread_local constinit const char* passed_over = nullptr;

std::unordered_map<const Operator*, OperatorParts>& parts_of() {
  static auto* m = new std::unordered_map<const Operator*, OperatorParts>;
  return *m;
}

namespace {

// Kernels registered before their operator is defined wait here: name with overload -> key -> callable.
using Kernels = std::unordered_map<std::string, PyObject*>;
std::map<std::string, Kernels>& waiting() {
  static auto* m = new std::map<std::string, Kernels>;
  return *m;
}
std::string full_name(const std::string& qualified, const std::string& overload) { return qualified + "." + overload; }

void learn_parts() {
  aten_kernels = true;
  OwnedRef module{PyImport_ImportModule("shim_torch._impl.transforms.torch_dispatch")};
  OwnedRef r{module.o ? PyObject_CallMethod(module.o, "name_parts", nullptr) : nullptr};
  if (!r.o) throw PythonError();
}

// A factory's backend is that of the device it is given, if it has no tensor to go by.
const char* backend_key(const Operator& op, PyObject** args, size_t n) {
  bool meta = false, any = false;
  const bool cuda = any_tensor(args, n, [&](TensorImpl& t) {
    any = true;
    meta |= t.device().is_meta();
    return t.device().is_cuda();
  });
  if (cuda) return "CUDA";
  if (!any && op.device_slot >= 0 && is_device(args[op.device_slot])) {
    const Device where = device_of(args[op.device_slot]);
    return where.is_cuda() ? "CUDA" : where.is_meta() ? "Meta" : "CPU";
  }
  return meta ? "Meta" : "CPU";
}

PyObject* kernel(const Kernels& kernels, const char* key) {
  auto it = kernels.find(key);
  return it == kernels.end() ? nullptr : it->second;
}

// The kernels of the overload that PyTorch would call, which may be one for numbers that is part of another here.
const Kernels& kernels_for(const Operator& op, PyObject** args, size_t n) {
  static const Kernels none;
  if (op.schema.ns != "aten") return python_of(op).overrides;
  const std::string shown = shown_overload(op, args, n);
  if (shown == op.schema.overload) return python_of(op).overrides;
  auto it = waiting().find(full_name(op.schema.qualified(), shown));
  return it == waiting().end() ? none : it->second;
}

// For a compiled function an operator of a library's own is one step, whatever its kernel does.
struct OneStep {
  explicit OneStep(const Operator& op) : own(op.schema.ns != "aten") {
    if (own) enter_operator();
  }
  OneStep(const OneStep&) = delete;
  ~OneStep() {
    if (own) leave_operator();
  }
  bool own;
};

// Calls a Python kernel as PyTorch does: without defaults, keyword-only arguments by keyword.
PyObject* call_kernel(const Operator& op, PyObject* f, PyObject** args, size_t n) {
  OneStep step(op);
  if (Py_TYPE(f) == StableKernelType) return call_stable(op.schema, kernel_of(f), args, n);
  OwnedRef positional, keywords;
  if (!shown_arguments(op, args, n, &positional.o, &keywords.o)) return nullptr;
  return PyObject_Call(f, positional.o, keywords.o);
}

// What a Python kernel gives must be what the schema says: a tensor, or one value for each of several results.
PyObject* checked_result(const Operator& op, PyObject* r) {
  const auto& returns = op.schema.returns;
  if (!r || r == Py_None || r == Py_NotImplemented || returns.empty()) return r;
  const bool one = returns.size() == 1;
  if (one && (returns[0].type.base != ArgType::Tensor || returns[0].type.list || is_tensor(r))) return r;
  if (!one && !is_tensor(r)) return r;
  const OwnedRef held{r};
  return one ? PyErr_Format(PyExc_RuntimeError, "Unable to cast %S to Tensor", r)
             : PyErr_Format(PyExc_TypeError, "Object of type 'Tensor' is not an instance of 'sequence'");
}

void bump_written(const Operator& op, PyObject** args) {
  for (size_t i = 0; i < op.schema.args.size(); ++i)
    if (const auto& alias = op.schema.args[i].alias; alias && alias->write)
      each_tensor(args[i], [](TensorImpl& t) { t.bump_version(); });
}

}  // namespace

bool aten_kernels = false;

PyObject* run_as_parts(const Operator& op, PyObject* const* args, size_t n, bool* done) {
  *done = false;
  auto found = parts_of().find(&op);
  if (found == parts_of().end() || !python_of(op).overrides.empty()) return nullptr;
  bool replaced = false;
  for (const auto& [name, overload] : found->second.names) {
    auto kernels = waiting().find(full_name(name, overload));
    if (kernels == waiting().end() || kernels->second.empty()) continue;
    const Operator* part = find_operator(name, overload);
    if (GradMode::enabled() && any_requires_grad(args, n) && (!part || part->formulas.empty())) return nullptr;
    replaced = true;
  }
  *done = replaced;
  return replaced ? PyObject_Vectorcall(found->second.body, args, n, nullptr) : nullptr;
}

Operator* define_operator(Schema schema, bool ops_only) {
  auto op = std::make_unique<PythonOperator>();
  op->ops_only = ops_only;
  op->schema = std::move(schema);
  prepare_slots(*op);
  if (PyErr_Occurred()) throw PythonError();
  Operator* made = add_operator(std::move(op));
  auto it = waiting().find(full_name(made->schema.qualified(), made->schema.overload));
  if (it != waiting().end())
    for (auto& [key, f] : it->second) python_of(*made).overrides[key] = Py_NewRef(f);
  made->overridden = !python_of(*made).overrides.empty();
  return made;
}

PyObject* set_kernel(
    const std::string& qualified, const std::string& overload, const std::string& key, PyObject* kernel) {
  if (!aten_kernels && kernel && qualified.starts_with("aten::") && key != "Meta") learn_parts();
  auto& slot = waiting()[full_name(qualified, overload)];
  PyObject* old = slot.count(key) ? slot[key] : nullptr;
  if (kernel)
    slot[key] = Py_NewRef(kernel);
  else
    slot.erase(key);
  if (Operator* op = find_operator(qualified, overload)) {
    auto& overrides = python_of(*op).overrides;
    if (kernel)
      overrides[key] = Py_NewRef(kernel);
    else
      overrides.erase(key);
    op->overridden = !overrides.empty();
  }
  // Calls with numbers go to the overload for tensors, even where the one for numbers was made when somebody asked for it.
  if (qualified.starts_with("aten::") && !overload.empty())
    for (Operator* op : overloads(qualified)) op->number_kernels = true;
  return old;
}

void raise_no_kernel(const Operator& op, PyObject** args, size_t n) {
  raise(no_kernel_error(op, backend_key(op, args, n)));
}

PyObject* run_override(Operator& op, PyObject** args, size_t n, bool* done) {
  if (passed_over && op.schema.qualified() == passed_over) {
    passed_over = nullptr;
    *done = false;
    return nullptr;
  }
  *done = true;
  const Kernels& kernels = kernels_for(op, args, n);
  if (any_math_bits(args, n) && op.schema.ns != "aten" && !kernel(kernels, "CompositeImplicitAutograd")) {
    ResolvedArguments resolved(args, n, true);
    PyObject* r = run_override(op, resolved.data(), n, done);
    if (r && !resolved.write_back(op.schema)) Py_CLEAR(r);
    return resolved.original(r);
  }
  if (any_autocast()) {
    const bool cuda = backend_key(op, args, n)[1] == 'U';
    PyObject* f = autocast_state(cuda ? DeviceType::cuda : DeviceType::cpu).enabled
                      ? kernel(kernels, cuda ? "AutocastCUDA" : "AutocastCPU")
                      : nullptr;
    if (f) return call_kernel(op, f, args, n);
  }
  if (!below_autograd) {
    const char* backend = backend_key(op, args, n);
    PyObject* f = kernel(kernels, "Autograd");
    if (!f) f = kernel(kernels, backend[1] == 'U' ? "AutogradCUDA" : "AutogradCPU");
    if (f) return call_kernel(op, f, args, n);
  }
  const char* backend = backend_key(op, args, n);
  PyObject* f = kernel(kernels, backend);
  bool composite = false;
  if (!f) f = kernel(kernels, "CompositeExplicitAutograd");
  if (!f && (!python_of(op).run || op.schema.ns != "aten")) {
    f = kernel(kernels, "CompositeImplicitAutograd");
    if (!f) f = kernel(kernels, "");
    composite = f != nullptr;
    if (!f) f = kernel(kernels, "BackendSelect");
  }
  const bool seen =
      __builtin_expect(python_dispatch, 0) && !composite && (f || !python_of(op).run) && wants_dispatch(args, n);
  if (!f && !seen) {
    *done = python_of(op).run == nullptr && op.functional == nullptr;
    if (*done) raise_no_kernel(op, args, n);
    return nullptr;
  }
  if (composite || op.formulas.empty()) {  // gradients, if any, are those of the operators it calls
    PyObject* r = seen ? call_torch_dispatch(op, args, n) : checked_result(op, call_kernel(op, f, args, n));
    if (r && !composite) bump_written(op, args);
    return r;
  }
  const bool history = GradMode::enabled() && !below_autograd && any_requires_grad(args, n);
  PyObject* r;
  {
    bool old = below_autograd;
    NoGrad off;
    below_autograd = true;
    r = seen ? call_torch_dispatch(op, args, n) : call_kernel(op, f, args, n);
    below_autograd = old;
  }
  if (r) bump_written(op, args);
  return r && history && !op.schema.is_mutable() ? with_history(op, args, n, r) : r;
}

}  // namespace shim
