#include "program/run_cuda.h"

#include <algorithm>
#include <cstring>

#include "cpu/formulas.h"
#include "cuda/elementwise.h"
#include "cuda/kernel_store.h"
#include "cuda/launch.h"
#include "cuda/nvrtc.h"
#include "program/run_group.h"

namespace shim::program {
namespace {

constexpr size_t kDims = 8, kThreads = 256;

struct Memory {  // as in fused.cuh
  const void* loads[kMostLoads] = {};
  void* stores[kMostStores] = {};
  uint64_t numbers[kMostNumbers] = {};
};
struct Strides {
  int64_t size[kDims] = {};
  int64_t load[kMostLoads][kDims] = {}, store[kMostStores][kDims] = {};
  int dims = 0;
  uint32_t spread = 0;
};

// Programs of their own, or the element type of their result.
bool needs_more(std::string_view op) { return op.starts_with("igamma") || op == "bce_each" || op == "nextafter"; }

std::string operand_name(Source s) {
  const char kind = s.kind == Source::node ? 'v' : s.kind == Source::load ? 'i' : 'n';
  return str(kind, s.index);
}

// How fused.cuh calls a node's functor, and the functor.
void call_of(const Node& n, std::string* how, std::string* functor) {
  *functor = "copy_";
  if (!n.cpu) {
    const bool narrow = n.narrow != DType::undefined;
    *how = narrow ? "NARROW" : n.result == DType::b8 ? "TRUTH" : "CONVERT";
    if (narrow) *functor = cuda::element_type(n.narrow);
    return;
  }
  const cuda::Functor& f = *cuda::functor_of(n.op);
  *functor = f.name;
  if (std::string_view(n.op) == "div" && is_floating(n.in) && n.args[1].kind == Source::number) *functor = "div_number";
  *how = str(n.in == DType::b8 && n.result == DType::b8 ? "TRUTH" : "CALL", int(n.count));
  if (f.extra) *how = str("EXTRA", f.inputs == 1 ? 1 : pointwise_formula(n.op)->tensors);
}

void put_nodes(const Group& g, std::vector<std::string>& m) {
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    std::string how, functor;
    call_of(n, &how, &functor);
    m.push_back(str("F_", i, "=", how));
    m.push_back(str("OP_", i, "=", functor));
    m.push_back(str("C_", i, "=", cuda::compute_type(n.in)));
    m.push_back(str("R_", i, "=", cuda::compute_type(n.result)));
    for (int k = 0; k < 4; ++k)
      m.push_back(str("XYZW"[k], "_", i, "=", k < n.count ? operand_name(n.args[k]) : std::string("0")));
  }
}

}  // namespace

bool known_on_cuda(const char* op, int operands) {
  const cuda::Functor* f = needs_more(op) ? nullptr : cuda::functor_of(op);
  if (!f) return false;
  if (!f->extra) return f->inputs == operands;
  const PointwiseFormula* formula = pointwise_formula(op);
  return f->inputs == 1 ? operands <= 4 : formula && formula->tensors >= 2 && formula->tensors <= 3;
}

CudaGroup::CudaGroup(const Group& g) : nest_(g) {
  for (int64_t s : nest_.sizes) elements_ *= s;
  int64_t widest = 1;
  // Whether an operand is read or written in vectors of the layout; the innermost loop's neighbours are next to each other then.
  const auto place = [&](const TensorRef& r, const std::vector<int64_t>& steps, std::vector<Place>& into) {
    const auto size = int64_t(itemsize(r.dtype));
    const bool one = GroupNest::one(steps);
    if (!one && !nest_.packed(steps, size)) flat_ = false;
    into.push_back({r.storage, r.offset * size, !one && steps[0] != 0, size});
    widest = std::max(widest, one ? 1 : size);
  };
  for (size_t k = 0; k < g.stores.size(); ++k) place(g.stores[k].ref, nest_.stores[k], stores_);
  for (size_t k = 0; k < g.loads.size(); ++k) place(g.loads[k].ref, nest_.loads[k], loads_);
  vector_ = nest_.sizes.empty() ? 1 : int(16 / widest);
  if (flat_) return;
  const auto limit = [&](const std::vector<Place>& places, const std::vector<std::vector<int64_t>>& steps) {
    for (size_t k = 0; k < places.size(); ++k) {
      if (!places[k].aligned_to) continue;
      if (steps[k][0] != places[k].size) vector_ = 1;
      for (size_t d = 1; d < nest_.sizes.size(); ++d)
        while (vector_ > 1 && steps[k][d] % (vector_ * places[k].size)) vector_ /= 2;
    }
  };
  limit(stores_, nest_.stores);
  limit(loads_, nest_.loads);
  while (vector_ > 1 && nest_.sizes[0] % vector_) vector_ /= 2;
  wide_ = elements_ >= int64_t(1) << 31;
}

template <class Strides> void CudaGroup::fill(Strides& s, int vector) const {
  s.dims = int(nest_.sizes.size());
  const auto steps = [&](const Place& p, const std::vector<int64_t>& from, int64_t* to) {
    for (size_t d = 0; d < from.size(); ++d) to[d] = from[d] / p.size * (d ? 1 : vector);
  };
  for (int d = 0; d < s.dims; ++d) s.size[d] = d ? nest_.sizes[size_t(d)] : nest_.sizes[0] / vector;
  for (size_t k = 0; k < stores_.size(); ++k) steps(stores_[k], nest_.stores[k], s.store[k]);
  for (size_t k = 0; k < loads_.size(); ++k) {
    steps(loads_[k], nest_.loads[k], s.load[k]);
    s.spread |= uint32_t(!loads_[k].aligned_to) << k;
  }
}

std::vector<std::string> CudaGroup::macros(const Group& g, int vector) const {
  std::vector<std::string> m = {str("LOADS=", g.loads.size()), str("STORES=", g.stores.size()),
      str("NUMBERS=", g.numbers.size()), str("NODES=", g.nodes.size()), str("V=", vector), str("FLAT=", int(flat_)),
      str("WIDE=", int(wide_))};
  for (size_t k = 0; k < g.loads.size(); ++k) {
    m.push_back(str("T_I", k, "=", cuda::element_type(g.loads[k].ref.dtype)));
    m.push_back(str("C_I", k, "=", cuda::compute_type(g.loads[k].as)));
    m.push_back(str("K_I", k, "=", int(GroupNest::one(nest_.loads[k]))));
  }
  for (size_t k = 0; k < g.numbers.size(); ++k) m.push_back(str("C_N", k, "=", cuda::compute_type(g.numbers[k].in)));
  put_nodes(g, m);
  const char* rough = nullptr;  // where all results are narrow, cheaper functions do
  for (size_t k = 0; k < g.stores.size(); ++k) {
    const char* type = cuda::element_type(g.stores[k].ref.dtype);
    m.push_back(str("T_O", k, "=", type));
    m.push_back(str("V_O", k, "=", operand_name(g.stores[k].value)));
    const bool narrow = g.stores[k].ref.dtype == DType::bf16 || g.stores[k].ref.dtype == DType::f16;
    rough = narrow && (k == 0 || rough) ? type : nullptr;
  }
  m.push_back(str("T0=", rough ? rough : "float"));
  return m;
}

bool CudaGroup::run(const Group& g, Storages storages, std::span<const Scalar> parameters) {
  if (g.numel() == 0) return true;
  if ((!flat_ && nest_.sizes.size() > kDims) || g.stores.size() > kMostStores) return false;
  Memory memory;
  int vector = vector_;
  const auto address = [&](const Place& p) {
    char* at = static_cast<char*>(storages[size_t(p.storage)]->data()) + p.bytes;
    while (vector > 1 && p.aligned_to && reinterpret_cast<uintptr_t>(at) % (uintptr_t(vector) * uintptr_t(p.size)))
      vector /= 2;
    return at;
  };
  for (size_t k = 0; k < loads_.size(); ++k) memory.loads[k] = address(loads_[k]);
  for (size_t k = 0; k < stores_.size(); ++k) memory.stores[k] = address(stores_[k]);
  for (size_t k = 0; k < g.numbers.size(); ++k) {
    alignas(16) char bytes[16] = {};
    number_bytes(g.numbers[k], parameters, bytes);
    std::memcpy(&memory.numbers[k], bytes, 8);
  }
  const int device = g.device.index < 0 ? 0 : g.device.index;
  const auto [at, fresh] = functions_.try_emplace({device, vector}, nullptr);
  if (fresh) at->second = cuda::loaded_kernel(device, "fused", macros(g, vector), entry());
  if (!at->second) return false;
  int64_t n = flat_ ? elements_ : elements_ / vector;
  const int64_t each = flat_ ? int64_t(kThreads) * vector : int64_t(kThreads);
  Strides strides;
  void* arguments[] = {&n, &memory, &strides};
  if (!flat_) fill(strides, vector);
  const int64_t blocks = (n + each - 1) / each;
  cuda::launch(at->second, flat_ ? blocks : std::min(blocks, cuda::kGridBlocks), 1, kThreads, 1, arguments, device);
  return true;
}

bool computed_on_cuda(const Group& g) {
  return std::ranges::all_of(g.nodes, [](const Node& n) { return !n.cpu || known_on_cuda(n.op, n.count); });
}

std::string compile_group(const Group& g, int architecture) {
  const CudaGroup group(g);
  const nvrtc::Compiled c =
      nvrtc::compile(cuda::Specialisation::of("fused", group.macros(g, group.vector())), architecture);
  return c.cubin.empty() ? c.log : "";
}

}  // namespace shim::program
