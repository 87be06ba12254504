#pragma once
// The kernels of rows.cuh and its parts, by what they are compiled for.
#include "cuda/elementwise.h"

namespace shim::cuda {

inline const Family rows_family{"rows"};

struct Pick {  // what picks a kernel
  DType t, compute, out;
  int vector = 1, kept = 0;
  const char* macro;  // "LOG=1": which part of the source, and its setting
};

template <class E> Kernel<E> rows_kernel(const Pick& p, int device) {
  const uint64_t key = key_of(int(p.t), int(p.compute), int(p.out), p.vector, p.kept, int(p.macro[0] - 'A'),
      int(p.macro[std::char_traits<char>::length(p.macro) - 1] - '0'));
  return find_kernel<E>(rows_family, key, device, [&] {
    return std::vector<std::string>{std::string("ELEMENT=") + element_type(p.t),
        std::string("C=") + compute_type(p.compute), std::string("OUT=") + element_type(p.out),
        "V=" + std::to_string(p.vector), "LOADS=" + std::to_string(p.kept), p.macro};
  });
}

}  // namespace shim::cuda
