#pragma once
#include <shim/library.h>
#include <shim/padding.h>
#include <shim/version.h>
namespace torch {
using Dtype = at::ScalarType;
using NoGradGuard = c10::NoGradGuard;
using at::from_blob;
using at::tensor;
}  // namespace torch
