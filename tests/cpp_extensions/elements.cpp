// Elements: dispatch over types, accessors, parallel loops, Half and BFloat16.
#include <torch/torch.h>  // brings the bindings to an extension

at::Tensor plus_one(const at::Tensor& x) {
  auto in = x.contiguous();
  auto out = torch::empty_like(in);
  AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, in.scalar_type(), "plus_one", [&] {
    const scalar_t* from = in.data_ptr<scalar_t>();
    scalar_t* to = out.data_ptr<scalar_t>();
    at::parallel_for(0, in.numel(), 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = from[i] + static_cast<scalar_t>(1);
    });
  });
  return out;
}
at::Tensor transposed(const at::Tensor& x) {
  auto out = torch::zeros({x.size(1), x.size(0)}, x.options());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "transposed", ([&] {
    auto from = x.accessor<scalar_t, 2>();
    auto to = out.packed_accessor32<scalar_t, 2>();
    for (int i = 0; i < from.size(0); ++i)
      for (int k = 0; k < from.size(1); ++k) to[k][i] = from[i][k];
  }));
  return out;
}
double trace(const at::Tensor& x) {
  auto a = x.packed_accessor64<double, 2>();
  double sum = 0;
  for (int64_t i = 0; i < std::min(a.size(0), a.size(1)); ++i) sum += a[i][i];
  return sum;
}
// Operators within a parallel loop: the caller must not hold the GIL meanwhile.
at::Tensor operators_in_parallel(const at::Tensor& x) {
  std::vector<at::Tensor> rows(size_t(x.size(0)));
  at::parallel_for(0, x.size(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) rows[size_t(i)] = x[i].mul(2).add(i);
  });
  return torch::stack(rows, 0);
}
void throw_in_parallel(int64_t n) {
  at::parallel_for(0, n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) TORCH_CHECK_VALUE(i != n - 1, "the last one");
  });
}
std::vector<double> half_bits() {
  std::vector<double> all;
  for (float x :
      {1.0f, 65504.0f, 65519.0f, 65520.0f, 6.1e-5f, 5.96e-8f, 2.9e-8f, 1.0009765625f, 1.00048828125f, -0.1f}) {
    all.push_back(float(c10::Half(x)));
    all.push_back(float(c10::BFloat16(x)));
  }
  all.push_back(float(std::numeric_limits<c10::Half>::max()));
  all.push_back(float(std::numeric_limits<c10::BFloat16>::lowest()));
  return all;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("plus_one", &plus_one);
  m.def("transposed", &transposed);
  m.def("trace", &trace);
  m.def("operators_in_parallel", &operators_in_parallel);
  m.def("throw_in_parallel", &throw_in_parallel);
  m.def("half_bits", &half_bits);
}
