#include "autograd/function_node.h"

#include <utility>

#include "core/interpreter_lock.h"
#include "ops/interpreter_function.h"

namespace shim {
namespace {

thread_local bool own_tangents = false;

Tensor zeros_like_meta(const InputMeta& m) { return engine_ops().zeros(m.sizes, m.dtype, m.device); }

}  // namespace

bool want_own_tangents(bool on) { return std::exchange(own_tangents, on); }

FunctionNode::FunctionNode(void* ctx, FunctionContext& context, std::string name)
    : ctx_(ctx), context_(context), name_(std::move(name)) {
  interpreter_objects.retain(ctx_);
  context_.node = this;
}

FunctionNode::~FunctionNode() {
  if (!interpreter_functions.lives()) return;
  const Locked lock;
  if (ctx_) context_.node = nullptr;
  if (owns_ctx) interpreter_objects.release(ctx_);
}

void FunctionNode::release_saved() {
  const Locked lock;
  if (!ctx_ || !context_.saved) return;
  for (SavedTensor& s : *context_.saved) s.reset();
  if (!context_.saved->empty()) context_.freed = 1;
}

// `args`: the ctx and the cotangents.
Grads FunctionNode::transposed_jvp(const std::vector<Value>& args, bool* has_one) const {
  std::vector<Tensor> zeros;
  std::vector<Value> inputs;
  size_t tensors = 0;
  for (const bool tensor : is_tensor_input) {
    zeros.push_back(tensor ? zeros_like_meta(given[tensors++]) : Tensor());
    inputs.push_back(tensor_value(zeros.back()));
  }
  const OwnedObject cls(function_calls.class_of(ctx_));
  const Value all[] = {held_value(cls.object), args[0], tuple_value(inputs), tuple_value(std::span(args).subspan(1))};
  Grads found;
  // An input is None or zeros like it. It gives None where the class has no jvp.
  call_imported("autograd.own_tangents", "transposed_jvp", all, [&](const Value& r) {
    *has_one = r.tag != Value::none;
    if (*has_one) found = gradients(r);
  });
  return found;
}

Grads FunctionNode::apply(Grads&& grads) {
  const Locked lock;
  CHECK(Kind::Runtime, ctx_, name_, ": its ctx was freed");
  const Ref<Node> alive(this);
  const Ref<HeldObject> ctx_alive = make<HeldObject>(ctx_);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool zeros = !grads[i] && outputs[i] != FunctionOutput::not_tensor && context_.materialize &&
                       (outputs[i] == FunctionOutput::differentiable || context_.materialize_non_diff);
    if (zeros) grads[i] = zeros_like_meta(inputs[i]);
  }
  std::vector<Value> args{held_value(ctx_)};
  for (size_t i = 0; i < outputs.size(); ++i) args.push_back(tensor_value(grads[i]));
  Grads found;
  if (bool has_one = false; __builtin_expect(own_tangents, 0) && !given.empty()) {
    found = transposed_jvp(args, &has_one);
    if (has_one) return found;
  }
  const OwnedObject backward(function_calls.backward(ctx_));
  interpreter_functions.call(backward.object, args, [&](const Value& r) { found = gradients(r); });
  return found;
}

Grads FunctionNode::gradients(const Value& gave) const {
  const std::span<const Value> all = gave.is_tuple() ? std::span(gave.items, gave.size) : std::span(&gave, 1);
  const size_t n = all.size(), expected = is_tensor_input.size();
  bool rest_none = n > expected;  // trailing Nones are forgiven
  for (size_t i = expected; i < n; ++i) rest_none = rest_none && all[i].tag == Value::none;
  CHECK(Kind::Runtime, n == expected || rest_none, "function ", name_,
      " returned an incorrect number of gradients (expected ", expected, ", got ", n, ")");
  Grads out;
  for (size_t i = 0; i < expected; ++i) {
    const bool none = all[i].tag == Value::none;
    if (!is_tensor_input[i]) {
      CHECK(Kind::Runtime, none, "function ", name_, " returned a gradient different than None at position ", i + 1,
          ", but the corresponding forward input was not a Variable");
      continue;
    }
    CHECK(Kind::Runtime, none || all[i].is_tensor(), "expected Variable or None (got ", class_of(all[i]), ")");
    out.push_back(none ? Tensor() : Tensor(all[i].t));
  }
  return out;
}

}  // namespace shim
