// Which dtypes out= may have, where PyTorch is stricter than a cast, and what a factory takes over from it.
#include <cstring>

#include "python/dispatch.h"
#include "python/object.h"

namespace shim {
namespace {

enum class Strict : uint8_t { none, same, structured, extremum, truth };

Strict strictness(const std::string& name) {
  static const std::unordered_map<std::string, Strict> table = [] {
    std::unordered_map<std::string, Strict> t;
    for (const char* n : {"neg", "abs", "ceil", "floor", "round", "trunc", "frac", "sgn", "sign", "bitwise_not"}) t[n] = Strict::same;
    for (const char* n : {"mm", "addmm", "bmm", "baddbmm", "addmv", "argmax", "argmin", "tril", "triu", "gather", "topk"}) t[n] = Strict::structured;
    for (const char* n : {"amax", "amin"}) t[n] = Strict::extremum;
    for (const char* n : {"all", "any"}) t[n] = Strict::truth;
    return t;
  }();
  auto it = table.find(name);
  return it == table.end() ? Strict::none : it->second;
}

// A dtype as C++ names it: what PyTorch prints of a caffe2::TypeMeta.
const char* type_word(DType t) {
  switch (t) {
    case DType::f32: return "float";
    case DType::f64: return "double";
    case DType::i64: return "long int";
    case DType::i32: return "int";
    case DType::i16: return "short int";
    case DType::i8: return "signed char";
    case DType::u8: return "unsigned char";
    case DType::b8: return "bool";
    case DType::f16: return "c10::Half";
    case DType::bf16: return "c10::BFloat16";
    case DType::c64: return "c10::complex<float>";
    case DType::c128: return "c10::complex<double>";
    default: return scalar_name(t);
  }
}

}  // namespace

void check_out_dtype(const std::string& name, DType result, DType out) {
  if (result == out) return;
  switch (strictness(name)) {
    case Strict::none: return;
    case Strict::same: fail(Kind::Runtime, "Found dtype ", scalar_name(out), " but expected ", scalar_name(result));
    case Strict::structured: fail(Kind::Runtime, "Expected out tensor to have dtype ", type_word(result), ", but got ", type_word(out), " instead");
    case Strict::extremum:
      fail(Kind::Runtime, "Expected the dtype for input and out to match, but got ", scalar_name(result), " for input's dtype and ",
           scalar_name(out), " for out's dtype.");
    case Strict::truth:
      CHECK(Kind::Runtime, out == DType::u8, name, " only supports bool tensor for result, got: ", scalar_name(out));
  }
}

void dtype_of_out(const Operator& f, PyObject** args, size_t inputs, PyObject* out) {
  if (!is_tensor(out)) return;
  for (size_t i = 0; i < inputs; ++i)
    if (is_tensor(args[i])) return;
  for (size_t i = 0; i < inputs; ++i) {
    if (f.schema.args[i].name != "dtype") continue;
    const DType wanted = unwrap(out)->dtype();
    if (args[i] == Py_None) args[i] = dtype_object(wanted);       // dtype objects live for ever
    else if (is_dtype(args[i]))
      CHECK(Kind::Runtime, dtype_of(args[i]) == wanted, "dtype ", scalar_name(dtype_of(args[i])), " does not match dtype of out parameter (",
            scalar_name(wanted), ")");
  }
}

}  // namespace shim
