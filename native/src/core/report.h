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
  Fact(const char* text);
  Fact(std::string text);
  Fact(List list);
  Fact(Named named);
  Fact(Tuple tuple);
  // Not inline: many files report, and each would have all of a variant's functions.
  Fact(const Fact&);
  Fact(Fact&&) noexcept;
  Fact& operator=(const Fact&);
  Fact& operator=(Fact&&) noexcept;
  ~Fact();

  std::variant<bool, int64_t, double, std::string, List, Tuple, Named> value;
};

}  // namespace shim
