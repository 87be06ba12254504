#include "cuda/reduce.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "cuda/driver.h"
#include "cuda/elementwise.h"
#include "cuda/entries/reduce.h"
#include "cuda/kernel_store.h"
#include "cuda/nvrtc.h"
#include "cuda/reasons.h"
#include "ops/kernels.h"

namespace shim::cuda {
namespace {

constexpr int kWalkDims = 6;
constexpr int64_t kBlocks = 132 * 8;  // about what fills a large GPU

struct Walk {
  int64_t size[kWalkDims] = {};
  int64_t step[kWalkDims] = {};
  int dims = 0;
};

// Dimensions merged where their strides allow. False: too many are left.
bool walk_of(const TensorImpl& t, const bool* reduced, bool which, Walk& w, int64_t& count) {
  w = Walk{};
  count = 1;
  for (int d = t.dim() - 1; d >= 0; --d) {
    if (reduced[d] != which || t.sizes()[size_t(d)] == 1) continue;
    const int64_t n = t.sizes()[size_t(d)], step = t.strides()[size_t(d)];
    count *= n;
    if (w.dims && w.size[w.dims - 1] * w.step[w.dims - 1] == step) {
      w.size[w.dims - 1] *= n;
      continue;
    }
    if (w.dims == kWalkDims) return false;
    w.size[w.dims] = n;
    w.step[w.dims++] = step;
  }
  if (!w.dims) w.size[0] = 1, w.step[0] = 0, w.dims = 1;
  return true;
}

const char* name_of(Reduction op) {
  switch (op) {
    case Reduction::sum:
    case Reduction::mean: return "sum";
    case Reduction::prod: return "prod";
    case Reduction::amax: return "amax";
    case Reduction::amin: return "amin";
    case Reduction::any: return "any_of";
    case Reduction::all: return "all_of";
    case Reduction::nansum: return "nansum";
  }
  return nullptr;
}

// Reductions of something of each element: the reduction and NORM of reduce.cuh, by the names that pass() gets.
struct Named {
  const char *name, *functor;
  int norm;
};
constexpr Named kOfEach[] = {{"norm_two", "sum", 5}, {"norm_squares", "sum", 1}, {"norm_root", "sum", 4},
    {"norm_one", "sum", 2}, {"norm_greatest", "amax", 2}, {"norm_least", "amin", 2}, {"nansum", "sum", 8}};

std::vector<std::string> options_of(
    const char* op, DType in, DType compute, DType out, int vector, int log, bool softmax) {
  const auto* named = std::ranges::find(kOfEach, std::string_view(op), &Named::name);
  const bool of_each = named != std::end(kOfEach);
  std::vector<std::string> options{std::string("-DOP=") + (of_each ? named->functor : op),
      "-DNORM=" + std::to_string(of_each ? named->norm : 0), std::string("-DTIN=") + element_type(in),
      std::string("-DC=") + compute_type(compute), std::string("-DOUT=") + element_type(out),
      "-DV=" + std::to_string(vector), std::string("-DLOGIC=") + (compute == DType::b8 ? "1" : "0"),
      "-DLOG=" + std::to_string(log), std::string("-DSOFTMAX=") + (softmax ? "1" : "0")};
  if (is_complex(compute)) options.push_back("-DCOMPLEX=1");
  return options;
}

CUfunction kernel_for(
    const char* entry, const char* op, DType in, DType compute, DType out, int vector, int log, int device) {
  thread_local std::map<std::tuple<std::string, std::string, DType, DType, DType, int, int, int>, CUfunction> known;
  auto [it, fresh] = known.try_emplace({entry, op, in, compute, out, vector, log, device}, nullptr);
  if (fresh) {
    const std::vector<std::string> options =
        options_of(op, in, compute, out, vector, log, std::string_view(entry) == "softmax");
    it->second = loaded_kernel(device, "reduce", options, entry);
  }
  return it->second;
}

struct Input {
  const void* data;
  DType dtype;
  Walk kept, reduced;
  int64_t outputs, length;
};

// Whether neighbouring outputs are made of neighbouring elements, and rows not.
bool by_column(const Input& in) {
  return in.kept.dims >= 1 && in.kept.step[0] == 1 && in.outputs > 1 &&
         !(in.reduced.dims == 1 && in.reduced.step[0] == 1);
}

// How many columns a thread takes: all begin with a whole load, and a warp has work for each thread.
int column_vector(const Input& in) {
  int v = vector_of(in.data, itemsize(in.dtype));
  const auto fits = [&] {
    if (in.kept.size[0] % v || in.outputs < 32 * v) return false;
    for (int d = 1; d < in.kept.dims; ++d)
      if (in.kept.step[d] % v) return false;
    for (int d = 0; d < in.reduced.dims; ++d)
      if (in.reduced.step[d] % v) return false;
    return true;
  };
  while (v > 1 && !fits()) v /= 2;
  return v;
}

// One pass: out[split, output]. With more than one split, out is partial and of the compute dtype.
bool pass(const char* op, const Input& in, DType compute, void* out, DType out_dtype, int64_t splits, double divisor,
    int device) {
  const bool down = by_column(in);
  const size_t size = itemsize(in.dtype);
  int vector = down ? column_vector(in) : 1;
  if (!down && in.reduced.dims == 1 && in.reduced.step[0] == 1) {
    vector = vector_of(in.data, size);
    for (int d = 0; d < in.kept.dims; ++d)
      while (vector > 1 && in.outputs > 1 && in.kept.step[d] % vector) vector /= 2;
  }
  using Rows = entries::reduce::rows;
  using Columns = entries::reduce::columns;
  static_assert(same_parameters<Rows, Columns>);
  const Kernel<Rows> f{
      kernel_for(down ? Columns::name : Rows::name, op, in.dtype, compute, out_dtype, vector, false, device)};
  if (!f) return false;
  int64_t per = (in.length + splits - 1) / splits;
  per = (per + 15) / 16 * 16;
  Grid grid{in.outputs, splits, in.length >= 4096 ? 512 : 128};
  if (down)
    grid = {(in.outputs + 32 * vector - 1) / (32 * vector), splits, 32, 8};
  else if (in.length <= 1024 * vector && in.outputs > 64)
    grid = {(in.outputs + 7) / 8, splits, 32, 8};
  launch(f, grid, device, in.data, out, in.outputs, in.length, per, divisor, in.kept, in.reduced);
  return true;
}

// How many parts each output's elements are cut into, so that the GPU is filled.
int64_t splits_of(const Input& in) {
  const bool down = by_column(in);
  const int64_t across = 32 * (down ? column_vector(in) : 1),
                blocks = down ? (in.outputs + across - 1) / across : in.outputs;
  const int64_t most = in.length / (down ? 64 : 8192);
  const int64_t wanted = (kBlocks + blocks - 1) / blocks;
  const int64_t n = std::min({wanted, most, int64_t(1024)});
  if (n <= 1) return 1;
  const int64_t per = ((in.length + n - 1) / n + 15) / 16 * 16;  // as pass() cuts: no part is empty
  return (in.length + per - 1) / per;
}

}  // namespace

namespace {

// By `whole` where one pass does, else by `part` and then `rest`.
bool reduced_by(const char* whole, const char* part, const char* rest, const TensorImpl& self, const bool* reduced,
    DType compute, const Tensor& out, double divisor) {
  if (!pointwise_dtype(self.dtype()) || !pointwise_dtype(out->dtype()) || !compute_type(compute)) return false;
  if (!elementwise_ready()) return false;
  const int device = self.device().index;
  Input in{self.data(), self.dtype(), {}, {}, 1, 1};
  if (!walk_of(self, reduced, false, in.kept, in.outputs) || !walk_of(self, reduced, true, in.reduced, in.length))
    return false;
  if (in.outputs == 0) return true;
  if (in.outputs >= int64_t(1) << 31) return false;
  const int64_t splits = splits_of(in);
  if (splits == 1) return pass(whole, in, compute, out->data(), out->dtype(), 1, divisor, device);
  const int64_t shape[2] = {splits, in.outputs};
  Tensor partial = empty(shape, compute, self.device());
  if (!pass(part, in, compute, partial->data(), compute, splits, 1, device)) return false;
  Input second{partial->data(), compute, {}, {}, in.outputs, splits};
  const bool over[2] = {true, false};
  int64_t ignored;
  walk_of(*partial, over, false, second.kept, ignored);
  walk_of(*partial, over, true, second.reduced, ignored);
  return pass(rest, second, compute, out->data(), out->dtype(), 1, divisor, device);
}

}  // namespace

bool reduce(
    Reduction op, const TensorImpl& self, const bool* reduced, DType compute, const Tensor& out, double divisor) {
  const char* name = name_of(op);
  return reduced_by(name, name, op == Reduction::nansum ? "sum" : name, self, reduced, compute, out, divisor);
}

Tensor vector_norm(const TensorImpl& self, double order, IntArrayRef dims, bool keepdim) {
  if (!floating(self.dtype())) return {};
  bool reduced[kMaxDims] = {};
  if (dims.empty()) std::fill_n(reduced, self.dim(), true);
  for (int64_t d : dims) {
    bool& r = reduced[wrap_dim(d, self.dim())];
    if (r) return {};
    r = true;
  }
  Dims shape;
  int64_t length = 1;
  for (int d = 0; d < self.dim(); ++d) {
    if (reduced[d]) length *= self.sizes()[size_t(d)];
    if (!reduced[d] || keepdim) shape.push_back(reduced[d] ? 1 : self.sizes()[size_t(d)]);
  }
  if (!length) return {};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const DType compute = cuda::compute_dtype(self.dtype());
  Tensor out = empty(shape, self.dtype(), self.device());
  const auto by = [&](const char* whole, const char* part, const char* rest) {
    return reduced_by(whole, part, rest, self, reduced, compute, out, 1) ? out : Tensor();
  };
  if (order == 2) return by("norm_two", "norm_squares", "norm_root");
  if (order == 1) return by("norm_one", "norm_one", "sum");
  if (order == kInfinity) return by("norm_greatest", "norm_greatest", "amax");
  if (order == -kInfinity) return by("norm_least", "norm_least", "amin");
  return {};
}

bool softmax(const TensorImpl& self, const Tensor& out, bool log, DType compute, bool safe) {
  if (!elementwise_dtype(self.dtype()) || !elementwise_dtype(out->dtype()) || !elementwise_ready()) return false;
  int64_t cols = self.dim() ? self.sizes().back() : 1, rows = cols ? self.numel() / cols : 0;
  if (!self.numel()) return true;
  if (rows >= int64_t(1) << 31) return false;
  const size_t size = std::max(self.itemsize(), out->itemsize());
  int vector = std::min(vector_of(self.data(), size), vector_of(out->data(), size));
  while (vector > 1 && cols % vector) vector /= 2;
  const int device = self.device().index;
  using Softmax = entries::reduce::softmax;
  const Kernel<Softmax> f{
      kernel_for(Softmax::name, "sum", self.dtype(), compute, out->dtype(), vector, safe ? 2 : log, device)};
  if (!f) return false;
  int threads = 32;
  while (threads < 1024 && threads * vector * 4 < cols) threads *= 2;
  launch(f, {rows, 1, threads}, device, self.data(), out->data(), rows, cols);
  return true;
}

Outcome<Tensor> safe_softmax(const Tensor& self) {
  if (const char* why = not_floats({&self})) return NotMine{why};
  if (!self->dim()) return kOtherSizes;
  const Tensor x = contiguous(self), out = empty(x->sizes(), x->dtype(), x->device());
  if (!softmax(*x, out, false, cuda::compute_dtype(x->dtype()), true)) return kNotCompiled;
  return out;
}

std::string compile_reduction(const char* op, DType in, DType compute, DType out, int vector, int architecture) {
  const bool softmax = std::string_view(op) == "softmax";
  const auto options = options_of(softmax ? "sum" : op, in, compute, out, vector, softmax, softmax);
  nvrtc::Compiled c = nvrtc::compile(Specialisation::of("reduce", options), architecture);
  return c.cubin.empty() ? c.log : "";
}

}  // namespace shim::cuda
