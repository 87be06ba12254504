// Kernels of the operators in records/reduce, and of softmax.
#include <algorithm>

#include "cpu/distance.h"
#include "cpu/lookup.h"
#include "cpu/reduce.h"
#include "cpu/scan.h"
#include "cpu/statistics.h"
#include "cpu/unique.h"
#include "cuda/kthvalue.h"
#include "cuda/statistics.h"
#include "kernels/call.h"
#include "kernels/registry.h"

namespace shim {
namespace {

// One function a kind of arguments for each name: the schema picks.
template <KernelTraits traits> void put_reduction(const char* name, Reduction which) {
  static constexpr Reduction kinds[] = {Reduction::sum, Reduction::mean, Reduction::prod, Reduction::amax,
      Reduction::amin, Reduction::any, Reduction::all, Reduction::nansum};
  const Reduction* op = std::ranges::find(kinds, which);
  using Op = Registered<Reduction>;
  register_kernel<&reduce_all, traits>(name, op);
  register_kernel<&reduce_dims, traits>(name, op);
  register_kernel<&reduce_dim, traits>(name, op);
  register_kernel<[](Op op, const Tensor& self) { return reduce_all(op, self, std::nullopt); }, traits>(name, op);
  register_kernel<[](Op op, const Tensor& self, std::optional<IntArrayRef> dims, bool keepdim) {
    return reduce_dims(op, self, dims, keepdim, std::nullopt);
  },
      traits>(name, op);
  register_kernel<[](Op op, const Tensor& self, int64_t dim, bool keepdim) {
    return reduce_dim(op, self, dim, keepdim, std::nullopt);
  },
      traits>(name, op);
}

void register_reductions() {
  for (const char* name : {"sum", "sum_all"}) put_reduction<kAny>(name, Reduction::sum);
  for (const char* name : {"mean", "mean_all"}) put_reduction<kAny>(name, Reduction::mean);
  for (const char* name : {"any", "any_all", "any_dim"}) put_reduction<kAny>(name, Reduction::any);
  for (const char* name : {"all", "all_all", "all_dim"}) put_reduction<kAny>(name, Reduction::all);
  put_reduction<kAny>("amax", Reduction::amax);
  put_reduction<kAny>("amin", Reduction::amin);
  put_reduction<kAny>("prod", Reduction::prod);
  put_reduction<kAny>("nansum", Reduction::nansum);
  register_kernel<&softmax>("softmax");
  register_kernel<&log_softmax>("log_softmax");
}

void register_statistics() {
  register_kernel<&var, kCpu>("var");
  register_kernel<&cuda::var, kCuda>("var");
  register_kernel<&std_dev, kCpu>("std");
  register_kernel<&cuda::std_dev, kCuda>("std");
  register_kernel<&var_mean, kCpuWithoutHistory>("var_mean");
  register_kernel<&cuda::var_mean, kCudaWithoutHistory>("var_mean");
  register_kernel<&std_mean, kCpuWithoutHistory>("std_mean");
  register_kernel<&cuda::std_mean, kCudaWithoutHistory>("std_mean");
  register_kernel<&argmax, kCpu>("argmax");
  register_kernel<&cuda::argmax, kCuda>("argmax");
  register_kernel<&argmin, kCpu>("argmin");
  register_kernel<&cuda::argmin, kCuda>("argmin");
  register_kernel<&max_dim, kCpu>("max_dim");
  register_kernel<&cuda::max_dim, kCuda>("max_dim");
  register_kernel<&min_dim, kCpu>("min_dim");
  register_kernel<&cuda::min_dim, kCuda>("min_dim");
  register_kernel<&logsumexp, kCpu>("logsumexp");
  register_kernel<&cuda::logsumexp, kCuda>("logsumexp");
  register_kernel<&vector_norm, kCpu>("vector_norm");
  register_kernel<&cuda::vector_norm, kCuda>("vector_norm");
}

void register_running() {
  register_kernel<&cumsum, kCpu>("cumsum");
  register_kernel<&cuda::cumsum, kCuda>("cumsum");
  register_kernel<&cumprod, kCpu>("cumprod");
  register_kernel<&cuda::cumprod, kCuda>("cumprod");
  register_kernel<&cuda::logcumsumexp, kCuda>("logcumsumexp");
  register_kernel<&cummax, kCpu>("cummax");
  register_kernel<&cuda::cummax, kCuda>("cummax");
  register_kernel<&cummin, kCpu>("cummin");
  register_kernel<&cuda::cummin, kCuda>("cummin");
}

// A reduction by a list of dims for one of them, or for all.
template <auto F> Outcome<Tensor> of_one_dim(const Tensor& self, std::optional<int64_t> dim) {
  return F(self, dim ? IntArrayRef(&*dim, 1) : IntArrayRef{});
}

}  // namespace

void register_reduce_kernels() {
  register_reductions();
  register_statistics();
  register_running();
  register_kernel<&cuda::median, kCuda>("median");
  register_kernel<&cuda::median_dim, kCuda>("median");
  register_kernel<&count_nonzero, kCpu>("count_nonzero");
  register_kernel<&cuda::count_nonzero, kCuda>("count_nonzero");
  register_kernel<&of_one_dim<&count_nonzero>, kCpu>("count_nonzero");
  register_kernel<&of_one_dim<&cuda::count_nonzero>, kCuda>("count_nonzero");
  register_kernel<&unique, kCpu>("unique");
  register_kernel<&unique_consecutive, kCpu>("unique_consecutive");
  register_kernel<&cdist, kCpuWithoutHistory>("cdist");
  register_kernel<&searchsorted, kCpu>("searchsorted");
  register_kernel<&bucketize, kCpuWithoutHistory>("bucketize");
  register_kernel<&bincount, kCpu>("bincount");
  register_kernel<&histc, kCpu>("histc");
}

}  // namespace shim
