#pragma once
// What loaded libraries give the interpreter, as objects of one type there: kernels, functions, and what their classes hold.
#include <memory>
#include <string>

#include "abi/abi.h"
#include "ops/interpreter_function.h"

namespace shim {

class LibraryCode {
 public:
  virtual ~LibraryCode() = default;
  virtual std::string name() const = 0;  // as it is shown
  // The operator whose schema says what it takes; null: it takes what it is given.
  virtual const Operator* op() { return nullptr; }
  // Calls it, the interpreter's lock let go of; a kernel with a value for each argument of the schema.
  virtual void call(const Schema*, const Value*, size_t, const TakeValue&) {
    fail(Kind::Type, name(), " is not callable");
  }
};

class CompiledKernel : public LibraryCode {  // of an operator, also before that is defined
 public:
  CompiledKernel(std::string qualified, std::string overload)
      : qualified_(std::move(qualified)), overload_(std::move(overload)) {}
  std::string name() const override {
    return str("<compiled kernel of ", qualified_, overload_.empty() ? "" : ".", overload_, ">");
  }
  const Operator* op() override {
    if (!op_) op_ = find_operator(qualified_, overload_);
    CHECK(Kind::Runtime, op_, qualified_, ": the operator of this kernel is not defined");
    return op_;
  }

 protected:
  // What a call gave, as the interpreter sees it: none, one value or a tuple. Lists are lists that can be changed.
  static void give(Value* results, size_t n, const TakeValue&);

 private:
  const std::string qualified_, overload_;
  const Operator* op_ = nullptr;
};

std::shared_ptr<LibraryCode> stable_kernel(abi::Kernel, const std::string& qualified, const std::string& overload);

}  // namespace shim
