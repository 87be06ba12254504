#pragma once
// What pointwise operators compute on CUDA: the functors of kernels/functors.cuh, by the operators' names.
#include <string>
#include <string_view>
#include <vector>

namespace shim::cuda {

enum class Whole { declined, to_float, kept };  // what a functor makes of whole numbers

struct Functor {   // of functors.cuh
  const char* op;  // whose functor it is; this address is the operator's own
  std::string name;
  int inputs;
  bool extra;  // takes up to three numbers besides
  Whole whole = Whole::declined;
  bool complex = false;  // takes complex numbers too
};
const Functor* functor_of(std::string_view op);  // null if there is none
std::vector<const Functor*> all_functors();

}  // namespace shim::cuda
