#include "program/run_cuda_rows.h"

#include <algorithm>

#include "cuda/kernel_store.h"
#include "cuda/launch.h"
#include "program/cuda_nodes.h"

namespace shim::program {
namespace {

struct Rows {  // as in fused_rows.cuh
  int64_t size[kDims] = {};
  int64_t load[kMostLoads][kDims] = {}, store[kMostStores][kDims] = {};
  int64_t load_step[kMostLoads] = {}, store_step[kMostStores] = {};
  int dims = 0;
};

constexpr int kWarp = 32, kMostOfAWarp = 8;  // accesses of a thread, above which a block has the row

// The nodes that these need, in order: all of them, or those that are computed for each element.
std::vector<bool> needed_by(const Group& g, std::vector<Source> wanted) {
  std::vector<bool> needed(g.nodes.size());
  for (const Source& s : wanted)
    if (s.kind == Source::node) needed[s.index] = true;
  for (size_t i = needed.size(); i-- > 0;) {
    if (!needed[i] || g.nodes[i].of_row) continue;
    for (int k = 0; k < g.nodes[i].count; ++k)
      if (g.nodes[i].args[k].kind == Source::node) needed[g.nodes[i].args[k].index] = true;
  }
  return needed;
}

std::string each_element(const Group& g, const std::vector<Source>& wanted) {
  const std::vector<bool> needed = needed_by(g, wanted);
  std::string text;
  for (size_t i = 0; i < needed.size(); ++i)
    if (needed[i] && !g.nodes[i].of_row) text += str("NODE(", i, ") ");
  return text;
}

const char* how(const Node& n) {
  const std::string_view name = n.op;
  return name == "sum" ? "total" : name == "mean" ? "average" : name == "amax" ? "largest" : "smallest";
}

}  // namespace

CudaRows::Place CudaRows::place(const TensorRef& r, size_t dims) const {
  Place p{r.storage, r.offset * int64_t(itemsize(r.dtype)), int64_t(itemsize(r.dtype)), steps_of(r, dims)};
  p.step = p.steps.back();
  p.steps.pop_back();
  std::ranges::reverse(p.steps);
  p.of_row = p.step == 0;
  return p;
}

// Dims that all walk in one step are one.
void CudaRows::join_dims(const Dims& shape) {
  std::vector<Place*> all;
  for (auto* places : {&loads_, &stores_})
    for (Place& p : *places) all.push_back(&p);
  std::vector<std::vector<int64_t>> steps(all.size());
  for (size_t d = 0; d + 1 < shape.size(); ++d) {
    const int64_t size = shape[shape.size() - 2 - d];
    if (size == 1) continue;
    bool joins = !outer_.empty();
    for (size_t k = 0; joins && k < all.size(); ++k) joins = all[k]->steps[d] == steps[k].back() * outer_.back();
    if (joins) {
      outer_.back() *= size;
      continue;
    }
    outer_.push_back(size);
    for (size_t k = 0; k < all.size(); ++k) steps[k].push_back(all[k]->steps[d]);
  }
  for (size_t k = 0; k < all.size(); ++k) all[k]->steps = std::move(steps[k]);
}

CudaRows::CudaRows(const Group& g) {
  for (const Load& l : g.loads) loads_.push_back(place(l.ref, g.shape.size()));
  for (const Store& s : g.stores) stores_.push_back(place(s.ref, g.shape.size()));
  columns_ = g.shape.back();
  rows_ = g.numel() / std::max<int64_t>(columns_, 1);
  join_dims(g.shape);
  int64_t widest = 1;
  for (const auto* places : {&loads_, &stores_})
    for (const Place& p : *places)
      if (!p.of_row) widest = std::max(widest, p.size);
  vector_ = int(16 / widest);
  const auto fits = [&](const Place& p) {
    const auto whole = [&](int64_t step) { return step % (vector_ * p.size) == 0; };
    return p.of_row || vector_ == 1 || (p.step == p.size && std::ranges::all_of(p.steps, whole));
  };
  const auto all_fit = [&] { return std::ranges::all_of(loads_, fits) && std::ranges::all_of(stores_, fits); };
  while (vector_ > 1 && (columns_ % vector_ || !all_fit())) vector_ /= 2;
  choose_threads();
}

void CudaRows::choose_threads() {
  const int64_t accesses = columns_ / vector_;
  warp_ = accesses <= kWarp * kMostOfAWarp;
  while (!warp_ && threads_ < 1024 && accesses > int64_t(threads_) * 4) threads_ *= 2;
}

std::vector<std::string> CudaRows::macros(const Group& g, int vector) const {
  std::vector<bool> one;
  for (const Place& p : loads_) one.push_back(p.of_row);
  std::vector<std::string> m = group_macros(g, one);
  std::string phases, gives, puts, row_puts;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    if (!n.of_row) continue;
    phases += n.row ? str("REDUCE(", i, ", ", how(n), ") ") : str("NODE(", i, ") ");
    if (n.row) m.push_back(str("BEFORE_", i, "=", each_element(g, {n.args[0]})));
  }
  std::vector<Source> given;
  for (size_t k = 0; k < stores_.size(); ++k) {
    if (stores_[k].of_row) {
      row_puts += str("ROW_PUT(", k, ") ");
      continue;
    }
    given.push_back(g.stores[k].value);
    gives += str("GIVE(", k, ") ");
    puts += str("PUT(", k, ") ");
  }
  for (std::string own : {str("V=", vector), str("WARP=", int(warp_)), str("THREADS=", threads_), "PHASES=" + phases,
           "LAST=" + each_element(g, given), "GIVES=" + gives, "PUTS=" + puts, "ROW_PUTS=" + row_puts})
    m.push_back(std::move(own));
  return m;
}

template <class Rows> void CudaRows::fill(Rows& s) const {
  s.dims = int(outer_.size());
  std::ranges::copy(outer_, s.size);
  const auto put = [](const Place& p, int64_t* to, int64_t& step) {
    for (size_t d = 0; d < p.steps.size(); ++d) to[d] = p.steps[d] / p.size;
    step = p.step / p.size;
  };
  for (size_t k = 0; k < loads_.size(); ++k) put(loads_[k], s.load[k], s.load_step[k]);
  for (size_t k = 0; k < stores_.size(); ++k) put(stores_[k], s.store[k], s.store_step[k]);
}

bool CudaRows::run(const Group& g, Storages storages, std::span<const Scalar> parameters) {
  if (g.numel() == 0) return true;
  if (outer_.size() > kDims || g.stores.size() > kMostStores) return false;
  GroupMemory memory;
  int vector = vector_;
  const auto address = [&](const Place& p) {
    char* at = static_cast<char*>(storages[size_t(p.storage)]->data()) + p.bytes;
    if (!p.of_row)
      while (vector > 1 && reinterpret_cast<uintptr_t>(at) % (uintptr_t(vector) * uintptr_t(p.size))) vector /= 2;
    return at;
  };
  for (size_t k = 0; k < loads_.size(); ++k) memory.loads[k] = address(loads_[k]);
  for (size_t k = 0; k < stores_.size(); ++k) memory.stores[k] = address(stores_[k]);
  memory.put_numbers(g, parameters);
  const int device = g.device.index < 0 ? 0 : g.device.index;
  const auto [at, fresh] = functions_.try_emplace({device, vector}, nullptr);
  if (fresh) at->second = cuda::loaded_kernel(device, "fused_rows", macros(g, vector), "fused_rows");
  if (!at->second) return false;
  Rows rows;
  fill(rows);
  int64_t count = rows_, columns = columns_;
  void* arguments[] = {&count, &columns, &memory, &rows};
  const int64_t of_a_block = warp_ ? threads_ / kWarp : 1;
  cuda::launch(at->second, (rows_ + of_a_block - 1) / of_a_block, 1, threads_, 1, arguments, device);
  return true;
}

}  // namespace shim::program
