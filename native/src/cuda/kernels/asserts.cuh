#pragma once
// Device-side asserts: the first thread whose values are wrong says so to the host (cuda/device_failure.h), and the kernel ends as by
// PyTorch's assertions. Only the failing path does more than a comparison.
#include "cuda/kernels/types.cuh"
#include "cuda/assert_sites.h"

using shim::cuda::AssertRecord;
using shim::cuda::AssertSite;

__device__ AssertRecord* assert_record;  // in the host's memory
__device__ u32 assert_taken;
// Run once, when the program has been loaded: a variable without a linkage of its own cannot be found from outside.
extern "C" __global__ void set_assert_record(AssertRecord* record) { assert_record = record; }

__device__ inline void assert_failed(AssertSite site, i64 value, i64 bound) {
  AssertRecord* r = assert_record;
  if (r && atomicCAS(&assert_taken, 0u, 1u) == 0) {
    if (atomicCAS_system(&r->taken, 0, 1) == 0) {
      r->value = value;
      r->bound = bound;
      r->block[0] = blockIdx.x, r->block[1] = blockIdx.y, r->block[2] = blockIdx.z;
      r->thread[0] = threadIdx.x, r->thread[1] = threadIdx.y, r->thread[2] = threadIdx.z;
      __threadfence_system();
      *const_cast<volatile int*>(&r->site) = int(site);
      __threadfence_system();
    }
  } else if (r) {  // a trap stops every thread: the first one is given the time to write
#pragma unroll 1
    for (int turns = 0; turns < 1000; ++turns) __nanosleep(1000);
  }
  __trap();
}
// A call, for kernels that check many elements at once: registers are scarce there.
__device__ __noinline__ void assert_failed(AssertSite site, double value) {
  assert_failed(site, __double_as_longlong(value), 0);
}
