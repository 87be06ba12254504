#pragma once
// The keys that sorts compare, compiled by NVRTC with the macro ELEMENT, the element type.
#include "cuda/kernels/types.cuh"

typedef ELEMENT T;
constexpr int kKeyBits = int(sizeof(T)) * 8;
typedef typename pick<sizeof(T) == 8, u64, u32>::type Key;
constexpr Key kAllBits = Key(~Key(0)) >> (sizeof(Key) * 8 - kKeyBits);
#define FULL 0xffffffffu

// Of kKeyBits bits, ordered as the elements are: both zeros are equal, NaN comes last whatever its bits.
template <class X> __device__ inline Key key_of(X x) {
  if constexpr (is_narrow<X> || is_float<X>) {
    Key bits, nan, infinity;
    if constexpr (same_type<X, double>::value) {
      bits = Key(__double_as_longlong(x));
      nan = Key(0x7ff8000000000000ull);
      infinity = Key(0x7ff0000000000000ull);
    } else if constexpr (same_type<X, float>::value) {
      bits = __float_as_uint(x);
      nan = 0x7fc00000u;
      infinity = 0x7f800000u;
    } else if constexpr (same_type<X, Half>::value) {
      bits = x.v;
      nan = 0x7e00u;
      infinity = 0x7c00u;
    } else if constexpr (same_type<X, Bf16>::value) {
      bits = x.v;
      nan = 0x7fc0u;
      infinity = 0x7f80u;
    } else if constexpr (same_type<X, E5m2>::value) {
      bits = x.v;
      nan = 0x7eu;
      infinity = 0x7cu;
    } else {
      bits = x.v;
      nan = 0x7fu;
      infinity = 0x7eu;
    }
    constexpr Key sign = Key(1) << (kKeyBits - 1);
    const Key magnitude = bits & (kAllBits >> 1);
    if (magnitude > infinity)
      bits = nan;
    else if (magnitude == 0)
      bits = 0;
    return bits & sign ? Key(~bits) & kAllBits : bits | sign;
  } else if constexpr (same_type<X, Bool>::value) {
    return x.v != 0;
  } else if constexpr (is_signed<X>) {
    return (Key(x) & kAllBits) ^ Key(1) << (kKeyBits - 1);
  } else {
    return Key(x);
  }
}
__device__ inline Key sortable(T x, int descending) {
  const Key k = key_of(x);
  return descending ? Key(~k) & kAllBits : k;
}
