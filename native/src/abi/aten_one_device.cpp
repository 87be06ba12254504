// The operators that have a C function of their own for one device only.
#include "abi/aten_functions.h"

using namespace shim;
using namespace shim::abi;

// clang-format off
SHIM_CPU(_dyn_quant_matmul_4bit, "_dyn_quant_matmul_4bit", "", (Handle a, Handle b, int64_t c, int64_t d, int64_t e, Handle* f),
         a, b, c, d, e, f)
SHIM_CPU(_dyn_quant_pack_4bit_weight, "_dyn_quant_pack_4bit_weight", "", (Handle a, Handle b, Handle* c, int64_t d, int64_t e, int64_t f, Handle* g),
         a, b, c, d, e, f, g)
SHIM_CPU(_histogramdd_from_bin_cts, "_histogramdd_from_bin_cts", "", (Handle a, const int64_t* b, int64_t c, const double** d, int64_t e, Handle* f, int32_t g, Handle* h),
         a, b, c, d, e, f, g, h)
SHIM_CPU(_scaled_dot_product_flash_attention_for_cpu, "_scaled_dot_product_flash_attention_for_cpu", "", (Handle a, Handle b, Handle c, double d, int32_t e, Handle* f, double* g, Handle* h, Handle* i),
         a, b, c, d, e, f, g, h, i)
SHIM_CPU(_scaled_dot_product_flash_attention_for_cpu_backward, "_scaled_dot_product_flash_attention_for_cpu_backward", "", (Handle a, Handle b, Handle c, Handle d, Handle e, Handle f, double g, int32_t h, Handle* i, double* j, Handle* k, Handle* l, Handle* m),
         a, b, c, d, e, f, g, h, i, j, k, l, m)
SHIM_CPU(histogram_bin_ct, "histogram", "bin_ct", (Handle a, int64_t b, const double** c, int64_t d, Handle* e, int32_t f, Handle* g, Handle* h),
         a, b, c, d, e, f, g, h)
SHIM_CUDA(_cudnn_rnn, "_cudnn_rnn", "", (Handle a, const Handle* b, int64_t c, int64_t d, Handle* e, Handle f, Handle* g, int64_t h, int64_t i, int64_t j, int64_t k, int32_t l, double m, int32_t n, int32_t o, const int64_t* p, int64_t q, Handle* r, Handle* s, Handle* t, Handle* u, Handle* v, Handle* w),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w)
SHIM_CUDA(_efficient_attention_backward, "_efficient_attention_backward", "", (Handle a, Handle b, Handle c, Handle d, Handle* e, Handle f, Handle* g, Handle* h, int64_t i, int64_t j, Handle k, double l, Handle m, Handle n, int64_t o, int32_t p, double* q, int64_t* r, int64_t* s, int32_t t, Handle* u, Handle* v, Handle* w, Handle* x),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x)
SHIM_CUDA(_efficient_attention_forward, "_efficient_attention_forward", "", (Handle a, Handle b, Handle c, Handle* d, Handle* e, Handle* f, int64_t* g, int64_t* h, double i, int64_t j, int32_t k, double* l, Handle* m, int64_t* n, Handle* o, Handle* p, Handle* q, Handle* r, int64_t* s, int64_t* t),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
SHIM_CUDA(_flash_attention_backward, "_flash_attention_backward", "", (Handle a, Handle b, Handle c, Handle d, Handle e, Handle f, Handle g, Handle h, int64_t i, int64_t j, double k, int32_t l, Handle m, Handle n, double* o, int64_t* p, int64_t* q, Handle* r, Handle* s, Handle* t),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
SHIM_CUDA(_flash_attention_forward, "_flash_attention_forward", "", (Handle a, Handle b, Handle c, Handle* d, Handle* e, int64_t f, int64_t g, double h, int32_t i, int32_t j, double* k, int64_t* l, int64_t* m, Handle* n, Handle* o, Handle* p, Handle* q, Handle* r, Handle* s, Handle* t),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
SHIM_CUDA(_flash_attention_forward_no_dropout_inplace, "_flash_attention_forward_no_dropout_inplace", "", (Handle a, Handle b, Handle c, Handle d, Handle* e, Handle* f, int64_t g, int64_t h, double i, int32_t j, int32_t k, double* l, int64_t* m, int64_t* n, Handle* o, Handle* p, Handle* q, Handle* r),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
SHIM_CUDA(_flash_attention_forward_quantized, "_flash_attention_forward", "quantized", (Handle a, Handle b, Handle c, Handle* d, Handle* e, int64_t f, int64_t g, double h, int32_t i, int32_t j, Handle* k, Handle* l, Handle* m, double* n, int64_t* o, int64_t* p, Handle* q, Handle* r, Handle* s, Handle* t, Handle* u, Handle* v, Handle* w),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w)
SHIM_CUDA(_scaled_dot_product_cudnn_attention, "_scaled_dot_product_cudnn_attention", "", (Handle a, Handle b, Handle c, Handle* d, int32_t e, double f, int32_t g, int32_t h, double* i, Handle* j, Handle* k, Handle* l, Handle* m, int64_t* n, int64_t* o, Handle* p, Handle* q, Handle* r),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
SHIM_CUDA(_scaled_dot_product_cudnn_attention_backward, "_scaled_dot_product_cudnn_attention_backward", "", (Handle a, Handle b, Handle c, Handle d, Handle e, Handle f, Handle g, Handle h, Handle i, Handle j, Handle k, int64_t l, int64_t m, double n, int32_t o, double* p, Handle* q, Handle* r, Handle* s),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
SHIM_CUDA(_scaled_dot_product_efficient_attention, "_scaled_dot_product_efficient_attention", "", (Handle a, Handle b, Handle c, Handle* d, int32_t e, double f, int32_t g, double* h, Handle* i, Handle* j, Handle* k, Handle* l),
          a, b, c, d, e, f, g, h, i, j, k, l)
SHIM_CUDA(_scaled_dot_product_efficient_attention_backward, "_scaled_dot_product_efficient_attention_backward", "", (Handle a, Handle b, Handle c, Handle d, Handle e, Handle f, Handle g, Handle h, Handle i, double j, const int32_t* k, int64_t l, int32_t m, double* n, Handle* o, Handle* p, Handle* q, Handle* r),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
SHIM_CUDA(_scaled_dot_product_flash_attention, "_scaled_dot_product_flash_attention", "", (Handle a, Handle b, Handle c, double d, int32_t e, int32_t f, double* g, Handle* h, Handle* i, Handle* j, Handle* k, int64_t* l, int64_t* m, Handle* n, Handle* o, Handle* p),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
SHIM_CUDA(_scaled_dot_product_flash_attention_backward, "_scaled_dot_product_flash_attention_backward", "", (Handle a, Handle b, Handle c, Handle d, Handle e, Handle f, Handle g, Handle h, int64_t i, int64_t j, double k, int32_t l, Handle m, Handle n, double* o, Handle* p, Handle* q, Handle* r),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
SHIM_CUDA(_scaled_dot_product_flash_attention_quantized, "_scaled_dot_product_flash_attention", "quantized", (Handle a, Handle b, Handle c, Handle* d, Handle* e, Handle* f, double g, int32_t h, int32_t i, double* j, Handle* k, Handle* l, Handle* m, Handle* n, int64_t* o, int64_t* p, Handle* q, Handle* r, Handle* s),
          a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
SHIM_CUDA(_scaled_grouped_mm, "_scaled_grouped_mm", "", (Handle a, Handle b, Handle c, Handle d, Handle* e, Handle* f, Handle* g, int32_t* h, int32_t i, Handle* j),
          a, b, c, d, e, f, g, h, i, j)
SHIM_CUDA(_thnn_fused_lstm_cell, "_thnn_fused_lstm_cell", "", (Handle a, Handle b, Handle c, Handle* d, Handle* e, Handle* f, Handle* g, Handle* h),
          a, b, c, d, e, f, g, h)
SHIM_CUDA(_weight_int4pack_mm, "_weight_int4pack_mm", "", (Handle a, Handle b, int64_t c, Handle d, Handle* e),
          a, b, c, d, e)
SHIM_CUDA(mm_dtype_out, "mm", "dtype_out", (Handle a, Handle b, Handle c, int32_t d),
          a, b, c, d)
