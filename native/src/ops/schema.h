#pragma once
// The one parser of ATen schema strings: operator records, torch.library and the stable C ABI all read schemas with it.
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/dtype.h"
#include "core/device.h"

namespace shim {

struct ArgType {
  enum Base : uint8_t {
    Tensor,
    Scalar,
    Int,
    Float,
    Bool,
    Str,
    ScalarType,
    Layout,
    Device,
    MemoryFormat,
    Generator,
    Stream,
    Storage,
    Dimname,
    Any
  };
  Base base = Any;
  bool symint = false;    // written SymInt
  bool optional = false;  // T?
  bool list = false;      // T[] ; T[]? is list and optional; T?[] is list and element_optional
  bool element_optional = false;
  int list_size = -1;  // int[2]: a single int is accepted too
  std::string other;   // a type outside this dialect (base Any), as written: "Dict(str, t)"
};

struct Alias {
  std::vector<std::string> before, after;
  bool write = false;
  bool of_list = false;  // Tensor[](a!): the list, not its elements
};

struct Default {  // monostate: None
  using Value = std::variant<std::monostate, bool, int64_t, double, std::string, DType, std::vector<int64_t>,
      std::vector<double>, std::vector<bool>>;
  Value value;
};

struct Argument {
  std::string name;
  std::string python_name;  // what functions and methods call it, where that differs (copy_'s src: other); else empty
  ArgType type;
  std::optional<Default> fallback;
  std::optional<Alias> alias;
  bool kwarg_only = false;
  bool is_out = false;  // keyword-only and written to: Tensor(a!) out
};

struct Return {
  std::string name;
  ArgType type;
  std::optional<Alias> alias;
};

struct Schema {
  std::string ns = "aten", name, overload;  // "add", "Tensor"
  std::vector<Argument> args;
  std::vector<Return> returns;
  bool varargs = false, varreturns = false;
  std::string qualified() const { return ns + "::" + name; }
  std::string text() const;  // normal form, as str(op._schema)
  bool is_mutable() const;
  bool returns_view() const;
};

Schema parse_schema(const std::string& text);  // Kind::Runtime with the position on a bad schema
ArgType parse_type(const std::string& text);
std::string type_text(const ArgType&, const std::optional<Alias>& = {});  // "Tensor(a!)[]"
std::string argument_text(const Argument&);

}  // namespace shim
