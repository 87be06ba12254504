// Which dtypes out= may have, where PyTorch is stricter than a cast, and what a factory takes over from it.
#include <cstring>
#include <string_view>

#include "python/dispatch.h"
#include "python/object.h"
#include "python/traits.h"

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
      {"{32}", result == DType::i32 ? "True" : "False"}};
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

bool writes_at_last(const Operator& f, PyObject* const* args) {
  const std::string& name = f.schema.name;
  const auto number = [&](size_t i) { return is_tensor(args[i]) && unwrap(args[i])->dim() == 0; };
  if (name == "inner") return !number(0) && !number(1);
  if (name == "linalg_matrix_power" || name == "diff") return PyLong_Check(args[1]) && PyLong_AsLong(args[1]) == 0;
  return f.traits->writes_out_last;
}

std::string name_for_gradients(const Operator& f, PyObject* const* args) {
  if (f.schema.name == "diag")
    return is_tensor(args[0]) && unwrap(args[0])->dim() == 1 ? "aten::diag_embed" : "aten::diagonal_copy";
  if (f.traits->out_error_name) return f.traits->out_error_name;
  return f.alias_of ? f.alias_of : f.schema.name;
}

// Sums whose dtype= has to be that of out.
static void of_given_dtype(const Operator& f, const std::string& own, DType wanted, DType has, bool given) {
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

void dtype_of_out(const Operator& f, PyObject** args, size_t inputs, PyObject* out) {
  if (!is_tensor(out)) return;
  const bool whole =
      inputs && is_tensor(args[0]) && !is_floating(unwrap(args[0])->dtype()) && !is_complex(unwrap(args[0])->dtype());
  const std::string own =
      whole && f.schema.name == "nansum" ? "sum" : f.schema.name;  // integers have no NaN: PyTorch calls sum
  if (f.traits->sums_in_out_dtype) {
    const DType has = unwrap(out)->dtype();
    for (size_t i = 0; i < inputs; ++i) {
      if (f.schema.args[i].name != "dtype") continue;
      const bool given = is_dtype(args[i]);
      if (given || own == "mean")
        of_given_dtype(f, own, is_tensor(args[0]) && !given ? unwrap(args[0])->dtype() : dtype_of(args[i]), has, given);
      else if (own == "nansum" && !is_floating(has) && unwrap(args[0])->numel())
        throw Error(Kind::NotImplemented, std::string("\"nansum_cpu\" not implemented for '") + scalar_name(has) + "'");
      else if (args[i] == Py_None)
        args[i] = dtype_object(has);  // they add up in the dtype of out
    }
    return;
  }
  for (size_t i = 0; i < inputs; ++i)
    if (is_tensor(args[i]) && !f.traits->any_out_shape) return;  // ends of ranges may be tensors
  for (size_t i = 0; i < inputs; ++i) {
    const std::string& name = f.schema.args[i].name;
    if (name == "layout")
      CHECK(Kind::Runtime, args[i] == Py_None || layout_of(args[i]) <= 0,
          "layout Sparse does not match layout of out parameter (Strided)");
    if (name == "device" && args[i] == Py_None) {
      args[i] = device_object(unwrap(out)->device());  // the caller owns its arguments
      if (!args[i]) throw PythonError();
    } else if (name == "device" && is_device(args[i])) {
      const Device given = device_of(args[i]), has = unwrap(out)->device();
      CHECK(Kind::Runtime, given.type == has.type, "device type ", device_type_name(given.type),
          " does not match device type of out parameter (", device_type_name(has.type), ")");
    }
    if (name != "dtype") continue;
    const DType wanted = unwrap(out)->dtype();
    if (args[i] == Py_None)
      args[i] = dtype_object(wanted);  // dtype objects live for ever
    else if (is_dtype(args[i]))
      CHECK(Kind::Runtime, dtype_of(args[i]) == wanted, "dtype ", scalar_name(dtype_of(args[i])),
          " does not match dtype of out parameter (", scalar_name(wanted), ")");
  }
}

}  // namespace shim
