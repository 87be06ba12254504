#pragma once
// Which temporaries are there when.
#include "program/program.h"

namespace shim::program {

struct Live {
  std::vector<std::vector<size_t>> uses;  // of each storage: the items that read or write it, in order
  std::vector<size_t> bytes;              // during each item, of all that the program makes
  size_t peak = 0;                        // the item where most are
};

// Of items whose groups may have stores that nobody needs, which are left out.
Live live(const Steps&, const std::vector<Item>&);

}  // namespace shim::program
