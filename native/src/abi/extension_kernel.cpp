// Kernels that C++ extensions register (TORCH_LIBRARY), and their autograd functions.
#include "abi/extension_host.h"
#include "abi/operators.h"
#include "dispatch/library.h"

namespace shim {

void call_extension(ShimKernel kernel, void* context, const OwnedCells& given, OwnedCells& results) {
  int failed;
  {
    const Unlocked others_run(true);  // it may wait for a thread that needs the lock
    failed = kernel(context, given.all.data(), given.all.size(), results.all.data(), results.all.size());
  }
  if (failed) extension_host.rethrow();
}

void put_kernel(const std::string& qualified, const std::string& overload, const std::string& key,
    std::shared_ptr<LibraryCode> code) {
  const ObjectOfCode kernel(std::move(code));
  if (void* old = set_kernel(qualified, overload, key, kernel.object)) interpreter_objects.release(old);
}

namespace {

class ExtensionKernel final : public CompiledKernel {  // lives as long as the process: libraries are never unloaded
 public:
  ExtensionKernel(std::string qualified, std::string overload, ShimKernel kernel, void* context)
      : CompiledKernel(std::move(qualified), std::move(overload)), kernel_(kernel), context_(context) {}

  void call(const Schema*, const Value* args, size_t n, const TakeValue& take) override {
    const Schema& s = op()->schema;
    CHECK(Kind::Type, n <= s.args.size(), s.qualified(), ": the kernel takes ", s.args.size(), " arguments, got ", n);
    OwnedCells given, results(s.returns.size());
    ValueRoom room;
    for (size_t i = 0; i < s.args.size(); ++i) {
      CHECK(Kind::Type, i < n || s.args[i].fallback, s.qualified(), ": the kernel misses its argument '",
          s.args[i].name, "'");
      given.all.push_back(cell_of(i < n ? args[i] : default_of(s.args[i], room), &s.args[i].type));
    }
    call_extension(kernel_, context_, given, results);
    Value* values = room.take(results.all.size());
    for (size_t i = 0; i < results.all.size(); ++i) values[i] = value_in(results.all[i], room, &s.returns[i].type);
    give(values, results.all.size(), take);
  }

 private:
  const ShimKernel kernel_;
  void* const context_;
};

std::vector<Tensor> tensors_of(int failed, ShimCell& result) {
  if (failed) extension_host.rethrow();
  OwnedCells held(1);
  held.all[0] = result;
  ValueRoom room;
  const Value list = value_in(result, room);
  std::vector<Tensor> all;
  for (const Value& v : std::span(list.items, list.size)) all.emplace_back(v.tag == Value::tensor ? v.t : nullptr);
  return all;
}

ArgType list_of(ArgType::Base base) {
  ArgType type;
  type.base = base;
  type.list = true;
  return type;
}

}  // namespace

std::vector<Tensor> ExtensionFunction::forward(void* ctx) const {
  ShimCell result{};
  const int failed = functions_->forward(state_, ctx, &result);
  return tensors_of(failed, result);
}

std::vector<Tensor> ExtensionFunction::backward(void* ctx, std::span<const Tensor> grads) const {
  std::vector<ShimTensor*> given;
  for (const Tensor& g : grads) given.push_back(reinterpret_cast<ShimTensor*>(g.get()));
  ShimCell result{};
  const int failed = functions_->backward(state_, ctx, given.data(), given.size(), &result);
  return tensors_of(failed, result);
}

}  // namespace shim

using namespace shim;

int shim_cxx_implement(
    const char* ns, const char* key, const char* name, ShimKernel kernel, void* context, const char* schema) {
  return kept([&] {
    const HostLock lock;
    abi::take_over_libraries();
    std::string text = name, space = ns;
    if (const size_t colon = text.find("::"); colon != std::string::npos) {
      space = text.substr(0, colon);
      text = text.substr(colon + 2);
    }
    if (*schema) {
      Schema s = parse_schema(schema);
      s.ns = space;
      define_operator(std::move(s));
    }
    const size_t dot = text.find('.');
    const std::string qualified = space + "::" + text.substr(0, dot);
    const std::string overload = dot == std::string::npos ? "" : text.substr(dot + 1);
    put_kernel(qualified, overload, key, std::make_shared<ExtensionKernel>(qualified, overload, kernel, context));
  });
}

int shim_cxx_apply(const ShimFunction* functions, void* state, ShimTensor* const* inputs, size_t n, ShimCell* outputs) {
  return kept([&] {
    const HostLock lock;
    const ObjectOfCode function(std::make_shared<ExtensionFunction>(functions, state));
    std::vector<Value> given = {Value(std::string_view(functions->name)), function.value()};
    for (ShimTensor* input : std::span(inputs, n)) given.push_back(tensor_value(tensor_in(input)));
    call_imported("extensions.cxx_function", "apply", given, [&](const Value& result) {
      const ArgType tensors = list_of(ArgType::Tensor);
      *outputs = cell_of(result, &tensors);
    });
  });
}

int shim_cxx_context(void* ctx, int what, const ShimCell* given, ShimCell* result) {
  return kept([&] {
    const HostLock lock;
    const char* names[] = {"save_for_backward", "saved_tensors", "mark_dirty", "mark_non_differentiable",
        "set_materialize_grads", "needs_input_grad"};
    if (what == SHIM_SAVED || what == SHIM_NEEDS) {
      const ArgType list = list_of(what == SHIM_NEEDS ? ArgType::Bool : ArgType::Tensor);
      return interpreter_functions.see(OwnedObject(interpreter_functions.attribute(ctx, names[what])).object,
          [&](const Value& v) { *result = cell_of(v, &list); });
    }
    ValueRoom room;
    const Value value = value_in(*given, room);
    const bool several = value.tag == Value::tensors;
    call_method(
        ctx, names[what], several ? std::span(value.items, value.size) : std::span(&value, 1), [](const Value&) {});
  });
}
