#pragma once
#include <cstddef>
#include <string>

namespace imports {

struct Function {
  const char* name;
  void* address;
};

// Loads the library `path` and makes it call `functions` in the place of those that it imports by these names; so too the
// libraries of the process that lie under `folder` ("": none). Returns how many references were set; -1 where it cannot be loaded.
long bind(const std::string& path, const std::string& folder, int flags, const Function* functions, size_t count);

}  // namespace imports
