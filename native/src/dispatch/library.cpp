#include "dispatch/library.h"

#include <map>

#include "autograd/autocast.h"
#include "dispatch/handlers.h"
#include "dispatch/replaced_arguments.h"
#include "ops/call_errors.h"
#include "ops/shown_overload.h"

namespace shim {

thread_local constinit bool below_autograd = false;
thread_local constinit const char* passed_over = nullptr;

std::unordered_map<const Operator*, OperatorParts>& parts_of() {
  static auto* m = new std::unordered_map<const Operator*, OperatorParts>;
  return *m;
}

namespace {

// Kernels registered before their operator is defined wait here: name with overload -> key -> callable.
using Kernels = std::unordered_map<std::string, void*>;
std::map<std::string, Kernels>& waiting() {
  static auto* m = new std::map<std::string, Kernels>;
  return *m;
}
std::string full_name(const std::string& qualified, const std::string& overload) { return qualified + "." + overload; }

// A factory's backend is that of the device it is given, if it has no tensor to go by.
const char* backend_key(const Operator& op, const Value* args, size_t n) {
  bool meta = false, any = false;
  const bool cuda = any_tensor(args, n, [&](TensorImpl& t) {
    any = true;
    meta |= t.device().is_meta();
    return t.device().is_cuda();
  });
  if (cuda) return "CUDA";
  if (!any && op.device_slot >= 0 && args[op.device_slot].tag == Value::device) {
    const Device where = args[op.device_slot].where;
    return where.is_cuda() ? "CUDA" : where.is_meta() ? "Meta" : "CPU";
  }
  return meta ? "Meta" : "CPU";
}

void* kernel(const Kernels& kernels, const char* key) {
  auto it = kernels.find(key);
  return it == kernels.end() ? nullptr : it->second;
}

// The kernels of the overload that PyTorch would call, which may be one for numbers that is part of another here.
const Kernels& kernels_for(const Operator& op, const Value* args, size_t n) {
  static const Kernels none;
  if (op.schema.ns != "aten") return op.overrides;
  const std::string shown = shown_overload(op, args, n);
  if (shown == op.schema.overload) return op.overrides;
  auto it = waiting().find(full_name(op.schema.qualified(), shown));
  return it == waiting().end() ? none : it->second;
}

void bump_written(const Operator& op, const Value* args) {
  for (size_t i = 0; i < op.schema.args.size(); ++i)
    if (const auto& alias = op.schema.args[i].alias; alias && alias->write)
      each_tensor(args + i, 1, [](TensorImpl& t) { t.bump_version(); });
}

// Kernels of others do not know the bits: they get copies, and what they write to those goes to the tensors.
bool run_resolved(Operator& op, const Value* args, size_t n, Result& r) {
  ReplacedArguments resolved(
      args, n, [](TensorImpl& t, bool) { return t.has_math_bits() ? clone_by_operator(Tensor(&t)) : Tensor(); });
  const bool done = run_library(op, resolved.data(), n, r);
  for (size_t i = 0; done && i < n; ++i) {
    const Value &given = resolved.data()[i], &own = args[i];
    if (!own.is_tensor() || given.t == own.t) continue;
    const auto& alias = op.schema.args[i].alias;
    if (alias && alias->write) copy_by_operator(Tensor(own.t), Tensor(given.t));
    if (r.tensor() != given.t) continue;  // a copy that the operator returned stands for its tensor
    r.clear();
    r.give_argument(own.t);
  }
  r.own();
  return done;
}

void* autocast_kernel(const Kernels& kernels, bool cuda) {
  const bool on = any_autocast() && autocast_state(cuda ? DeviceType::cuda : DeviceType::cpu).enabled;
  return on ? kernel(kernels, cuda ? "AutocastCUDA" : "AutocastCPU") : nullptr;
}

void* autograd_kernel(const Kernels& kernels, bool cuda) {
  if (below_autograd) return nullptr;
  void* f = kernel(kernels, "Autograd");
  return f ? f : kernel(kernels, cuda ? "AutogradCUDA" : "AutogradCPU");
}

void* composite_kernel(const Kernels& kernels) {
  void* f = kernel(kernels, "CompositeImplicitAutograd");
  return f ? f : kernel(kernels, "");
}

struct BelowAutograd {
  bool old = std::exchange(below_autograd, true);
  BelowAutograd() = default;
  BelowAutograd(const BelowAutograd&) = delete;
  ~BelowAutograd() { below_autograd = old; }
};

}  // namespace

bool run_as_parts(Operator& op, Value* args, size_t n, Result& r) {
  auto found = parts_of().find(&op);
  if (found == parts_of().end() || !op.overrides.empty()) return false;
  bool replaced = false;
  for (const auto& [name, overload] : found->second.names) {
    auto kernels = waiting().find(full_name(name, overload));
    if (kernels == waiting().end() || kernels->second.empty()) continue;
    const Operator* part = find_operator(name, overload);
    if (wants_history(args, n) && (!part || part->formulas.empty())) return false;
    replaced = true;
  }
  if (replaced) library_calls.parts(op, found->second.body, args, n, r);
  return replaced;
}

Operator* define_operator(Schema schema, bool ops_only) {
  auto op = library_calls.operator_of(std::move(schema));
  op->ops_only = ops_only;
  Operator* made = add_operator(std::move(op));
  auto it = waiting().find(full_name(made->schema.qualified(), made->schema.overload));
  if (it != waiting().end())
    for (auto& [key, f] : it->second) interpreter_objects.retain(made->overrides[key] = f);
  made->overridden = !made->overrides.empty();
  return made;
}

void* set_kernel(const std::string& qualified, const std::string& overload, const std::string& key, void* kernel) {
  if (!aten_kernels && kernel && qualified.starts_with("aten::") && key != "Meta") {
    aten_kernels = true;
    library_calls.learn_parts();
  }
  const auto put = [&](Kernels& kernels) {
    void* old = std::exchange(kernels[key], kernel);
    if (kernel)
      interpreter_objects.retain(kernel);
    else
      kernels.erase(key);
    return old;
  };
  void* old = put(waiting()[full_name(qualified, overload)]);
  if (Operator* op = find_operator(qualified, overload)) {
    if (void* replaced = put(op->overrides)) interpreter_objects.release(replaced);
    op->overridden = !op->overrides.empty();
  }
  // Calls with numbers go to the overload for tensors, even where the one for numbers was made when somebody asked for it.
  if (qualified.starts_with("aten::") && !overload.empty())
    for (Operator* op : overloads(qualified)) op->number_kernels = true;
  return old;
}

void raise_no_kernel(const Operator& op, const Value* args, size_t n) {
  throw no_kernel_error(op, backend_key(op, args, n));
}

bool run_library(Operator& op, Value* args, size_t n, Result& r) {
  if (passed_over && op.schema.qualified() == passed_over) {
    passed_over = nullptr;
    return false;
  }
  const Kernels& kernels = kernels_for(op, args, n);
  if (any_math_bits(args, n) && op.schema.ns != "aten" && !kernel(kernels, "CompositeImplicitAutograd"))
    return run_resolved(op, args, n, r);
  const char* backend = backend_key(op, args, n);
  const bool cuda = backend[1] == 'U', has_body = interpreter_calls.has_body(op);
  void* f = autocast_kernel(kernels, cuda);
  if (!f) f = autograd_kernel(kernels, cuda);
  if (f) return library_calls.kernel(op, f, args, n, r), true;
  f = kernel(kernels, backend);
  if (!f) f = kernel(kernels, "CompositeExplicitAutograd");
  bool composite = false;
  if (!f && (!has_body || op.schema.ns != "aten")) {
    f = composite_kernel(kernels);
    composite = f != nullptr;
    if (!f) f = kernel(kernels, "BackendSelect");
  }
  const bool seen = __builtin_expect(python_dispatch, 0) && !composite && (f || !has_body) && wants_dispatch(args, n);
  if (!f && !seen) {
    if (!has_body && !op.functional) raise_no_kernel(op, args, n);
    return false;
  }
  const auto run = [&] { seen ? call_handlers(op, args, n, r) : library_calls.kernel(op, f, args, n, r); };
  if (composite || op.formulas.empty()) {  // gradients, if any, are those of the operators it calls
    run();
    if (!composite) bump_written(op, args);
    return true;
  }
  const bool history = wants_history(args, n) && !below_autograd;
  {
    const BelowAutograd below;
    NoGrad off;
    run();
  }
  bump_written(op, args);
  if (history && !op.schema.is_mutable()) record_history(op, args, n, r.answer, false, {});
  return true;
}

}  // namespace shim
