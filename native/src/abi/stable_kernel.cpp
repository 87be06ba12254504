// Kernels of the stable C ABI, called with values.
#include <algorithm>
#include <new>
#include <stdexcept>

#include "abi/library_code.h"
#include "core/few.h"

namespace shim {

void CompiledKernel::give(Value* results, size_t n, const TakeValue& take) {
  for (Value& v : std::span(results, n))
    if (v.tag == Value::list && !v.is_tuple()) v.tag = Value::tensors;
  take(n == 0 ? Value() : n == 1 ? *results : tuple_value({results, n}));
}

namespace {

using abi::Cell;

// The kernel's own text. Wheels of before 2.13 say only which call failed; the reason is added.
std::string failure_text(const char* what) {
  std::string text = what;
  const std::string& reason = abi::last_error();
  if (!reason.empty() && text.find(reason) == std::string::npos) text += "\n" + reason;
  return text;
}

// The standard library's exceptions as PyTorch's Python calls give them: torchcodec ends an iteration by out_of_range.
Kind kind_of(const std::exception& e) {
  if (dynamic_cast<const std::bad_alloc*>(&e)) return Kind::Memory;
  if (dynamic_cast<const std::out_of_range*>(&e)) return Kind::Index;
  if (dynamic_cast<const std::overflow_error*>(&e)) return Kind::Overflow;
  const bool value = dynamic_cast<const std::domain_error*>(&e) || dynamic_cast<const std::invalid_argument*>(&e) ||
                     dynamic_cast<const std::length_error*>(&e) || dynamic_cast<const std::range_error*>(&e);
  return value ? Kind::Value : Kind::Runtime;
}

void run(abi::Kernel kernel, Cell* stack, size_t n, size_t returns) {
  const Unlocked others_run(true);  // it may wait for a thread that needs the lock
  abi::clear_last_error();
  try {
    kernel(stack, n, returns);
  } catch (const std::exception& e) { throw Error(kind_of(e), failure_text(e.what())); } catch (...) {
    throw Error(Kind::Runtime, failure_text("the kernel threw an exception that is no std::exception"));
  }
}

// A returned ScalarType, Layout or MemoryFormat is a plain number for Python, as with PyTorch.
Value returned(const ArgType& t, Cell c, ValueRoom& room) {
  const bool number = t.base == ArgType::ScalarType || t.base == ArgType::Layout || t.base == ArgType::MemoryFormat;
  if (!number || t.list) return abi::value_in(c, t, room);
  if (t.optional && !c) return {};
  return {Value::integer, int64_t(int32_t(t.optional ? *reinterpret_cast<const Cell*>(c) : c))};
}

struct Returned {  // owned
  const Schema& schema;
  const Cell* stack;
  ~Returned() {
    for (size_t i = 0; i < schema.returns.size(); ++i) abi::release(schema.returns[i].type, stack[i]);
  }
};

class StableKernel final : public CompiledKernel {
 public:
  StableKernel(abi::Kernel kernel, const std::string& qualified, const std::string& overload)
      : CompiledKernel(qualified, overload), kernel_(kernel) {}

  void call(const Schema* schema, const Value* args, size_t n, const TakeValue& take) override {
    const Schema& s = *schema;
    const size_t returns = s.returns.size();
    Few<Cell, 24> stack;
    try {
      for (size_t i = 0; i < n; ++i) stack.push_back(abi::cell_of(args[i], s.args[i].type));
    } catch (...) {
      abi::release_arguments(s, stack.data(), stack.size());
      throw;
    }
    while (stack.size() < returns) stack.push_back(0);
    try {
      run(kernel_, &stack[0], n, returns);
    } catch (const Error&) {
      if (abi::host().rethrow) abi::host().rethrow();
      throw;
    }
    const Returned owned{s, stack.data()};
    ValueRoom room;
    Value* results = room.take(returns);
    try {
      for (size_t i = 0; i < returns; ++i) results[i] = returned(s.returns[i].type, stack[i], room);
    } catch (const Error& e) { fail(Kind::Runtime, s.qualified(), ": ", e.what()); }
    give(results, returns, take);
  }

 private:
  const abi::Kernel kernel_;
};

}  // namespace

std::shared_ptr<LibraryCode> stable_kernel(
    abi::Kernel kernel, const std::string& qualified, const std::string& overload) {
  return std::make_shared<StableKernel>(kernel, qualified, overload);
}

}  // namespace shim
