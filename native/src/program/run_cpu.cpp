#include <algorithm>
#include <cstring>
#include <utility>

#include "cpu/parallel.h"
#include "cpu/pointwise.h"
#include "program/nest.h"
#include "program/run_group.h"

namespace shim::program {
namespace {

constexpr int64_t kLeastBlock = 1024;      // elements: of fewer, calls of loops take a good part of the time
constexpr int64_t kCacheBytes = 24 << 10;  // of all buffers of a block

// Whether a store takes the load as it is while another one writes to where it comes from: it is copied before they do.
bool stored_and_written(const Group& g, size_t load) {
  const Source value{Source::load, uint16_t(load)};
  const auto takes = [&](const Store& s) { return s.value == value; };
  const auto writes = [&](const Store& s) { return s.ref.storage == g.loads[load].ref.storage; };
  return std::ranges::any_of(g.stores, takes) && std::ranges::any_of(g.stores, writes);
}

}  // namespace

CpuGroup::CpuGroup(const Group& g) {
  const GroupNest nest(g);
  sizes_ = nest.sizes;
  const auto move = [&](const std::vector<int64_t>& steps, const TensorRef& r, DType from, DType to) {
    const auto size = int64_t(itemsize(r.dtype));
    return Move{steps, converter(from, to), size, nest.packed(steps, size), GroupNest::one(steps), from == to};
  };
  for (size_t k = 0; k < g.stores.size(); ++k)
    stores_.push_back(move(nest.stores[k], g.stores[k].ref, g.stores[k].from, g.stores[k].ref.dtype));
  for (size_t k = 0; k < g.loads.size(); ++k) {
    loads_.push_back(move(nest.loads[k], g.loads[k].ref, g.loads[k].ref.dtype, g.loads[k].as));
    if (stored_and_written(g, k)) loads_.back().as_it_is = false;
  }
  place_nodes(g, [&](size_t s, size_t node) {
    return stores_[s].packed && stores_[s].as_it_is && !read_later(g, g.stores[s].ref, node);
  });
  const auto in_buffers = int64_t(size_t(buffers_) + g.loads.size() + g.numbers.size() + g.stores.size());
  block_ = std::clamp<int64_t>(kCacheBytes / (element_ * in_buffers) / 64 * 64, kLeastBlock, 4096);
}

// Whether a node after the i-th reads the memory itself, as its own load: a loop must not write there before.
bool CpuGroup::read_later(const Group& g, const TensorRef& ref, size_t i) const {
  for (size_t l = 0; l < g.loads.size(); ++l) {
    if (g.loads[l].ref.storage != ref.storage) continue;
    const Source load{Source::load, uint16_t(l)};
    for (size_t n = i + 1; n < g.nodes.size(); ++n)
      for (int k = 0; k < g.nodes[n].count; ++k)
        if (g.nodes[n].args[k] == load) return true;
    for (const Store& s : g.stores)
      if (s.value == load) return true;
  }
  return false;
}

struct BlockRun {  // of one thread
  const CpuGroup& c;
  const Group& g;
  const Few<char*, kMostLoads>& loads;
  const Few<char*, kMostStores>& stores;
  char* base;
  Few<const char*, kMostLoads> load_at;  // of the block
  Few<const char*, kMostNumbers> number_at;
  int64_t digits[kMaxDims];  // of a place, along the dims but the innermost

  BlockRun(const CpuGroup& group, const Group& of, const CpuOperands& operands, int64_t elements)
      : c(group), g(of), loads(operands.loads), stores(operands.stores) {
    const int64_t most = std::min(c.block_, elements);
    const size_t count = size_t(c.buffers_) + g.loads.size() + g.numbers.size() + 1;
    thread_local std::vector<char> memory;  // no kernel in here runs another group
    if (const size_t bytes = count * size_t(c.block_ * c.element_) + 64; memory.size() < bytes) memory.resize(bytes);
    base = memory.data() + 64 - reinterpret_cast<uintptr_t>(memory.data()) % 64;
    for (size_t k = 0; k < g.numbers.size(); ++k) {
      char* to_fill = buffer(c.buffers_ + int(g.loads.size() + k));
      fill_packed(operands.numbers[k].bytes, to_fill, itemsize(g.numbers[k].in), most);
      number_at.push_back(to_fill);
    }
    for (size_t k = 0; k < g.loads.size(); ++k) {
      load_at.push_back(nullptr);
      if (!c.loads_[k].one) continue;
      char* one = buffer(c.buffers_ + int(k));
      alignas(16) char element[16];
      (*c.loads_[k].conversion)(loads[k], 0, element, 0, 1);
      fill_packed(element, one, itemsize(g.loads[k].as), most);
      load_at[k] = one;
    }
  }
  char* buffer(int i) { return base + int64_t(i) * c.block_ * c.element_; }
  char* scratch() { return buffer(c.buffers_ + int(g.loads.size() + g.numbers.size())); }

  // f(address, offset of the first, count) for the innermost loops that elements [at, at + n) are of.
  template <class F> void rows(const CpuGroup::Move& m, char* data, int64_t at, int64_t n, F&& f) {
    const int64_t inner = c.sizes_[0];
    int64_t first = at % inner, rest = at / inner;
    for (size_t d = 1; d < c.sizes_.size(); ++d) {
      digits[d] = rest % c.sizes_[d];
      rest /= c.sizes_[d];
      data += digits[d] * m.steps[d];
    }
    for (int64_t done = 0; done < n; first = 0) {
      const int64_t count = std::min(inner - first, n - done);
      f(data + first * m.steps[0], done, count);
      done += count;
      for (size_t d = 1; d < c.sizes_.size(); ++d) {
        data += m.steps[d];
        if (++digits[d] < c.sizes_[d]) break;
        data -= m.steps[d] * std::exchange(digits[d], 0);  // the next dim's turn
      }
    }
  }
  void load(size_t k, int64_t at, int64_t n) {
    const CpuGroup::Move& m = c.loads_[k];
    if (m.one) return;
    char* to = buffer(c.buffers_ + int(k));
    load_at[k] = to;
    if (m.packed && m.as_it_is) {
      load_at[k] = loads[k] + at * m.size;
    } else if (m.packed) {
      (*m.conversion)(loads[k] + at * m.size, m.size, to, int64_t(itemsize(g.loads[k].as)), n);
    } else {
      const auto size = int64_t(itemsize(g.loads[k].as));
      rows(m, loads[k], at, n, [&](const char* p, int64_t done, int64_t count) {
        (*m.conversion)(p, m.steps[0], to + done * size, size, count);
      });
    }
  }
  const char* value(Source s, int64_t at) {
    if (s.kind == Source::load) return load_at[s.index];
    if (s.kind == Source::number) return number_at[s.index];
    return c.direct_[s.index] >= 0
               ? stores[size_t(c.direct_[s.index])] + at * c.stores_[size_t(c.direct_[s.index])].size
               : buffer(c.places_[s.index]);
  }
  void compute(size_t i, int64_t at, int64_t n) {
    const Node& node = g.nodes[i];
    const char* in[4];
    for (int k = 0; k < node.count; ++k) in[k] = value(node.args[k], at);
    char* out = const_cast<char*>(value({Source::node, uint16_t(i)}, at));
    if (node.cpu) return node.cpu(out, in, n);
    const auto from = int64_t(itemsize(node.in)), to = int64_t(itemsize(node.result));
    if (!c.back_[i]) return (*c.to_[i])(in[0], from, out, to, n);
    const auto narrow = int64_t(itemsize(node.narrow));
    (*c.to_[i])(in[0], from, scratch(), narrow, n);
    (*c.back_[i])(scratch(), narrow, out, to, n);
  }
  void store(size_t k, int64_t at, int64_t n) {
    const CpuGroup::Move& m = c.stores_[k];
    const Source v = g.stores[k].value;
    if (v.kind == Source::node && c.direct_[v.index] == int(k)) return;
    const char* from = value(v, at);
    const auto size = int64_t(itemsize(g.stores[k].from));
    if (m.packed) return (*m.conversion)(from, size, stores[k] + at * m.size, m.size, n);
    rows(m, stores[k], at, n,
        [&](char* p, int64_t done, int64_t count) { (*m.conversion)(from + done * size, size, p, m.steps[0], count); });
  }
  void run(int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += c.block_) {
      const int64_t n = std::min(c.block_, end - at);
      for (size_t k = 0; k < g.loads.size(); ++k) load(k, at, n);
      for (size_t i = 0; i < g.nodes.size(); ++i) compute(i, at, n);
      for (size_t k = 0; k < g.stores.size(); ++k) store(k, at, n);
    }
  }
};

CpuOperands::CpuOperands(const Group& g, Storages storages, std::span<const Scalar> parameters) {
  const auto address = [&](const TensorRef& r) {
    return static_cast<char*>(storages[size_t(r.storage)]->data()) + r.offset * int64_t(itemsize(r.dtype));
  };
  for (const Load& l : g.loads) loads.push_back(address(l.ref));
  for (const Store& s : g.stores) stores.push_back(address(s.ref));
  for (const Number& n : g.numbers) {
    Bytes b;
    number_bytes(n, parameters, b.bytes);
    numbers.push_back(b);
  }
}

void CpuGroup::run(const Group& g, Storages storages, std::span<const Scalar> parameters) const {
  const int64_t n = g.numel();
  if (n == 0) return;
  const CpuOperands operands(g, storages, parameters);
  if (n <= block_) return BlockRun(*this, g, operands, n).run(0, n);
  unlocked(n, [&] {
    parallel_for(n, std::max(kGrain / int64_t(1 + g.nodes.size() / 2), block_),
        [&](int64_t begin, int64_t end) { BlockRun(*this, g, operands, end - begin).run(begin, end); });
  });
}

void number_bytes(const Number& number, std::span<const Scalar> parameters, char* bytes) {
  const Scalar v = number.parameter < 0 ? number.value : parameters[size_t(number.parameter)];
  store_number(bytes, number.in, rounded(v, number.rounded));
}

}  // namespace shim::program
