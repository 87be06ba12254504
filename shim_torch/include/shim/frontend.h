#pragma once
// torch/torch.h: extensions that are built by torch.utils.cpp_extension get their Python bindings with it.
#include <shim/torch.h>
#if defined(TORCH_API_INCLUDE_EXTENSION_H) && __has_include(<pybind11/pybind11.h>)
#include <shim/extension.h>
#endif
