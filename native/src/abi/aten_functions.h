#pragma once
// The C functions of ATen operators, as torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h and c_shim_cuda.h of
// PyTorch 2.13 declare them: name, operator, overload, C arguments. They run the operator of that name, whatever device
// its tensors are on.
#include "abi/aten_call.h"

#define SHIM_ATEN_ONE(symbol, name, overload, params, ...) \
  SHIM_EXPORT Err symbol params { return aten("aten::" name, overload, __VA_ARGS__); }
#define SHIM_CPU(symbol, name, overload, params, ...) \
  SHIM_ATEN_ONE(aoti_torch_cpu_##symbol, name, overload, params, __VA_ARGS__)
#define SHIM_CUDA(symbol, name, overload, params, ...) \
  SHIM_ATEN_ONE(aoti_torch_cuda_##symbol, name, overload, params, __VA_ARGS__)
#define SHIM_ATEN(symbol, name, overload, params, ...)  \
  SHIM_CPU(symbol, name, overload, params, __VA_ARGS__) \
  SHIM_CUDA(symbol, name, overload, params, __VA_ARGS__)
