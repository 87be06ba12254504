// The operators that have a C function of their own for each device.
#include "abi/aten_functions.h"

using namespace shim;
using namespace shim::abi;

// clang-format off
SHIM_ATEN(_adaptive_avg_pool2d, "_adaptive_avg_pool2d", "", (Handle a, const int64_t* b, int64_t c, Handle* d),
          a, b, c, d)
SHIM_ATEN(_adaptive_avg_pool2d_backward, "_adaptive_avg_pool2d_backward", "", (Handle a, Handle b, Handle* c),
          a, b, c)
SHIM_ATEN(_adaptive_avg_pool3d, "_adaptive_avg_pool3d", "", (Handle a, const int64_t* b, int64_t c, Handle* d),
          a, b, c, d)
SHIM_ATEN(_adaptive_avg_pool3d_backward, "_adaptive_avg_pool3d_backward", "", (Handle a, Handle b, Handle* c),
          a, b, c)
SHIM_ATEN(_addmm_activation, "_addmm_activation", "", (Handle a, Handle b, Handle c, double d, double e, int32_t f, Handle* g),
          a, b, c, d, e, f, g)
SHIM_ATEN(_cdist_backward, "_cdist_backward", "", (Handle a, Handle b, Handle c, double d, Handle e, Handle* f),
          a, b, c, d, e, f)
SHIM_ATEN(_cdist_forward, "_cdist_forward", "", (Handle a, Handle b, double c, int64_t* d, Handle* e),
          a, b, c, d, e)
SHIM_ATEN(_efficientzerotensor, "_efficientzerotensor", "", (const int64_t* a, int64_t b, int32_t* c, int32_t* d, int32_t* e, int32_t f, int32_t* g, Handle* h),
          a, b, c, d, e, f, g, h)
SHIM_ATEN(_embedding_bag, "_embedding_bag", "", (Handle a, Handle b, Handle c, int32_t d, int64_t e, int32_t f, Handle* g, int32_t h, int64_t i, Handle* j, Handle* k, Handle* l, Handle* m),
          a, b, c, d, e, f, g, h, i, j, k, l, m)
SHIM_ATEN(_embedding_bag_dense_backward, "_embedding_bag_dense_backward", "", (Handle a, Handle b, Handle c, Handle d, Handle e, int64_t f, int32_t g, int64_t h, Handle* i, int64_t j, Handle* k),
          a, b, c, d, e, f, g, h, i, j, k)
SHIM_ATEN(_embedding_bag_forward_only, "_embedding_bag_forward_only", "", (Handle a, Handle b, Handle c, int32_t d, int64_t e, int32_t f, Handle* g, int32_t h, int64_t i, Handle* j, Handle* k, Handle* l, Handle* m),
          a, b, c, d, e, f, g, h, i, j, k, l, m)
SHIM_ATEN(_embedding_bag_per_sample_weights_backward, "_embedding_bag_per_sample_weights_backward", "", (Handle a, Handle b, Handle c, Handle d, Handle e, int64_t f, int64_t g, Handle* h),
          a, b, c, d, e, f, g, h)
SHIM_ATEN(_fft_c2c, "_fft_c2c", "", (Handle a, const int64_t* b, int64_t c, int64_t d, int32_t e, Handle* f),
          a, b, c, d, e, f)
SHIM_ATEN(_fft_r2c, "_fft_r2c", "", (Handle a, const int64_t* b, int64_t c, int64_t d, int32_t e, Handle* f),
          a, b, c, d, e, f)
SHIM_ATEN(_fused_moving_avg_obs_fq_helper, "_fused_moving_avg_obs_fq_helper", "", (Handle a, Handle b, Handle c, Handle d, Handle e, Handle f, Handle g, double h, int64_t i, int64_t j, int64_t k, int32_t l, int32_t m, Handle* n, Handle* o),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
SHIM_ATEN(_fused_moving_avg_obs_fq_helper_functional, "_fused_moving_avg_obs_fq_helper_functional", "", (Handle a, Handle b, Handle c, Handle d, Handle e, Handle f, Handle g, double h, int64_t i, int64_t j, int64_t k, int32_t l, int32_t m, Handle* n, Handle* o, Handle* p, Handle* q, Handle* r, Handle* s),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
SHIM_ATEN(_fused_rms_norm, "_fused_rms_norm", "", (Handle a, const int64_t* b, int64_t c, Handle* d, double* e, Handle* f, Handle* g),
          a, b, c, d, e, f, g)
SHIM_ATEN(_grouped_mm, "_grouped_mm", "", (Handle a, Handle b, Handle* c, Handle* d, int32_t* e, Handle* f),
          a, b, c, d, e, f)
SHIM_ATEN(_int_mm_out, "_int_mm", "out", (Handle a, Handle b, Handle c),
          a, b, c)
SHIM_ATEN(_pdist_backward, "_pdist_backward", "", (Handle a, Handle b, double c, Handle d, Handle* e),
          a, b, c, d, e)
SHIM_ATEN(_pdist_forward, "_pdist_forward", "", (Handle a, double b, Handle* c),
          a, b, c)
SHIM_ATEN(_scaled_dot_product_fused_attention_overrideable, "_scaled_dot_product_fused_attention_overrideable", "", (Handle a, Handle b, Handle c, Handle* d, double e, int32_t f, int32_t g, double* h, Handle* i, Handle* j, Handle* k, Handle* l, int64_t* m, int64_t* n, Handle* o, Handle* p, Handle* q),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)
SHIM_ATEN(_scaled_dot_product_fused_attention_overrideable_backward, "_scaled_dot_product_fused_attention_overrideable_backward", "", (Handle a, Handle b, Handle c, Handle d, Handle e, const int32_t* f, int64_t g, Handle h, Handle i, Handle j, Handle k, int64_t l, int64_t m, double n, int32_t o, Handle p, Handle q, double* r, Handle* s, Handle* t, Handle* u, Handle* v),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v)
SHIM_ATEN(_scaled_mm, "_scaled_mm", "", (Handle a, Handle b, Handle c, Handle d, Handle* e, Handle* f, int32_t* g, int32_t h, Handle* i),
          a, b, c, d, e, f, g, h, i)
SHIM_ATEN(_scaled_mm_out, "_scaled_mm", "out", (Handle a, Handle b, Handle c, Handle d, Handle e, Handle* f, Handle* g, int32_t* h, int32_t i),
          a, b, c, d, e, f, g, h, i)
SHIM_ATEN(_segment_reduce_backward, "_segment_reduce_backward", "", (Handle a, Handle b, Handle c, const char* d, Handle* e, Handle* f, int64_t g, double* h, Handle* i),
          a, b, c, d, e, f, g, h, i)
SHIM_ATEN(_to_sparse, "_to_sparse", "", (Handle a, int32_t* b, const int64_t** c, int64_t d, int64_t* e, Handle* f),
          a, b, c, d, e, f)
SHIM_ATEN(_trilinear, "_trilinear", "", (Handle a, Handle b, Handle c, const int64_t* d, int64_t e, const int64_t* f, int64_t g, const int64_t* h, int64_t i, const int64_t* j, int64_t k, int64_t l, Handle* m),
          a, b, c, d, e, f, g, h, i, j, k, l, m)
SHIM_ATEN(_weight_int8pack_mm, "_weight_int8pack_mm", "", (Handle a, Handle b, Handle c, Handle* d),
          a, b, c, d)
SHIM_ATEN(abs, "abs", "", (Handle a, Handle* b),
          a, b)
SHIM_ATEN(adaptive_max_pool2d, "adaptive_max_pool2d", "", (Handle a, const int64_t* b, int64_t c, Handle* d, Handle* e),
          a, b, c, d, e)
SHIM_ATEN(adaptive_max_pool2d_backward, "adaptive_max_pool2d_backward", "", (Handle a, Handle b, Handle c, Handle* d),
          a, b, c, d)
SHIM_ATEN(adaptive_max_pool3d, "adaptive_max_pool3d", "", (Handle a, const int64_t* b, int64_t c, Handle* d, Handle* e),
          a, b, c, d, e)
SHIM_ATEN(adaptive_max_pool3d_backward, "adaptive_max_pool3d_backward", "", (Handle a, Handle b, Handle c, Handle* d),
          a, b, c, d)
SHIM_ATEN(add_Scalar, "add", "Scalar", (Handle a, double b, double c, Handle* d),
          a, b, c, d)
SHIM_ATEN(add_Tensor, "add", "Tensor", (Handle a, Handle b, double c, Handle* d),
          a, b, c, d)
SHIM_ATEN(addbmm, "addbmm", "", (Handle a, Handle b, Handle c, double d, double e, Handle* f),
          a, b, c, d, e, f)
SHIM_ATEN(addmm_out, "addmm", "out", (Handle a, Handle b, Handle c, Handle d, double e, double f),
          a, b, c, d, e, f)
SHIM_ATEN(addmv, "addmv", "", (Handle a, Handle b, Handle c, double d, double e, Handle* f),
          a, b, c, d, e, f)
SHIM_ATEN(angle, "angle", "", (Handle a, Handle* b),
          a, b)
SHIM_ATEN(avg_pool2d, "avg_pool2d", "", (Handle a, const int64_t* b, int64_t c, const int64_t* d, int64_t e, const int64_t* f, int64_t g, int32_t h, int32_t i, int64_t* j, Handle* k),
          a, b, c, d, e, f, g, h, i, j, k)
SHIM_ATEN(avg_pool2d_backward, "avg_pool2d_backward", "", (Handle a, Handle b, const int64_t* c, int64_t d, const int64_t* e, int64_t f, const int64_t* g, int64_t h, int32_t i, int32_t j, int64_t* k, Handle* l),
          a, b, c, d, e, f, g, h, i, j, k, l)
SHIM_ATEN(avg_pool3d, "avg_pool3d", "", (Handle a, const int64_t* b, int64_t c, const int64_t* d, int64_t e, const int64_t* f, int64_t g, int32_t h, int32_t i, int64_t* j, Handle* k),
          a, b, c, d, e, f, g, h, i, j, k)
SHIM_ATEN(avg_pool3d_backward, "avg_pool3d_backward", "", (Handle a, Handle b, const int64_t* c, int64_t d, const int64_t* e, int64_t f, const int64_t* g, int64_t h, int32_t i, int32_t j, int64_t* k, Handle* l),
          a, b, c, d, e, f, g, h, i, j, k, l)
SHIM_ATEN(baddbmm_out, "baddbmm", "out", (Handle a, Handle b, Handle c, Handle d, double e, double f),
          a, b, c, d, e, f)
SHIM_ATEN(bmm_out, "bmm", "out", (Handle a, Handle b, Handle c),
          a, b, c)
SHIM_ATEN(bucketize_Tensor, "bucketize", "Tensor", (Handle a, Handle b, int32_t c, int32_t d, Handle* e),
          a, b, c, d, e)
SHIM_ATEN(cat, "cat", "", (const Handle* a, int64_t b, int64_t c, Handle* d),
          a, b, c, d)
SHIM_ATEN(cholesky_inverse, "cholesky_inverse", "", (Handle a, int32_t b, Handle* c),
          a, b, c)
SHIM_ATEN(cholesky_solve, "cholesky_solve", "", (Handle a, Handle b, int32_t c, Handle* d),
          a, b, c, d)
SHIM_ATEN(convolution, "convolution", "", (Handle a, Handle b, Handle* c, const int64_t* d, int64_t e, const int64_t* f, int64_t g, const int64_t* h, int64_t i, int32_t j, const int64_t* k, int64_t l, int64_t m, Handle* n),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n)
SHIM_ATEN(convolution_backward, "convolution_backward", "", (Handle a, Handle b, Handle c, const int64_t** d, int64_t e, const int64_t* f, int64_t g, const int64_t* h, int64_t i, const int64_t* j, int64_t k, int32_t l, const int64_t* m, int64_t n, int64_t o, const int32_t* p, int64_t q, Handle* r, Handle* s, Handle* t),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
SHIM_ATEN(cummax, "cummax", "", (Handle a, int64_t b, Handle* c, Handle* d),
          a, b, c, d)
SHIM_ATEN(cummin, "cummin", "", (Handle a, int64_t b, Handle* c, Handle* d),
          a, b, c, d)
SHIM_ATEN(cumprod, "cumprod", "", (Handle a, int64_t b, int32_t* c, Handle* d),
          a, b, c, d)
SHIM_ATEN(cumsum, "cumsum", "", (Handle a, int64_t b, int32_t* c, Handle* d),
          a, b, c, d)
SHIM_ATEN(fill__Scalar, "fill_", "Scalar", (Handle a, double b),
          a, b)
SHIM_ATEN(fractional_max_pool2d, "fractional_max_pool2d", "", (Handle a, const int64_t* b, int64_t c, const int64_t* d, int64_t e, Handle f, Handle* g, Handle* h),
          a, b, c, d, e, f, g, h)
SHIM_ATEN(fractional_max_pool2d_backward, "fractional_max_pool2d_backward", "", (Handle a, Handle b, const int64_t* c, int64_t d, const int64_t* e, int64_t f, Handle g, Handle* h),
          a, b, c, d, e, f, g, h)
SHIM_ATEN(fractional_max_pool3d, "fractional_max_pool3d", "", (Handle a, const int64_t* b, int64_t c, const int64_t* d, int64_t e, Handle f, Handle* g, Handle* h),
          a, b, c, d, e, f, g, h)
SHIM_ATEN(fractional_max_pool3d_backward, "fractional_max_pool3d_backward", "", (Handle a, Handle b, const int64_t* c, int64_t d, const int64_t* e, int64_t f, Handle g, Handle* h),
          a, b, c, d, e, f, g, h)
SHIM_ATEN(gcd, "gcd", "", (Handle a, Handle b, Handle* c),
          a, b, c)
SHIM_ATEN(geqrf, "geqrf", "", (Handle a, Handle* b, Handle* c),
          a, b, c)
SHIM_ATEN(grid_sampler_2d_backward, "grid_sampler_2d_backward", "", (Handle a, Handle b, Handle c, int64_t d, int64_t e, int32_t f, const int32_t* g, int64_t h, Handle* i, Handle* j),
          a, b, c, d, e, f, g, h, i, j)
SHIM_ATEN(grid_sampler_3d, "grid_sampler_3d", "", (Handle a, Handle b, int64_t c, int64_t d, int32_t e, Handle* f),
          a, b, c, d, e, f)
SHIM_ATEN(grid_sampler_3d_backward, "grid_sampler_3d_backward", "", (Handle a, Handle b, Handle c, int64_t d, int64_t e, int32_t f, const int32_t* g, int64_t h, Handle* i, Handle* j),
          a, b, c, d, e, f, g, h, i, j)
SHIM_ATEN(hann_window, "hann_window", "", (int64_t a, int32_t* b, int32_t* c, int32_t* d, int32_t e, int32_t* f, Handle* g),
          a, b, c, d, e, f, g)
SHIM_ATEN(histc, "histc", "", (Handle a, int64_t b, double c, double d, Handle* e),
          a, b, c, d, e)
SHIM_ATEN(index_Tensor, "index", "Tensor", (Handle a, const Handle** b, int64_t c, Handle* d),
          a, b, c, d)
SHIM_ATEN(index_put, "index_put", "", (Handle a, const Handle** b, int64_t c, Handle d, int32_t e, Handle* f),
          a, b, c, d, e, f)
SHIM_ATEN(index_reduce, "index_reduce", "", (Handle a, int64_t b, Handle c, Handle d, const char* e, int32_t f, Handle* g),
          a, b, c, d, e, f, g)
SHIM_ATEN(kthvalue, "kthvalue", "", (Handle a, int64_t b, int64_t c, int32_t d, Handle* e, Handle* f),
          a, b, c, d, e, f)
SHIM_ATEN(logcumsumexp, "logcumsumexp", "", (Handle a, int64_t b, Handle* c),
          a, b, c)
SHIM_ATEN(lu_unpack, "lu_unpack", "", (Handle a, Handle b, int32_t c, int32_t d, Handle* e, Handle* f, Handle* g),
          a, b, c, d, e, f, g)
SHIM_ATEN(masked_scatter, "masked_scatter", "", (Handle a, Handle b, Handle c, Handle* d),
          a, b, c, d)
SHIM_ATEN(masked_scatter_backward, "masked_scatter_backward", "", (Handle a, Handle b, const int64_t* c, int64_t d, Handle* e),
          a, b, c, d, e)
SHIM_ATEN(masked_select, "masked_select", "", (Handle a, Handle b, Handle* c),
          a, b, c)
SHIM_ATEN(max_pool2d_with_indices, "max_pool2d_with_indices", "", (Handle a, const int64_t* b, int64_t c, const int64_t* d, int64_t e, const int64_t* f, int64_t g, const int64_t* h, int64_t i, int32_t j, Handle* k, Handle* l),
          a, b, c, d, e, f, g, h, i, j, k, l)
SHIM_ATEN(max_pool2d_with_indices_backward, "max_pool2d_with_indices_backward", "", (Handle a, Handle b, const int64_t* c, int64_t d, const int64_t* e, int64_t f, const int64_t* g, int64_t h, const int64_t* i, int64_t j, int32_t k, Handle l, Handle* m),
          a, b, c, d, e, f, g, h, i, j, k, l, m)
SHIM_ATEN(max_pool3d_with_indices, "max_pool3d_with_indices", "", (Handle a, const int64_t* b, int64_t c, const int64_t* d, int64_t e, const int64_t* f, int64_t g, const int64_t* h, int64_t i, int32_t j, Handle* k, Handle* l),
          a, b, c, d, e, f, g, h, i, j, k, l)
SHIM_ATEN(max_pool3d_with_indices_backward, "max_pool3d_with_indices_backward", "", (Handle a, Handle b, const int64_t* c, int64_t d, const int64_t* e, int64_t f, const int64_t* g, int64_t h, const int64_t* i, int64_t j, int32_t k, Handle l, Handle* m),
          a, b, c, d, e, f, g, h, i, j, k, l, m)
SHIM_ATEN(max_unpool2d, "max_unpool2d", "", (Handle a, Handle b, const int64_t* c, int64_t d, Handle* e),
          a, b, c, d, e)
SHIM_ATEN(max_unpool3d, "max_unpool3d", "", (Handle a, Handle b, const int64_t* c, int64_t d, const int64_t* e, int64_t f, const int64_t* g, int64_t h, Handle* i),
          a, b, c, d, e, f, g, h, i)
SHIM_ATEN(median, "median", "", (Handle a, Handle* b),
          a, b)
SHIM_ATEN(mm_out, "mm", "out", (Handle a, Handle b, Handle c),
          a, b, c)
SHIM_ATEN(mode, "mode", "", (Handle a, int64_t b, int32_t c, Handle* d, Handle* e),
          a, b, c, d, e)
SHIM_ATEN(mul_Scalar, "mul", "Scalar", (Handle a, double b, Handle* c),
          a, b, c)
SHIM_ATEN(mul_Tensor, "mul", "Tensor", (Handle a, Handle b, Handle* c),
          a, b, c)
SHIM_ATEN(nanmedian, "nanmedian", "", (Handle a, Handle* b),
          a, b)
SHIM_ATEN(narrow, "narrow", "", (Handle a, int64_t b, int64_t c, int64_t d, Handle* e),
          a, b, c, d, e)
SHIM_ATEN(nonzero, "nonzero", "", (Handle a, Handle* b),
          a, b)
SHIM_ATEN(nonzero_static, "nonzero_static", "", (Handle a, int64_t b, int64_t c, Handle* d),
          a, b, c, d)
SHIM_ATEN(ormqr, "ormqr", "", (Handle a, Handle b, Handle c, int32_t d, int32_t e, Handle* f),
          a, b, c, d, e, f)
SHIM_ATEN(pad, "pad", "", (Handle a, const int64_t* b, int64_t c, const char* d, double* e, Handle* f),
          a, b, c, d, e, f)
SHIM_ATEN(permute, "permute", "", (Handle a, const int64_t* b, int64_t c, Handle* d),
          a, b, c, d)
SHIM_ATEN(polar, "polar", "", (Handle a, Handle b, Handle* c),
          a, b, c)
SHIM_ATEN(pow_Scalar, "pow", "Scalar", (double a, Handle b, Handle* c),
          a, b, c)
SHIM_ATEN(pow_Tensor_Scalar, "pow", "Tensor_Scalar", (Handle a, double b, Handle* c),
          a, b, c)
SHIM_ATEN(pow_Tensor_Tensor, "pow", "Tensor_Tensor", (Handle a, Handle b, Handle* c),
          a, b, c)
SHIM_ATEN(repeat_interleave_Tensor, "repeat_interleave", "Tensor", (Handle a, int64_t* b, Handle* c),
          a, b, c)
SHIM_ATEN(replication_pad1d_backward, "replication_pad1d_backward", "", (Handle a, Handle b, const int64_t* c, int64_t d, Handle* e),
          a, b, c, d, e)
SHIM_ATEN(replication_pad2d_backward, "replication_pad2d_backward", "", (Handle a, Handle b, const int64_t* c, int64_t d, Handle* e),
          a, b, c, d, e)
SHIM_ATEN(reshape, "reshape", "", (Handle a, const int64_t* b, int64_t c, Handle* d),
          a, b, c, d)
SHIM_ATEN(resize_, "resize_", "", (Handle a, const int64_t* b, int64_t c, int32_t* d),
          a, b, c, d)
SHIM_ATEN(resize_as_, "resize_as_", "", (Handle a, Handle b, int32_t* c),
          a, b, c)
SHIM_ATEN(scatter_reduce_two_out, "scatter_reduce", "two_out", (Handle a, Handle b, int64_t c, Handle d, Handle e, const char* f, int32_t g),
          a, b, c, d, e, f, g)
SHIM_ATEN(scatter_src_out, "scatter", "src_out", (Handle a, Handle b, int64_t c, Handle d, Handle e),
          a, b, c, d, e)
SHIM_ATEN(scatter_value_out, "scatter", "value_out", (Handle a, Handle b, int64_t c, Handle d, double e),
          a, b, c, d, e)
SHIM_ATEN(searchsorted_Scalar, "searchsorted", "Scalar", (Handle a, double b, int32_t c, int32_t d, const char** e, Handle* f, Handle* g),
          a, b, c, d, e, f, g)
SHIM_ATEN(searchsorted_Tensor, "searchsorted", "Tensor", (Handle a, Handle b, int32_t c, int32_t d, const char** e, Handle* f, Handle* g),
          a, b, c, d, e, f, g)
SHIM_ATEN(segment_reduce, "segment_reduce", "", (Handle a, const char* b, Handle* c, Handle* d, Handle* e, int64_t f, int32_t g, double* h, Handle* i),
          a, b, c, d, e, f, g, h, i)
SHIM_ATEN(set__source_Tensor, "set_", "source_Tensor", (Handle a, Handle b),
          a, b)
SHIM_ATEN(slice_Tensor, "slice", "Tensor", (Handle a, int64_t b, int64_t* c, int64_t* d, int64_t e, Handle* f),
          a, b, c, d, e, f)
SHIM_ATEN(soft_margin_loss_backward, "soft_margin_loss_backward", "", (Handle a, Handle b, Handle c, int64_t d, Handle* e),
          a, b, c, d, e)
SHIM_ATEN(sort, "sort", "", (Handle a, int64_t b, int32_t c, Handle* d, Handle* e),
          a, b, c, d, e)
SHIM_ATEN(sort_stable, "sort", "stable", (Handle a, int32_t* b, int64_t c, int32_t d, Handle* e, Handle* f),
          a, b, c, d, e, f)
SHIM_ATEN(squeeze_dim, "squeeze", "dim", (Handle a, int64_t b, Handle* c),
          a, b, c)
SHIM_ATEN(to_sparse, "to_sparse", "", (Handle a, int32_t* b, const int64_t** c, int64_t d, int64_t* e, Handle* f),
          a, b, c, d, e, f)
SHIM_ATEN(topk, "topk", "", (Handle a, int64_t b, int64_t c, int32_t d, int32_t e, Handle* f, Handle* g),
          a, b, c, d, e, f, g)
SHIM_ATEN(triangular_solve, "triangular_solve", "", (Handle a, Handle b, int32_t c, int32_t d, int32_t e, Handle* f, Handle* g),
          a, b, c, d, e, f, g)
SHIM_ATEN(upsample_bicubic2d_backward, "upsample_bicubic2d_backward", "", (Handle a, const int64_t* b, int64_t c, const int64_t* d, int64_t e, int32_t f, double* g, double* h, Handle* i),
          a, b, c, d, e, f, g, h, i)
SHIM_ATEN(upsample_linear1d_backward, "upsample_linear1d_backward", "", (Handle a, const int64_t* b, int64_t c, const int64_t* d, int64_t e, int32_t f, double* g, Handle* h),
          a, b, c, d, e, f, g, h)
SHIM_ATEN(upsample_trilinear3d_backward, "upsample_trilinear3d_backward", "", (Handle a, const int64_t* b, int64_t c, const int64_t* d, int64_t e, int32_t f, double* g, double* h, double* i, Handle* j),
          a, b, c, d, e, f, g, h, i, j)
SHIM_ATEN(view_as_complex, "view_as_complex", "", (Handle a, Handle* b),
          a, b)
SHIM_ATEN(view_as_real, "view_as_real", "", (Handle a, Handle* b),
          a, b)
SHIM_ATEN(view_dtype, "view", "dtype", (Handle a, int32_t b, Handle* c),
          a, b, c)
