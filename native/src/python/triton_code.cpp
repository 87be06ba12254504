#include "python/triton_code.h"

#include "core/held_object.h"
#include "core/lazy_clone.h"
#include "cuda/device_failure.h"
#include "python/dispatch.h"
#include "python/triton_call.h"

namespace shim::triton {

namespace {

union SlotNumber {
  void* pointer;
  int64_t word;
  float f;
  double d;
};

void* slot_address(const Code::Parameter& p, const TensorImpl& t) {
  if (p.written) own_data(*t.storage());
  void* const at = t.data();
  CHECK(Kind::Runtime, !p.aligned || reinterpret_cast<uintptr_t>(at) % 16 == 0,
      "a Triton kernel that was compiled for addresses which are multiples of 16 got another");
  return at;
}

SlotNumber slot_number(const Code::Parameter& p, const Value& v) {
  SlotNumber n{};
  if (p.slot == Slot::pointer)
    n.pointer = slot_address(p, *v.t);
  else if (p.slot == Slot::f32)
    n.f = float(v.number().to_double());
  else if (p.slot == Slot::f64)
    n.d = v.number().to_double();
  else
    n.word = v.i;
  return n;
}

struct Launches {  // what an operator of launches knows
  Code code;
  Ref<HeldObject> kept;
};

void run_launch(Operator& op, const Value* args, Answer& answer) {
  const auto& of = *static_cast<const Launches*>(op.native_data);
  unsigned grid[kGrid];
  for (size_t i = 0; i < kGrid; ++i) {
    CHECK(Kind::Value, args[i].i >= 0 && args[i].i <= INT32_MAX, "a grid of ", args[i].i, " programs");
    grid[i] = unsigned(args[i].i);
  }
  launch(of.code, grid, args + kGrid);
  answer.kind = Answer::tuple;
  answer.make_room(0);
}

Argument slot_argument(const Code::Parameter& p, std::string name, size_t i) {
  Argument a;
  a.name = std::move(name);
  a.type.base = p.slot == Slot::pointer                      ? ArgType::Tensor
                : p.slot == Slot::f32 || p.slot == Slot::f64 ? ArgType::Float
                                                             : ArgType::Int;
  if (p.slot == Slot::pointer && p.written) {
    const std::string set = str("a", i);
    a.alias = Alias{{set}, {set}, true};
  }
  return a;
}

}  // namespace

void launch(const Code& code, const unsigned* grid, const Value* given) {
  if (!grid[0] || !grid[1] || !grid[2]) return;
  SlotNumber values[kMostParameters];
  void* arguments[kMostParameters + 2];
  size_t n = 0;
  for (const Code::Parameter& p : code.parameters) {
    values[n] = slot_number(p, given[n]);
    arguments[n] = &values[n];
    ++n;
  }
  void* none = nullptr;  // scratch memory, global and of profiles: kernels that want some are not recorded
  arguments[n] = arguments[n + 1] = &none;
  for (size_t i = 0; i < n; ++i)  // once more: to get an address may run what reads the memory
    if (code.parameters[i].written && code.parameters[i].slot == Slot::pointer) given[i].t->storage()->changed();
  cuda::OnDevice current(code.device);
  const int failed = cuda::driver().launch(code.function, grid[0], grid[1], grid[2], code.threads, 1, 1, code.shared,
      cuda::current_stream(code.device), arguments, nullptr);
  if (!failed) return;
  if (cuda::breaks_context(failed)) cuda::raise_failure(failed, "cuLaunchKernel");
  const char* text = nullptr;
  cuda::driver().error_string(cuda::CUresult(failed), &text);
  fail(Kind::Runtime, "Triton Error [CUDA]: ", text ? text : "unknown");
}

Operator& make_operator(const Code& code, const std::vector<std::string>& names, void* kept) {
  static size_t made = 0;
  Schema schema;
  schema.ns = "triton";
  schema.name = code.name;
  schema.overload = str("kernel", ++made);
  for (const char* name : {"grid_x", "grid_y", "grid_z"}) schema.args.push_back({name, {ArgType::Int}});
  for (size_t i = 0; i < code.parameters.size(); ++i)
    schema.args.push_back(slot_argument(code.parameters[i], names[i], i));
  Operator* op = define_operator(std::move(schema), true);
  op->read_schema();
  op->any_numbers = true;
  op->native_data = new Launches{code, make<HeldObject>(kept)};  // for ever, as the operator is
  op->native = run_launch;
  return *op;
}

}  // namespace shim::triton
