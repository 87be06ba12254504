#pragma once
// AT_DISPATCH_V2(type, "name", AT_WRAP(lambda), types…): one case a type of the list.
#include <shim/dispatch.h>

#define AT_WRAP(...) __VA_ARGS__
#define AT_EXPAND(X) X
#define AT_FLOATING_TYPES at::kDouble, at::kFloat
#define AT_INTEGRAL_TYPES at::kByte, at::kChar, at::kInt, at::kLong, at::kShort
#define AT_ALL_TYPES AT_EXPAND(AT_INTEGRAL_TYPES), AT_EXPAND(AT_FLOATING_TYPES)
#define AT_BAREBONES_UNSIGNED_TYPES at::kUInt16, at::kUInt32, at::kUInt64
#define AT_INTEGRAL_TYPES_V2 AT_EXPAND(AT_INTEGRAL_TYPES), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES)
#define AT_COMPLEX_TYPES at::kComplexDouble, at::kComplexFloat
#define AT_ALL_TYPES_AND_COMPLEX AT_EXPAND(AT_ALL_TYPES), AT_EXPAND(AT_COMPLEX_TYPES)

// The body goes along in parentheses, so that its commas stay its own.
#define SHIM_OPENED(...) __VA_ARGS__
#define SHIM_PARENTHESES ()
#define SHIM_SCAN_4(...) __VA_ARGS__
#define SHIM_SCAN_16(...) SHIM_SCAN_4(SHIM_SCAN_4(SHIM_SCAN_4(SHIM_SCAN_4(__VA_ARGS__))))
#define SHIM_SCAN(...) SHIM_SCAN_16(SHIM_SCAN_16(SHIM_SCAN_16(SHIM_SCAN_16(__VA_ARGS__))))
#define SHIM_CASES(body, type, ...) \
  AT_DISPATCH_CASE(type, SHIM_OPENED body) __VA_OPT__(SHIM_CASES_AGAIN SHIM_PARENTHESES(body, __VA_ARGS__))
#define SHIM_CASES_AGAIN() SHIM_CASES
#define SHIM_ALL_CASES(body, ...) SHIM_SCAN(SHIM_CASES(body, __VA_ARGS__))
#define AT_DISPATCH_V2(TYPE, NAME, BODY, ...) AT_DISPATCH_SWITCH(TYPE, NAME, SHIM_ALL_CASES((BODY), __VA_ARGS__))
