#include "ops/out_dtype.h"

#include <cstring>
#include <string_view>

#include "core/error.h"

namespace shim {
namespace {

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

// {R} and {O} are the names of the result's and of out's dtype, {r} and {o} how C++ names them, {A} is out's name.
std::string filled(std::string text, const std::string& argument, DType result, DType out) {
  const std::pair<const char*, std::string> words[] = {{"{R}", scalar_name(result)}, {"{O}", scalar_name(out)},
      {"{r}", type_word(result)}, {"{o}", type_word(out)}, {"{A}", argument},
      {"{32}", result == DType::i32 ? "True" : "False"}, {"{}", ""}};
  for (const auto& [mark, word] : words)
    for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, std::strlen(mark), word);
  return text;
}

constexpr const char* kCastError = "result type {R} can't be cast to the desired output type {O}";

}  // namespace

void check_out_dtype(const Operator& f, DType result, DType out) {
  const std::string& name = f.schema.name;
  if (name == "diag" && !can_cast(result, out)) return;
  if (result == out || ((name == "all" || name == "any") && out == DType::u8)) return;
  if (const char* text = f.traits->out_dtype) throw Error(Kind::Runtime, filled(text, "", result, out));
}

void check_meta_out_dtype(const Operator& f, DType result, DType out) {
  const char* text = f.traits->out_dtype;
  if (result == out || (text && !std::strcmp(text, kStructuredOut))) return;
  const std::string is = std::string("torch.") + dtype_name(result), has = std::string("torch.") + dtype_name(out);
  if (text && !std::strcmp(text, kExactOut))
    throw Error(Kind::Runtime, "Expected out tensor to have dtype " + is + " but got " + has + " instead");
  if (!f.traits->sums_in_out_dtype && !can_cast(result, out))
    throw Error(Kind::Runtime, "Attempting to cast from " + is + " to out tensor with dtype " + has +
                                   ", but this can't be cast because it is not safe!");
}

void check_result_cast(const Operator& f, DType result, DType out, const std::string& argument) {
  if (f.traits->sums_in_out_dtype && f.schema.name != "mean") return;
  if (can_cast(result, out)) return;
  std::string_view text = f.traits->cast_error ? f.traits->cast_error : kCastError;
  if (f.schema.name == "ldexp" && is_complex(result)) text = kCastError;  // not of its own product
  constexpr std::string_view type = "TypeError: ";
  const bool of_type = text.starts_with(type);
  if (of_type) text.remove_prefix(type.size());
  throw Error(of_type ? Kind::Type : Kind::Runtime, filled(std::string(text), argument, result, out));
}

void check_sum_dtype(const Operator& f, const std::string& own, DType wanted, DType has, bool given) {
  const bool whole = !is_floating(wanted) && !is_complex(wanted);
  if (own == "mean" && whole) return;  // refused by the record, whatever out is
  if (own == "mean" && f.schema.overload.empty() && !can_cast(wanted, has))
    throw Error(Kind::Runtime,
        std::string("mean.dtype_out(): input types can't be cast to the desired output type ") + scalar_name(has));
  if (!given || wanted == has) return;
  if (own == "nansum" && !whole)
    throw Error(Kind::Runtime, std::string("nansum: provided dtype must match dtype of result. Got ") +
                                   scalar_name(has) + " and " + scalar_name(wanted) + ".");
  throw Error(Kind::Runtime, filled(kStructuredOut, "", wanted, has));
}

}  // namespace shim
