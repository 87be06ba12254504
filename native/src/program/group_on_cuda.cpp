#include "program/group_on_cuda.h"

#include <algorithm>

#include "cuda/nvrtc.h"
#include "program/run_cuda.h"
#include "program/run_cuda_rows.h"

namespace shim::program {

std::unique_ptr<GroupOnCuda> GroupOnCuda::of(const Group& g) {
  if (g.rows) return std::make_unique<CudaRows>(g);
  return std::make_unique<CudaGroup>(g);
}

bool GroupOnCuda::run(const Group& g, Storages storages, std::span<const Scalar> parameters) {
  if (g.numel() == 0) return true;
  if (dims_ > kDims || g.stores.size() > kMostStores) return false;
  GroupMemory memory;
  int vector = vector_;
  const auto address = [&](const Place& p) {
    char* at = static_cast<char*>(storages[size_t(p.storage)]->data()) + p.bytes;
    while (vector > 1 && p.in_vectors && reinterpret_cast<uintptr_t>(at) % (uintptr_t(vector) * uintptr_t(p.size)))
      vector /= 2;
    return at;
  };
  for (size_t k = 0; k < loads_.size(); ++k) memory.loads[k] = address(loads_[k]);
  for (size_t k = 0; k < stores_.size(); ++k) memory.stores[k] = address(stores_[k]);
  memory.put_numbers(g, parameters);
  const int device = g.device.index < 0 ? 0 : g.device.index;
  const auto [at, fresh] = functions_.try_emplace({device, vector}, nullptr);
  if (fresh) at->second = cuda::loaded_kernel(device, source(), macros(g, vector), entry());
  if (!at->second) return false;
  launch(at->second, memory, vector, device);
  return true;
}

bool computed_on_cuda(const Group& g) {
  return std::ranges::all_of(g.nodes, [](const Node& n) { return !n.cpu || known_on_cuda(n.op, n.count); });
}

std::string compile_group(const Group& g, int architecture) {
  const nvrtc::Compiled c = nvrtc::compile(GroupOnCuda::of(g)->specialisation(g), architecture);
  return c.cubin.empty() ? c.log : "";
}

}  // namespace shim::program
