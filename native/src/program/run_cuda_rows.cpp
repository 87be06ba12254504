#include "program/run_cuda_rows.h"

#include <algorithm>

#include "cuda/launch.h"

namespace shim::program {
namespace {

struct Rows {  // as in fused_rows.cuh
  int64_t size[kDims] = {};
  int64_t load[kMostLoads][kDims] = {}, store[kMostStores][kDims] = {};
  int64_t load_step[kMostLoads] = {}, store_step[kMostStores] = {};
  int dims = 0;
};

constexpr int kWarp = 32, kMostOfAWarp = 8;  // accesses of a thread, above which a block has the row

// The nodes of each element that these values need, in order.
std::string each_element(const Group& g, const std::vector<Source>& wanted) {
  std::vector<bool> needed(g.nodes.size());
  const auto need = [&](Source s) {
    if (s.kind == Source::node && !g.nodes[s.index].of_row) needed[s.index] = true;
  };
  std::ranges::for_each(wanted, need);
  for (size_t i = needed.size(); i-- > 0;)
    if (needed[i]) std::for_each_n(g.nodes[i].args, g.nodes[i].count, need);
  std::string text;
  for (size_t i = 0; i < needed.size(); ++i)
    if (needed[i]) text += str("NODE(", i, ") ");
  return text;
}

const char* how(const Node& n) {
  const std::string_view name = n.op;
  return name == "sum" ? "total" : name == "mean" ? "average" : name == "amax" ? "largest" : "smallest";
}

}  // namespace

void CudaRows::place(const TensorRef& r, size_t dims, std::vector<Place>& places, std::vector<Steps>& all) {
  const auto size = int64_t(itemsize(r.dtype));
  Steps steps{steps_of(r, dims)};
  steps.along = steps.outer.back();
  steps.outer.pop_back();
  std::ranges::reverse(steps.outer);
  places.push_back({r.storage, r.offset * size, size, steps.along != 0});  // else it is one element a row
  all.push_back(std::move(steps));
}

// Dims that all walk in one step are one.
void CudaRows::join_dims(const Dims& shape) {
  std::vector<Steps*> all;
  for (auto* steps : {&load_steps_, &store_steps_})
    for (Steps& s : *steps) all.push_back(&s);
  std::vector<std::vector<int64_t>> joined(all.size());
  for (size_t d = 0; d + 1 < shape.size(); ++d) {
    const int64_t size = shape[shape.size() - 2 - d];
    if (size == 1) continue;
    bool joins = !outer_.empty();
    for (size_t k = 0; joins && k < all.size(); ++k) joins = all[k]->outer[d] == joined[k].back() * outer_.back();
    if (joins) {
      outer_.back() *= size;
      continue;
    }
    outer_.push_back(size);
    for (size_t k = 0; k < all.size(); ++k) joined[k].push_back(all[k]->outer[d]);
  }
  for (size_t k = 0; k < all.size(); ++k) all[k]->outer = std::move(joined[k]);
}

CudaRows::CudaRows(const Group& g) {
  for (const Load& l : g.loads) place(l.ref, g.shape.size(), loads_, load_steps_);
  for (const Store& s : g.stores) place(s.ref, g.shape.size(), stores_, store_steps_);
  columns_ = g.shape.back();
  rows_ = g.numel() / std::max<int64_t>(columns_, 1);
  join_dims(g.shape);
  dims_ = outer_.size();
  choose_vector();
  choose_threads();
}

// As many elements as fill 16 bytes of the widest, where all that is read and written in them lies so.
void CudaRows::choose_vector() {
  int64_t widest = 1;
  for (const auto* places : {&loads_, &stores_})
    for (const Place& p : *places)
      if (p.in_vectors) widest = std::max(widest, p.size);
  vector_ = int(16 / widest);
  const auto fits = [&](const std::vector<Place>& places, const std::vector<Steps>& steps) {
    for (size_t k = 0; k < places.size(); ++k) {
      const auto whole = [&](int64_t step) { return step % (vector_ * places[k].size) == 0; };
      if (places[k].in_vectors && (steps[k].along != places[k].size || !std::ranges::all_of(steps[k].outer, whole)))
        return false;
    }
    return true;
  };
  while (vector_ > 1 && (columns_ % vector_ || !fits(loads_, load_steps_) || !fits(stores_, store_steps_)))
    vector_ /= 2;
}

void CudaRows::choose_threads() {
  const int64_t accesses = columns_ / vector_;
  warp_ = accesses <= kWarp * kMostOfAWarp;
  while (!warp_ && threads_ < 1024 && accesses > int64_t(threads_) * 4) threads_ *= 2;
}

std::vector<std::string> CudaRows::macros(const Group& g, int vector) const {
  std::vector<Loaded> kinds;
  for (const Place& p : loads_) kinds.push_back(p.in_vectors ? Loaded::each : Loaded::one);
  std::vector<std::string> m = group_macros(g, kinds);
  std::string phases, gives, puts, row_puts;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    if (!n.of_row) continue;
    phases += n.row ? str("REDUCE(", i, ", ", how(n), ") ") : str("NODE(", i, ") ");
    if (n.row) m.push_back(str("BEFORE_", i, "=", each_element(g, {n.args[0]})));
  }
  std::vector<Source> given;
  for (size_t k = 0; k < stores_.size(); ++k) {
    if (!stores_[k].in_vectors) {
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
  const auto put = [](const Place& p, const Steps& steps, int64_t* to, int64_t& along) {
    for (size_t d = 0; d < steps.outer.size(); ++d) to[d] = steps.outer[d] / p.size;
    along = steps.along / p.size;
  };
  for (size_t k = 0; k < loads_.size(); ++k) put(loads_[k], load_steps_[k], s.load[k], s.load_step[k]);
  for (size_t k = 0; k < stores_.size(); ++k) put(stores_[k], store_steps_[k], s.store[k], s.store_step[k]);
}

void CudaRows::launch(cuda::CUfunction f, GroupMemory& memory, int, int device) const {
  Rows rows;
  fill(rows);
  int64_t count = rows_, columns = columns_;
  void* arguments[] = {&count, &columns, &memory, &rows};
  const int64_t of_a_block = warp_ ? threads_ / kWarp : 1;
  cuda::launch(f, (rows_ + of_a_block - 1) / of_a_block, 1, threads_, 1, arguments, device);
}

}  // namespace shim::program
