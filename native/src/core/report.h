#pragma once
// What parts of the core tell about themselves: numbers and texts, in lists and by name.
#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace shim {

struct Fact {
  using List = std::vector<Fact>;
  using Named = std::vector<std::pair<std::string, Fact>>;
  struct Tuple {  // a list of a known length
    List items;
  };
  Fact(bool b) : value(b) {}
  template <std::integral T> Fact(T i) : value(int64_t(i)) {}
  Fact(double d) : value(d) {}
  Fact(const char* text) : value(std::string(text)) {}
  Fact(std::string text) : value(std::move(text)) {}
  Fact(List list) : value(std::move(list)) {}
  Fact(Named named) : value(std::move(named)) {}
  Fact(Tuple tuple) : value(std::move(tuple)) {}

  std::variant<bool, int64_t, double, std::string, List, Tuple, Named> value;
};

}  // namespace shim
