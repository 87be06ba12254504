#pragma once
// How pointwise formulas are written down: the name of a struct, and what it makes of an element x and of the numbers p, q and r.

#define FORMULA1(Name, expression)                            \
  struct Name {                                               \
    template <class T> static T f(T x) { return expression; } \
  }
#define FORMULA2(Name, expression)                                 \
  struct Name {                                                    \
    template <class T> static T f(T x, T p) { return expression; } \
  }
#define FORMULA3(Name, expression)                                      \
  struct Name {                                                         \
    template <class T> static T f(T x, T p, T q) { return expression; } \
  }
#define FORMULA4(Name, expression)                                           \
  struct Name {                                                              \
    template <class T> static T f(T x, T p, T q, T r) { return expression; } \
  }
