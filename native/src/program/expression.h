#pragma once
// How a step becomes part of a group's expression.
#include "cpu/kernel_table.h"
#include "program/group.h"

namespace shim::program {

struct Refused {};  // thrown where a step does not fit in
[[noreturn]] void refuse();
bool scalar_of(const Value&, Scalar*);  // of a bool, an int, a float; false: it is none
bool ordinary(DType);                   // real numbers that kernels compute with

class Expression {
 public:
  using Arguments = std::span<const program::Value* const>;
  struct Value {
    Source source;
    DType dtype;  // that it is computed in: never a narrow one
  };

  Group& group;
  const Steps& steps;
  bool lower(const Step&);  // false: it is not known; Refused may leave parts behind

  // Kinds of operators.
  bool by_rule(const Step&, const PointwiseOp*, Arguments);
  bool sum(const Step&, bool subtract, bool reversed);
  bool division(const Step&);
  bool power(const Step&);
  bool selection(const Step&, const program::Value& condition, const program::Value& a, const program::Value& b);
  bool bounds(const Step&, const program::Value* least, const program::Value* most);
  bool formula(const Step&, std::string_view name, Arguments);
  bool copied(const Step&, const program::Value& from);
  bool given_norm(const Step&);  // a norm over channels by statistics that are given

  Value read(const TensorRef&);
  void write(const TensorRef&, Value);

 private:
  Value convert(Value, DType to, DType narrow);
  Value rounded(Value, DType narrow);
  Value put(const Node&);
  Source as(Value, DType in);
  Source number(const program::Value&, DType in, DType rounded);
  Source put_number(const Number&);
  Source operand(const program::Value&, DType in, DType rounded);  // a tensor's element or a number
  // The same of an operator's operand; `common`: what the operands' dtypes promote to.
  Source operand(const PointwiseOp&, size_t place, const program::Value&, DType in, DType common);
  DType promoted(Arguments) const;
  void finish(const Step&, Value, DType dtype);
  Value computed(
      const PointwiseOp&, Arguments, DType* given);  // by the operator's rule for dtypes; `given`: a new tensor's
};

}  // namespace shim::program
