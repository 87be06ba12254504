#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ops/schema.h"

namespace shim {

// Of a schema's text, by one pass over it without parsing types: records are many. The views are into the text.
struct SchemaNames {
  std::string_view ns, name, overload;
  std::string key;  // "aten::add.Tensor"
  std::vector<std::string_view> arguments;
};
SchemaNames schema_names(std::string_view text);  // TypeError where it is no schema

std::string jit_type(const ArgType&);  // PyTorch's JIT spelling: Optional[Tensor], List[int], number

}  // namespace shim
