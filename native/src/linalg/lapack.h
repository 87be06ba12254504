#pragma once
// LAPACK, in the BLAS library that NumPy brought into the process: found among the loaded libraries, linked to by nobody.
// The Fortran interface: matrices by columns, arguments by address, a hidden length for each string at the end.
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace shim::lapack {

// What integers are passed as. A library of 32-bit integers reads the low halves of scalars (the machine is little-endian); arrays of
// integers that it wrote are read by `number_at`.
using Int = int64_t;
bool narrow();  // the library's integers have 32 bits
inline int32_t number_at(const Int* p, size_t i) {
  return narrow() ? reinterpret_cast<const int32_t*>(p)[i] : int32_t(p[i]);
}
inline void put_number(Int* p, size_t i, int32_t v) {
  narrow() ? void(reinterpret_cast<int32_t*>(p)[i] = v) : void(p[i] = v);
}

template <class T> struct RealOf {
  using type = T;
};
template <class T> struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T> using Real = typename RealOf<T>::type;
template <class T> constexpr bool is_complex = !std::is_same_v<T, Real<T>>;

using Text = const char*;
using In = const Int*;
using Length = size_t;

// X(member, name of real matrices, name of complex ones, argument types)
#define SHIM_LAPACK(X)                                                                                                \
  X(getrf, "getrf", "getrf", (In m, In n, T * a, In lda, Int * pivots, Int * info))                                   \
  X(getrs, "getrs", "getrs",                                                                                          \
      (Text trans, In n, In count, const T* a, In lda, const Int* pivots, T* b, In ldb, Int* info, Length))           \
  X(potrf, "potrf", "potrf", (Text uplo, In n, T * a, In lda, Int * info, Length))                                    \
  X(potrs, "potrs", "potrs", (Text uplo, In n, In count, const T* a, In lda, T* b, In ldb, Int* info, Length))        \
  X(potri, "potri", "potri", (Text uplo, In n, T * a, In lda, Int * info, Length))                                    \
  X(trsm, "trsm", "trsm",                                                                                             \
      (Text side, Text uplo, Text trans, Text diag, In m, In n, const T* alpha, const T* a, In lda, T* b, In ldb,     \
          Length, Length, Length, Length))                                                                            \
  X(geqrf, "geqrf", "geqrf", (In m, In n, T * a, In lda, T * tau, T * work, In size, Int * info))                     \
  X(orgqr, "orgqr", "ungqr", (In m, In n, In k, T * a, In lda, const T* tau, T* work, In size, Int* info))            \
  X(ormqr, "ormqr", "unmqr",                                                                                          \
      (Text side, Text trans, In m, In n, In k, const T* a, In lda, const T* tau, T* c, In ldc, T* work, In size,     \
          Int* info, Length, Length))                                                                                 \
  X(sytrf, "sytrf", "sytrf", (Text uplo, In n, T * a, In lda, Int * pivots, T * work, In size, Int * info, Length))   \
  X(sytrs, "sytrs", "sytrs",                                                                                          \
      (Text uplo, In n, In count, const T* a, In lda, const Int* pivots, T* b, In ldb, Int* info, Length))            \
  X(hetrf, "sytrf", "hetrf", (Text uplo, In n, T * a, In lda, Int * pivots, T * work, In size, Int * info, Length))   \
  X(hetrs, "sytrs", "hetrs",                                                                                          \
      (Text uplo, In n, In count, const T* a, In lda, const Int* pivots, T* b, In ldb, Int* info, Length))            \
  X(gesdd_plain, "gesdd", nullptr,                                                                                    \
      (Text job, In m, In n, T * a, In lda, T * s, T * u, In ldu, T * vt, In ldvt, T * work, In size, Int * integers, \
          Int * info, Length))                                                                                        \
  X(gesdd_complex, nullptr, "gesdd",                                                                                  \
      (Text job, In m, In n, T * a, In lda, Real<T> * s, T * u, In ldu, T * vt, In ldvt, T * work, In size,           \
          Real<T> * reals, Int * integers, Int * info, Length))                                                       \
  X(syevd, "syevd", nullptr,                                                                                          \
      (Text job, Text uplo, In n, T * a, In lda, T * w, T * work, In size, Int * integers, In count, Int * info,      \
          Length, Length))                                                                                            \
  X(heevd, nullptr, "heevd",                                                                                          \
      (Text job, Text uplo, In n, T * a, In lda, Real<T> * w, T * work, In size, Real<T> * reals, In real_count,      \
          Int * integers, In count, Int * info, Length, Length))                                                      \
  X(geev_plain, "geev", nullptr,                                                                                      \
      (Text left, Text right, In n, T * a, In lda, T * re, T * im, T * vl, In ldvl, T * vr, In ldvr, T * work,        \
          In size, Int * info, Length, Length))                                                                       \
  X(geev_complex, nullptr, "geev",                                                                                    \
      (Text left, Text right, In n, T * a, In lda, T * w, T * vl, In ldvl, T * vr, In ldvr, T * work, In size,        \
          Real<T> * reals, Int * info, Length, Length))                                                               \
  X(gels, "gels", "gels",                                                                                             \
      (Text trans, In m, In n, In count, T * a, In lda, T * b, In ldb, T * work, In size, Int * info, Length))        \
  X(gelsy_plain, "gelsy", nullptr,                                                                                    \
      (In m, In n, In count, T * a, In lda, T * b, In ldb, Int * places, const T* rcond, Int* rank, T* work, In size, \
          Int* info))                                                                                                 \
  X(gelsy_complex, nullptr, "gelsy",                                                                                  \
      (In m, In n, In count, T * a, In lda, T * b, In ldb, Int * places, const Real<T>* rcond, Int* rank, T* work,    \
          In size, Real<T>* reals, Int* info))                                                                        \
  X(gelsd_plain, "gelsd", nullptr,                                                                                    \
      (In m, In n, In count, T * a, In lda, T * b, In ldb, T * s, const T* rcond, Int* rank, T* work, In size,        \
          Int* integers, Int* info))                                                                                  \
  X(gelsd_complex, nullptr, "gelsd",                                                                                  \
      (In m, In n, In count, T * a, In lda, T * b, In ldb, Real<T> * s, const Real<T>* rcond, Int* rank, T* work,     \
          In size, Real<T>* reals, Int* integers, Int* info))                                                         \
  X(gelss_plain, "gelss", nullptr,                                                                                    \
      (In m, In n, In count, T * a, In lda, T * b, In ldb, T * s, const T* rcond, Int* rank, T* work, In size,        \
          Int* info))                                                                                                 \
  X(gelss_complex, nullptr, "gelss",                                                                                  \
      (In m, In n, In count, T * a, In lda, T * b, In ldb, Real<T> * s, const Real<T>* rcond, Int* rank, T* work,     \
          In size, Real<T>* reals, Int* info))

template <class T> struct Functions {
#define SHIM_MEMBER(member, real, complex, types) void(*member) types = nullptr;
  SHIM_LAPACK(SHIM_MEMBER)
#undef SHIM_MEMBER
};

// Null where no loaded library has all of them (then the bodies of the records serve).
template <class T> const Functions<T>* functions();

}  // namespace shim::lapack
