#pragma once
// PyTorch's errors for calls that fit no overload, of what the interpreter says about the call.
#include <string>
#include <vector>

#include "core/error.h"
#include "ops/operator.h"
#include "ops/signature.h"

namespace shim {

struct GivenCall {
  size_t positional = 0;  // a method's self too
  std::vector<std::string> keywords;
  std::string types;  // "Tensor, other=int", without a method's self
  bool out = false;   // out= is given, and not None

  size_t count() const { return positional + keywords.size(); }
};

struct Misfit {  // of one overload
  enum What : uint8_t { too_many, missing, type, multiple, unexpected, none } what = none;
  size_t slot = 0;
  int position = -1;
  bool is_none = false;  // the value, which is of the wrong type
  std::string type_name;
  std::string element;  // the type of its first item, where it is a sequence that has one
  std::string note;     // on objects of other libraries: what to do
  std::string keyword;  // that is given twice, or that there is not
  std::string shown;    // the value, for operators of torch.ops
};

Error misfit_error(const Operator&, const char* name, Form, const GivenCall&, const Misfit&);
Error operator_misfit_error(const Operator&, const GivenCall&, const Misfit&);  // of torch.ops

Error no_kernel_error(const Operator&, std::string_view backend);  // "CPU", "CUDA" or "Meta"

// Which overloads a text lists, and the only one that may have been meant, or null.
struct Meant {
  std::vector<Operator*> listed;
  Operator* only = nullptr;
};
Meant meant_overloads(const std::vector<Operator*>& candidates, const GivenCall&);
std::string invalid_combination(const char* name, const GivenCall&);  // "... but expected one of:\n"

}  // namespace shim
