#include "cuda/functors.h"

#include <algorithm>
#include <unordered_map>

#include "cuda/kernel_files.h"

namespace shim::cuda {
namespace {

// What functors.cuh defines, by the operators' names: a functor ends in an underscore where CUDA has a function
// of its name.
class Functors {
 public:
  Functors() {
    for (const auto& [macro, inputs, extra, whole] : {Macro{"UNARY", 1}, Macro{"WHOLE", 1}, Macro{"BINARY", 2},
             Macro{"TEST", 2}, Macro{"NUMBERS1", 1, true}, Macro{"NUMBERS3", 3, true},
             Macro{"FUNCTION1", 1, false, Whole::to_float}, Macro{"FUNCTION2", 2, false, Whole::to_float},
             Macro{"PROMOTED2", 2, false, Whole::kept}, Macro{"PROMOTED3", 3, false, Whole::kept}})
      for (size_t at = 0; (at = find(std::string(macro) + "(", at)) != std::string_view::npos;)
        if (const std::string_view name = word(at); name != "Name") put(name, inputs, extra, whole);
    for (size_t at = 0; (at = find("\nstruct ", at)) != std::string_view::npos;) {
      const std::string_view name = word(at), line = text_.substr(at, text_.find('\n', at) - at);
      const size_t from = line.find(" f("), to = line.find(')', from);
      if (from == std::string_view::npos) continue;
      put(name, 1 + int(std::ranges::count(line.substr(from, to - from), ',')), false);
    }
    const size_t from = find("\nCOMPLEX(", 0), to = text_.find(')', from);
    for (size_t at = from; at < to; at = text_.find_first_of(" )", at) + 1)
      by_operator_.at(std::string(text_.substr(at, text_.find_first_of(" )", at) - at))).complex = true;
  }
  const Functor* find_operator(std::string_view op) const {
    const auto found = by_operator_.find(std::string(op));
    return found == by_operator_.end() ? nullptr : &found->second;
  }
  const std::unordered_map<std::string, Functor>& all() const { return by_operator_; }

 private:
  struct Macro {
    const char* name;
    int inputs;
    bool extra = false;
    Whole whole = Whole::declined;
  };
  size_t find(std::string_view what, size_t from) const {  // past it
    const size_t at = text_.find(what, from);
    return at == std::string_view::npos ? at : at + what.size();
  }
  std::string_view word(size_t at) const { return text_.substr(at, text_.find_first_of(",; {", at) - at); }
  void put(std::string_view name, int inputs, bool extra, Whole whole = Whole::declined) {
    const std::string_view op = name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
    const auto at = by_operator_.try_emplace(std::string(op)).first;
    at->second = {at->first.c_str(), std::string(name), inputs, extra, whole};
  }

  std::string_view text_ = kernel_file("cuda/kernels/functors.cuh");
  std::unordered_map<std::string, Functor> by_operator_;
};

const Functors& functors() {
  static const auto* all = new Functors;
  return *all;
}

}  // namespace

const Functor* functor_of(std::string_view op) { return functors().find_operator(op); }

std::vector<const Functor*> all_functors() {
  std::vector<const Functor*> all;
  for (const auto& [op, functor] : functors().all()) all.push_back(&functor);
  return all;
}

}  // namespace shim::cuda
