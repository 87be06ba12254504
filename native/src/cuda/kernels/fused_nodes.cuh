#pragma once
// What a group computes (program/cuda_nodes.cpp), an expression given by macros:
//   LOADS, STORES, NUMBERS, NODES how many there are; of load k: T_Ik its element type, C_Ik what it is computed in, K_Ik 1 where it is
//   one element for all (of a row, where there are rows), 2 where it is one a column; of store k: T_Ok, and V_Ok its value; of number k: C_Nk; of node k: F_k how it is
//   called (below), OP_k its functor, C_k what operands are converted to, R_k what it gives, X_k, Y_k, Z_k, W_k its operands: i0 a load,
//   n0 a number, v0 a node. T0 as functors.cuh has it.
#define OP copy_
#define C float
#define RESULT float
#define LOGIC 0
#define N_IN 1
#define K2 0
#include "cuda/kernels/functors.cuh"

#define DIMS 8
#define MOST_LOADS 20
#define MOST_STORES 24

// clang-format off
struct div_number { template <class T> __device__ static T f(T a, T b) { return a * (T(1) / b); } };
// Of nodes: by their operands, with the numbers p, q, r of functors that have some, and conversions.
#define CALL1(Op, A, R, x, y, z, w) cast<R>(Op::f(cast<A>(x)))
#define CALL2(Op, A, R, x, y, z, w) cast<R>(Op::f(cast<A>(x), cast<A>(y)))
#define CALL3(Op, A, R, x, y, z, w) cast<R>(Op::f(cast<A>(x), cast<A>(y), cast<A>(z)))
#define EXTRA1(Op, A, R, x, y, z, w) cast<R>(Op::f(cast<A>(x), cast<A>(y), cast<A>(z), cast<A>(w)))
#define EXTRA2(Op, A, R, x, y, z, w) cast<R>(Op::f(cast<A>(x), cast<A>(y), A(0), cast<A>(z), cast<A>(w), A(0)))
#define EXTRA3(Op, A, R, x, y, z, w) cast<R>(Op::f(cast<A>(x), cast<A>(y), cast<A>(z), cast<A>(w), A(0), A(0)))
#define CONVERT(Op, A, R, x, y, z, w) cast<R>(x)
#define TRUTH1(Op, A, R, x, y, z, w) cast<Bool>(Op::f(cast<A>(x))).v
#define TRUTH2(Op, A, R, x, y, z, w) cast<Bool>(Op::f(cast<A>(x), cast<A>(y))).v
#define TRUTH3(Op, A, R, x, y, z, w) cast<Bool>(Op::f(cast<A>(x), cast<A>(y), cast<A>(z))).v
#define TRUTH(Op, A, R, x, y, z, w) cast<Bool>(x).v
#define NARROW(Op, A, R, x, y, z, w) cast<R>(cast<Op>(x))

#define R0(f)
#define R1(f) f(0)
#define R2(f) R1(f) f(1)
#define R3(f) R2(f) f(2)
#define R4(f) R3(f) f(3)
#define R5(f) R4(f) f(4)
#define R6(f) R5(f) f(5)
#define R7(f) R6(f) f(6)
#define R8(f) R7(f) f(7)
#define R9(f) R8(f) f(8)
#define R10(f) R9(f) f(9)
#define R11(f) R10(f) f(10)
#define R12(f) R11(f) f(11)
#define R13(f) R12(f) f(12)
#define R14(f) R13(f) f(13)
#define R15(f) R14(f) f(14)
#define R16(f) R15(f) f(15)
#define R17(f) R16(f) f(16)
#define R18(f) R17(f) f(17)
#define R19(f) R18(f) f(18)
#define R20(f) R19(f) f(19)
#define R21(f) R20(f) f(20)
#define R22(f) R21(f) f(21)
#define R23(f) R22(f) f(22)
#define R24(f) R23(f) f(23)
#define R25(f) R24(f) f(24)
#define R26(f) R25(f) f(25)
#define R27(f) R26(f) f(26)
#define R28(f) R27(f) f(27)
#define R29(f) R28(f) f(28)
#define R30(f) R29(f) f(29)
#define R31(f) R30(f) f(30)
#define R32(f) R31(f) f(31)
#define R33(f) R32(f) f(32)
#define R34(f) R33(f) f(33)
#define R35(f) R34(f) f(34)
#define R36(f) R35(f) f(35)
#define R37(f) R36(f) f(36)
#define R38(f) R37(f) f(37)
#define R39(f) R38(f) f(38)
#define R40(f) R39(f) f(39)
#define R41(f) R40(f) f(40)
#define R42(f) R41(f) f(41)
#define R43(f) R42(f) f(42)
#define R44(f) R43(f) f(43)
#define R45(f) R44(f) f(44)
#define R46(f) R45(f) f(45)
#define R47(f) R46(f) f(46)
#define R48(f) R47(f) f(47)
#define R49(f) R48(f) f(48)
#define R50(f) R49(f) f(49)
#define R51(f) R50(f) f(50)
#define R52(f) R51(f) f(51)
#define R53(f) R52(f) f(52)
#define R54(f) R53(f) f(53)
#define R55(f) R54(f) f(54)
#define R56(f) R55(f) f(55)
#define JOIN(a, b) a##b
#define TIMES(n, f) JOIN(R, n)(f)

struct Memory {
  const void* loads[MOST_LOADS];
  void* stores[MOST_STORES];
  u64 numbers[24];
};

// W elements at `p`, or one that stands for all of them.
template <class T, int W> __device__ inline Pack<T, W> fetched(const T* p, bool spread) {
  if (W == 1 || !spread) return *reinterpret_cast<const Pack<T, W>*>(p);
  Pack<T, W> r;
  const T x = *p;
#pragma unroll
  for (int k = 0; k < W; ++k) r.v[k] = x;
  return r;
}

// clang-format off
#define NUMBER(k) const C_N##k n##k = *reinterpret_cast<const C_N##k*>(&m.numbers[k]);
#define ONE(k) T_I##k o##k; if (K_I##k == 1) o##k = *reinterpret_cast<const T_I##k*>(m.loads[k]);
#define TAKE(k) const C_I##k i##k = cast<C_I##k>(K_I##k == 1 ? o##k : p##k.v[e]);
#define GIVE(k) r##k.v[e] = cast<T_O##k>(V_O##k);
#define NODE(k) const R_##k v##k = F_##k(OP_##k, C_##k, R_##k, X_##k, Y_##k, Z_##k, W_##k);
// clang-format on
