#pragma once
#include <shim/absent.h>
#include <shim/checks.h>
#include <shim/classes.h>
#include <shim/dispatch_v2.h>
#include <shim/dispatcher.h>
#include <shim/library.h>
#include <shim/functional.h>
#include <shim/version.h>
namespace torch {
using Dtype = at::ScalarType;
using NoGradGuard = c10::NoGradGuard;
using at::from_blob;
using at::tensor;
inline void manual_seed(uint64_t seed) { shim::python<void>("manual_seed", int64_t(seed)); }
using at::get_num_threads;
using at::set_num_threads;
}  // namespace torch
