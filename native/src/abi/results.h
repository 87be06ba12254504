#pragma once
// The cells of a call's results, of either interface.
#include <span>

#include "ops/schema.h"
#include "ops/value.h"

namespace shim::abi {

// A cell of each result: make(value, type). Those that are made are released, release(cell, type), where one fails. `wanted`: how
// many cells there are; none: nobody asks.
template <class C, class Make, class Release>
void put_results(const Schema& s, const Value& result, std::span<C> wanted, Make make, Release release) {
  const size_t n = s.returns.size();
  if (wanted.empty()) return;
  if (n == 1 && wanted.size() == 1) {
    wanted[0] = make(result, s.returns[0].type);
    return;
  }
  CHECK(Kind::Runtime, wanted.size() == n && result.tag == Value::list && result.size == n, s.qualified(), " returned ",
      result.type_name(), " where ", wanted.size(), " values are expected");
  size_t made = 0;
  try {
    for (; made < n; ++made) wanted[made] = make(result.items[made], s.returns[made].type);
  } catch (...) {
    while (made--) release(wanted[made], s.returns[made].type);
    throw;
  }
}

}  // namespace shim::abi
