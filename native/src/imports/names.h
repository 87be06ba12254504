#pragma once
// Names of modules.
#include <string_view>

namespace imports {

// Whether f(name) is true of a module or of a package that it lies in: of a.b.c, a.b and a.
template <class F> bool any_package(std::string_view module, F&& f) {
  for (size_t end = 0; end != module.npos;) {
    end = module.find('.', end ? end + 1 : 0);
    if (f(module.substr(0, end))) return true;
  }
  return false;
}

// Whether a module is PyTorch's by its absolute name.
inline bool is_torch(std::string_view name) {
  const std::string_view top = name.substr(0, name.find('.'));
  return top == "torch" || top == "functorch";
}

}  // namespace imports
