// An extension of PyTorch's stable headers: every operator of theirs, every kind of value, errors both ways.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace {

namespace ts = torch::stable;
using Tensor = ts::Tensor;
using torch::headeronly::ScalarType;
using Floats = std::vector<double>;

// The operators of the headers, by number.
Tensor op(Tensor x, int64_t which) {
  switch (which) {
    case 0: return ts::zero_(x);
    case 1: return ts::narrow(x, 1, 1, 2);
    case 2: return ts::transpose(x, 0, 1);
    case 3: return ts::pad(x, {1, 2}, "constant", 1.5);
    case 4: return ts::amax(x, 1, true);
    case 5: return ts::amax(x, {0, 1}, false);
    case 6: return ts::clone(x);
    case 7: return ts::flatten(x, 0, 1);
    case 8: return ts::unsqueeze(x, 0);
    case 9: return ts::squeeze(ts::unsqueeze(x, 0), 0);
    case 10: return ts::select(x, 0, 1);
    case 11: return ts::matmul(x, ts::transpose(x, 0, 1));
    case 12: return ts::reshape(x, {4, 3});
    case 13: return ts::view(x, {2, 6});
    case 14: return ts::to(x, ScalarType::Int);
    case 15: return ts::contiguous(ts::transpose(x, 0, 1));
    case 16: return ts::new_zeros(x, {2, 2});
    case 17: return ts::fill_(ts::new_empty(x, {3}, ScalarType::Double), 2.5);
    case 18: return ts::sum(x, std::vector<int64_t>{1}, true);
    case 19: return ts::subtract(x, x, 0.5);
    case 20: return ts::full({2, 3}, 1.25, ScalarType::Float);
    case 21: return ts::fill_(ts::empty({2, 2}, ScalarType::Half), -1);
    case 22: return ts::copy_(x, ts::full({4}, 3.0, ScalarType::Float));
    case 23: return ts::fill_(ts::empty_like(x), 7);
    case 24: return ts::matmul(x, x);        // shapes do not fit: fails inside
    case 25: return ts::narrow(x, 5, 0, 1);  // no such dimension
    case 26: return ts::view(x, {5, 5});
    default: STD_TORCH_CHECK(false, "there is no operator number ", which);
  }
}

std::tuple<int64_t, int64_t, int64_t, bool, int64_t, int64_t> about(Tensor x) {
  return {x.dim(), x.numel(), x.storage_offset(), x.is_contiguous(), x.stride(-1), int64_t(x.element_size())};
}

Floats values(Tensor x) {
  Tensor flat = ts::contiguous(ts::to(x, ScalarType::Double));
  const auto* p = static_cast<const double*>(flat.const_data_ptr());
  return Floats(p, p + flat.numel());
}

std::tuple<int64_t, double, bool, std::string, ScalarType, torch::headeronly::Layout> kinds(
    int64_t i, double f, bool b, std::string s, ScalarType t, torch::headeronly::Layout l) {
  return {i + 1, f * 2, !b, s + "!", t, l};
}

std::tuple<std::optional<int64_t>, std::optional<double>, std::optional<std::string>, std::optional<Tensor>,
    std::optional<ScalarType>>
optionals(std::optional<int64_t> i, std::optional<double> f, std::optional<std::string> s, std::optional<Tensor> x,
    std::optional<ScalarType> t) {
  if (i) *i += 1;
  if (s) *s += "?";
  return {i, f, s, x, t};
}

std::tuple<std::vector<int64_t>, std::vector<Tensor>, std::vector<std::optional<Tensor>>,
    std::optional<std::vector<int64_t>>>
lists(std::vector<int64_t> i, std::vector<Tensor> x, std::vector<std::optional<Tensor>> y,
    std::optional<std::vector<int64_t>> z) {
  i.push_back(int64_t(x.size()));
  y.push_back(std::nullopt);
  return {i, x, y, z};
}

Tensor blob(int64_t n) {
  auto* data = new float[size_t(n)];
  for (int64_t i = 0; i < n; ++i) data[i] = float(i) / 2;
  return ts::from_blob(data, {n}, {1}, ts::Device(torch::headeronly::DeviceType::CPU), ScalarType::Float,
      [](void* p) { delete[] static_cast<float*>(p); });
}

double parallel(int64_t n) {
  std::vector<double> part(size_t(n), 0.0);
  ts::parallel_for(0, n, 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) part[size_t(i)] = double(i);
  });
  double sum = 0;
  for (double x : part) sum += x;
  return sum;
}

Tensor chain(Tensor x) {
  std::array<StableIValue, 2> stack{torch::stable::detail::from(x), torch::stable::detail::from(int64_t(6))};
  TORCH_ERROR_CODE_CHECK(torch_call_dispatcher("reference::op", "", stack.data(), TORCH_ABI_VERSION));
  return torch::stable::detail::to<Tensor>(stack[0]);
}

}  // namespace

STABLE_TORCH_LIBRARY(reference, m) {
  m.def("op(Tensor(a!) x, int which) -> Tensor");
  m.def("about(Tensor x) -> (int, int, int, bool, int, int)");
  m.def("values(Tensor x) -> float[]");
  m.def("kinds(int i, float f, bool b, str s, ScalarType t, Layout l) -> (int, float, bool, str, ScalarType, Layout)");
  m.def(
      "optionals(int? i=None, float? f=None, str? s='a b', Tensor? x = None, ScalarType? t=None) -> (int?, float?, "
      "str?, Tensor?, ScalarType?)");
  m.def("lists(int[] i, Tensor[] x, Tensor?[] y, int[2]? z=None) -> (int[], Tensor[], Tensor?[], int[]?)");
  m.def("blob(int n) -> Tensor");
  m.def("parallel(int n) -> float");
  m.def("chain(Tensor x) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(reference, CompositeExplicitAutograd, m) {
  m.impl("op", TORCH_BOX(&op));
  m.impl("about", TORCH_BOX(&about));
  m.impl("values", TORCH_BOX(&values));
  m.impl("kinds", TORCH_BOX(&kinds));
  m.impl("optionals", TORCH_BOX(&optionals));
  m.impl("lists", TORCH_BOX(&lists));
  m.impl("blob", TORCH_BOX(&blob));
  m.impl("parallel", TORCH_BOX(&parallel));
  m.impl("chain", TORCH_BOX(&chain));
}
