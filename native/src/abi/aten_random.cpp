// The operators that draw random numbers, of those that have a C function of their own for each device.
#include "abi/aten_functions.h"

using namespace shim;
using namespace shim::abi;

// clang-format off
SHIM_ATEN(bernoulli__Tensor, "bernoulli_", "Tensor", (Handle a, Handle b, HeldGenerator** c),
          a, b, c)
SHIM_ATEN(bernoulli__float, "bernoulli_", "float", (Handle a, double b, HeldGenerator** c),
          a, b, c)
SHIM_ATEN(exponential, "exponential", "", (Handle a, double b, HeldGenerator** c, Handle* d),
          a, b, c, d)
SHIM_ATEN(native_dropout, "native_dropout", "", (Handle a, double b, int32_t* c, Handle* d, Handle* e),
          a, b, c, d, e)
SHIM_ATEN(normal_functional, "normal_functional", "", (Handle a, double b, double c, HeldGenerator** d, Handle* e),
          a, b, c, d, e)
SHIM_ATEN(rand, "rand", "", (const int64_t* a, int64_t b, int32_t* c, int32_t* d, int32_t* e, int32_t f, int32_t* g, Handle* h),
          a, b, c, d, e, f, g, h)
SHIM_ATEN(rand_generator, "rand", "generator", (const int64_t* a, int64_t b, HeldGenerator** c, int32_t* d, int32_t* e, int32_t* f, int32_t g, int32_t* h, Handle* i),
          a, b, c, d, e, f, g, h, i)
SHIM_ATEN(rand_like, "rand_like", "", (Handle a, int32_t* b, int32_t* c, int32_t* d, int32_t e, int32_t* f, int32_t* g, Handle* h),
          a, b, c, d, e, f, g, h)
SHIM_ATEN(rand_like_generator, "rand_like", "generator", (Handle a, HeldGenerator** b, int32_t* c, int32_t* d, int32_t* e, int32_t f, int32_t* g, int32_t* h, Handle* i),
          a, b, c, d, e, f, g, h, i)
SHIM_ATEN(randint, "randint", "", (int64_t a, const int64_t* b, int64_t c, int32_t* d, int32_t* e, int32_t* f, int32_t g, int32_t* h, Handle* i),
          a, b, c, d, e, f, g, h, i)
SHIM_ATEN(randint_generator, "randint", "generator", (int64_t a, const int64_t* b, int64_t c, HeldGenerator** d, int32_t* e, int32_t* f, int32_t* g, int32_t h, int32_t* i, Handle* j),
          a, b, c, d, e, f, g, h, i, j)
SHIM_ATEN(randint_like, "randint_like", "", (Handle a, int64_t b, int32_t* c, int32_t* d, int32_t* e, int32_t f, int32_t* g, int32_t* h, Handle* i),
          a, b, c, d, e, f, g, h, i)
SHIM_ATEN(randint_like_low_dtype, "randint_like", "low_dtype", (Handle a, int64_t b, int64_t c, int32_t* d, int32_t* e, int32_t* f, int32_t g, int32_t* h, int32_t* i, Handle* j),
          a, b, c, d, e, f, g, h, i, j)
SHIM_ATEN(randint_low, "randint", "low", (int64_t a, int64_t b, const int64_t* c, int64_t d, int32_t* e, int32_t* f, int32_t* g, int32_t h, int32_t* i, Handle* j),
          a, b, c, d, e, f, g, h, i, j)
SHIM_ATEN(randint_low_out, "randint", "low_out", (Handle a, int64_t b, int64_t c, const int64_t* d, int64_t e),
          a, b, c, d, e)
SHIM_ATEN(randn, "randn", "", (const int64_t* a, int64_t b, int32_t* c, int32_t* d, int32_t* e, int32_t f, int32_t* g, Handle* h),
          a, b, c, d, e, f, g, h)
SHIM_ATEN(randn_generator, "randn", "generator", (const int64_t* a, int64_t b, HeldGenerator** c, int32_t* d, int32_t* e, int32_t* f, int32_t g, int32_t* h, Handle* i),
          a, b, c, d, e, f, g, h, i)
SHIM_ATEN(randn_like, "randn_like", "", (Handle a, int32_t* b, int32_t* c, int32_t* d, int32_t e, int32_t* f, int32_t* g, Handle* h),
          a, b, c, d, e, f, g, h)
SHIM_ATEN(randn_like_generator, "randn_like", "generator", (Handle a, HeldGenerator** b, int32_t* c, int32_t* d, int32_t* e, int32_t f, int32_t* g, int32_t* h, Handle* i),
          a, b, c, d, e, f, g, h, i)
SHIM_ATEN(randperm, "randperm", "", (int64_t a, int32_t* b, int32_t* c, int32_t* d, int32_t e, int32_t* f, Handle* g),
          a, b, c, d, e, f, g)
SHIM_ATEN(uniform, "uniform", "", (Handle a, double b, double c, HeldGenerator** d, Handle* e),
          a, b, c, d, e)
