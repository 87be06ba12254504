#include <algorithm>

#include "cpu/parallel.h"
#include "program/nest.h"
#include "program/run_group.h"

namespace shim::program {
namespace {

constexpr int64_t kAtOnce = 2048;  // elements of a block of rows

bool one_a_row(const TensorRef& r) { return r.sizes.empty() || r.sizes[r.sizes.size() - 1] == 1; }

bool is_stored_to(const Group& g, int32_t storage) {
  return std::ranges::any_of(g.stores, [&](const Store& s) { return s.ref.storage == storage; });
}

}  // namespace

CpuRows::CpuRows(const Group& g) : outer_(g.shape), spread_(g.nodes.size(), -1) {
  columns_ = outer_.back();
  outer_.pop_back();
  rows_ = product(outer_);
  at_once_ = std::clamp<int64_t>(kAtOnce / columns_, 1, rows_);
  const auto move = [&](const TensorRef& r, DType from, DType to) {
    Move m;
    m.steps = steps_of(r, g.shape.size());
    m.step = m.steps.back();
    m.steps.pop_back();
    m.size = int64_t(itemsize(r.dtype));
    m.conversion = converter(from, to);
    m.of_row = one_a_row(r);
    m.as_it_is = from == to && !is_stored_to(g, r.storage);
    m.packed = !m.of_row && m.step == m.size;
    m.same = !m.of_row && std::ranges::all_of(m.steps, [](int64_t s) { return s == 0; });
    int64_t row = columns_ * m.size;
    for (size_t d = outer_.size(); d-- > 0; row *= outer_[d])
      m.packed = m.packed && (m.steps[d] == row || outer_[d] == 1);
    return m;
  };
  for (const Load& l : g.loads) loads_.push_back(move(l.ref, l.ref.dtype, l.as));
  for (const Store& s : g.stores) stores_.push_back(move(s.ref, s.from, s.ref.dtype));
  const auto spread = [&](Source s) {
    int* wide = nullptr;
    if (s.kind == Source::load && loads_[s.index].of_row) wide = &loads_[s.index].spread;
    if (s.kind == Source::node && g.nodes[s.index].of_row) wide = &spread_[s.index];
    if (wide && *wide < 0) *wide = spreads_++;
  };
  const auto narrow = [&](Source s) {
    return s.kind == Source::load ? loads_[s.index].of_row : s.kind == Source::node && g.nodes[s.index].of_row;
  };
  for (const Node& n : g.nodes) {
    WithNumber with;
    const bool whole = !n.of_row || n.row;
    if (whole && !n.row && n.cpu && n.count == 2 && narrow(n.args[0]) != narrow(n.args[1])) {
      with.number = narrow(n.args[1]);
      with.loop = n.in == n.result ? row_scalar(n.op, !with.number, n.in) : nullptr;
    }
    with_number_.push_back(with);
    for (int k = 0; k < n.count && whole; ++k)
      if (!with.loop || k != with.number) spread(n.args[k]);
  }
  for (size_t k = 0; k < stores_.size(); ++k)
    if (!stores_[k].of_row) spread(g.stores[k].value);
  place_nodes(g, [&](size_t s, size_t node) {
    return stores_[s].packed && g.stores[s].from == g.stores[s].ref.dtype && !g.nodes[node].of_row;
  });
}

struct RowRun {  // of one thread
  const CpuRows& c;
  const Group& g;
  int64_t row = 0, filled = 0;  // the first of the block; rows of what is the same for all
  const Few<char*, kMostLoads>& loads;
  const Few<char*, kMostStores>& stores;
  char* base;
  Few<const char*, kMostLoads> load_at;
  Few<const char*, kMostNumbers> number_at;

  RowRun(const CpuRows& rows, const Group& of, const CpuOperands& operands)
      : c(rows), g(of), loads(operands.loads), stores(operands.stores) {
    const size_t count = of_numbers() + g.numbers.size() + 1;
    thread_local std::vector<char> memory;  // no kernel in here runs another group
    if (const size_t bytes = count * size_t(bytes_of_buffer()) + 64; memory.size() < bytes) memory.resize(bytes);
    base = memory.data() + 64 - reinterpret_cast<uintptr_t>(memory.data()) % 64;
    for (size_t k = 0; k < g.numbers.size(); ++k) {
      char* filled = buffer(of_numbers() + k);
      fill_packed(operands.numbers[k].bytes, filled, itemsize(g.numbers[k].in), c.at_once_ * c.columns_);
      number_at.push_back(filled);
    }
    for (size_t k = 0; k < g.loads.size(); ++k) load_at.push_back(nullptr);
  }
  // Buffers: of nodes, of loads, of values that are spread, of numbers, and one more.
  size_t of_loads() const { return size_t(c.buffers_); }
  size_t of_spread() const { return of_loads() + g.loads.size(); }
  size_t of_numbers() const { return of_spread() + size_t(c.spreads_); }
  int64_t bytes_of_buffer() const { return (c.at_once_ * c.columns_ * c.element_ + 63) / 64 * 64; }
  char* buffer(size_t i) { return base + int64_t(i) * bytes_of_buffer(); }

  char* place(const CpuRows::Move& m, char* data, int64_t row) const {
    for (size_t d = c.outer_.size(); d-- > 0; row /= c.outer_[d]) data += row % c.outer_[d] * m.steps[d];
    return data;
  }
  void spread(const char* values, int to, int64_t size, int64_t rows) {
    if (to < 0) return;
    char* wide = buffer(of_spread() + size_t(to));
    for (int64_t r = 0; r < rows; ++r)
      fill_packed(values + r * size, wide + r * c.columns_ * size, size_t(size), c.columns_);
  }
  void load(size_t k, int64_t rows) {
    const CpuRows::Move& m = c.loads_[k];
    if (m.same && !m.packed && rows <= filled) return;
    const auto size = int64_t(itemsize(g.loads[k].as));
    char* to = buffer(of_loads() + k);
    load_at[k] = m.packed && m.as_it_is ? loads[k] + row * c.columns_ * size : to;
    if (m.packed) {
      if (!m.as_it_is) (*m.conversion)(loads[k] + row * c.columns_ * m.size, m.size, to, size, rows * c.columns_);
      return;
    }
    const int64_t n = m.of_row ? 1 : c.columns_;
    for (int64_t r = 0; r < rows; ++r) (*m.conversion)(place(m, loads[k], row + r), m.step, to + r * n * size, size, n);
    spread(to, m.spread, size, rows);
  }
  const char* value(Source s, bool whole) {  // for each element, or one a row
    if (s.kind == Source::number) return number_at[s.index];
    const int wide = s.kind == Source::load ? c.loads_[s.index].spread : c.spread_[s.index];
    if (whole && wide >= 0) return buffer(of_spread() + size_t(wide));
    return s.kind == Source::load ? load_at[s.index] : result(s.index);
  }
  char* result(size_t i) {
    const int to = c.direct_[i];
    if (to < 0) return buffer(size_t(c.places_[i]));
    return stores[size_t(to)] + row * c.columns_ * c.stores_[size_t(to)].size;
  }
  void convert(size_t i, const char* in, char* out, int64_t n) {
    const Node& node = g.nodes[i];
    const auto from = int64_t(itemsize(node.in)), to = int64_t(itemsize(node.result));
    if (!c.back_[i]) return (*c.to_[i])(in, from, out, to, n);
    const auto narrow = int64_t(itemsize(node.narrow));
    char* between = buffer(of_numbers() + g.numbers.size());
    (*c.to_[i])(in, from, between, narrow, n);
    (*c.back_[i])(between, narrow, out, to, n);
  }
  void compute(size_t i, int64_t rows) {
    const Node& node = g.nodes[i];
    const char* in[4];
    const CpuRows::WithNumber& with = c.with_number_[i];
    for (int k = 0; k < node.count; ++k)
      in[k] = value(node.args[k], (!node.of_row || node.row) && !(with.loop && k == with.number));
    char* out = result(i);
    const int64_t n = node.of_row ? rows : rows * c.columns_;
    const auto from = int64_t(itemsize(node.in)), to = int64_t(itemsize(node.result));
    if (node.row)
      for (int64_t r = 0; r < rows; ++r) node.row(out + r * to, in[0] + r * c.columns_ * from, c.columns_);
    else if (with.loop)
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = r * c.columns_ * to;
        with.loop(out + at, in[1 - with.number] + at, in[with.number] + r * to, c.columns_);
      }
    else if (node.cpu)
      node.cpu(out, in, n);
    else
      convert(i, in[0], out, n);
    spread(out, c.spread_[i], to, rows);
  }
  void store(size_t k, int64_t rows) {
    const CpuRows::Move& m = c.stores_[k];
    const Source from_node = g.stores[k].value;
    if (from_node.kind == Source::node && c.direct_[from_node.index] == int(k)) return;
    const auto from = int64_t(itemsize(g.stores[k].from));
    const char* v = value(g.stores[k].value, !m.of_row);
    if (m.packed) return (*m.conversion)(v, from, stores[k] + row * c.columns_ * m.size, m.size, rows * c.columns_);
    const int64_t n = m.of_row ? 1 : c.columns_;
    for (int64_t r = 0; r < rows; ++r)
      (*m.conversion)(v + r * n * from, from, place(m, stores[k], row + r), m.of_row ? m.size : m.step, n);
  }
  void run(int64_t begin, int64_t end) {
    for (row = begin; row < end; row += c.at_once_) {
      const int64_t rows = std::min(c.at_once_, end - row);
      for (size_t k = 0; k < g.loads.size(); ++k) load(k, rows);
      filled = std::max(filled, rows);
      for (size_t i = 0; i < g.nodes.size(); ++i) compute(i, rows);
      for (size_t k = 0; k < g.stores.size(); ++k) store(k, rows);
    }
  }
};

void CpuRows::run(const Group& g, Storages storages, std::span<const Scalar> parameters) const {
  if (!g.numel()) return;
  const CpuOperands operands(g, storages, parameters);
  const int64_t a_row = columns_ * int64_t(1 + g.nodes.size() / 2);
  unlocked(g.numel(), [&] {
    parallel_for(rows_, std::max(at_once_, kGrain / a_row),
        [&](int64_t begin, int64_t end) { RowRun(*this, g, operands).run(begin, end); });
  });
}

}  // namespace shim::program
