// Which dtypes out= may have, where PyTorch is stricter than a cast, and what a factory takes over from it.
#include <cstring>
#include <unordered_set>

#include "python/dispatch.h"
#include "python/object.h"

namespace shim {
namespace {

// A text for an out= of a dtype that the operator does not write: {R} and {O} are the names of the result's and of out's
// dtype, {r} and {o} how C++ names them.
constexpr const char* kSame = "Found dtype {O} but expected {R}";
constexpr const char* kStructured = "Expected out tensor to have dtype {r}, but got {o} instead";
constexpr const char* kKernel = "expected scalar type {R} but found {O}";

const char* text_of(const std::string& name) {
  static const std::unordered_map<std::string, const char*> table = [] {
    std::unordered_map<std::string, const char*> t{
        {"nan_to_num", "nan_to_num: dtype of out: {O} should be same as input: {R}"},
        {"heaviside", "heaviside is not yet implemented for tensors with different dtypes."},
        {"dot", "result dtype {O} does not match input dtype {R}"},
        {"vdot", "result dtype {O} does not match input dtype {R}"},
        {"inner", "tensordot: Expected the output tensor to have dtype {R}, but got an output tensor with dtype {O}"},
        {"tensordot",
            "tensordot: Expected the output tensor to have dtype {R}, but got an output tensor with dtype {O}"},
        {"complex", "Expected object of scalar type {R} but got scalar type {O} for argument 'out'"},
        {"polar", "Expected object of scalar type {R} but got scalar type {O} for argument 'out'"},
        {"histogram",
            "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {r} and hist {o}"},
        {"histc",
            "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {r} and hist {o}"},
        {"index_select", "index_select(): self and result must have the same scalar type"},
        {"masked_select", "masked_select(): self and result must have the same scalar type"},
        {"quantile", "quantile() out tensor must be same dtype as the input tensor"},
        {"nanquantile", "quantile() out tensor must be same dtype as the input tensor"},
        {"take", "take(): self and out expected to have the same dtype, but got self.dtype = {R} and out.dtype = {O}"},
        {"ormqr",
            "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{R} and result has "
            "dtype {O}"},
        {"linalg_vecdot", "linalg.vecdot: Expected out of dtype{R} but found {O}"},
        {"linalg_matrix_norm", "linalg.matrix_norm expected out tensor dtype {R} but got: {O}"},
        {"linalg_norm", "linalg.norm expected out tensor dtype {R} but got: {O}"},
        {"linalg_multi_dot", "multi_dot(): expected out tensor to have dtype {r} but got {o}"},
        {"linalg_solve_triangular", kKernel},
        {"log_sigmoid", kKernel},
        {"logcumsumexp", "expected scalar_type {R} but found {O}"},
        {"cummax", "expected scalar_type {R} but found {O}"},
        {"mode", "expected scalar type '{R}' but got '{O}' for values output"},
        {"cummin", "expected scalar_type {R} but found {O}"},
        {"where", "Expected out type to be {R} but got {O}"},
        {"multinomial", "multinomial expects Long tensor out, got: {O}"},
        {"kthvalue", "output values must be of same type as input"},
        {"hash_tensor", "Expected result to be of dtype uint64, but got {O}"},
        {"narrow_copy",
            "Expected self.dtype() == output.dtype() to be true, but got false.  (Could this error message be "
            "improved?  If "
            "so, please report an enhancement request to PyTorch.)"},
    };
    for (const char* n : {"isposinf", "isneginf", "signbit"}) t[n] = "{N} does not support non-boolean outputs.";
    for (const char* n : {"searchsorted", "bucketize"})
      t[n] =
          "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
          "whether out_int32 "
          "flag is True, but we got output tensor's dtype {O} and out_int32 flag is {32}";
    for (const char* n : {"neg", "abs", "ceil", "floor", "round", "trunc", "frac", "sgn", "sign", "bitwise_not",
             "conj_physical", "gelu", "softplus", "hardshrink", "softshrink"})
      t[n] = kSame;
    for (const char* n : {"mm", "addmm", "bmm", "baddbmm", "addmv", "mv", "linear", "argmax", "argmin", "tril", "triu",
             "gather", "topk", "msort", "aminmax", "isin", "renorm", "scatter", "scatter_add", "scatter_reduce",
             "index_add", "index_copy", "index_reduce", "take_along_dim", "softmax", "log_softmax", "cross",
             "avg_pool2d", "avg_pool3d", "lu_solve", "linalg_lu_solve", "linalg_ldl_solve", "matmul", "linalg_cross",
             "linalg_cholesky", "linalg_det", "linalg_inv", "linalg_eigvalsh", "linalg_eigh", "linalg_qr", "linalg_svd",
             "linalg_slogdet", "linalg_lu", "triangular_solve", "linalg_solve", "linalg_svdvals", "linalg_vector_norm",
             "linalg_cholesky_ex", "linalg_inv_ex", "linalg_ldl_factor", "linalg_ldl_factor_ex", "linalg_lu_factor",
             "linalg_lu_factor_ex", "linalg_solve_ex", "norm", "alias_copy", "as_strided_copy", "diagonal_copy",
             "t_copy", "transpose_copy", "squeeze_copy", "unfold_copy", "diag", "expand_copy", "permute_copy",
             "slice_scatter", "split_with_sizes_copy", "unbind_copy", "unsqueeze_copy", "view_copy", "qr", "svd",
             "lu_unpack", "sort", "max.dim", "min.dim"})
      t[n] = kStructured;
    for (const char* n : {"amax", "amin"})
      t[n] = "Expected the dtype for input and out to match, but got {R} for input's dtype and {O} for out's dtype.";
    for (const char* n : {"all", "any"}) t[n] = "{N} only supports bool tensor for result, got: {O}";
    return t;
  }();
  auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

bool joins(const std::string& name) {
  static const std::unordered_set<std::string> names{
      "cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "row_stack", "column_stack", "_chunk_cat"};
  return names.count(name) > 0;
}

// The texts of operators that say in their own words that a result cannot be cast.
const char* cast_text_of(const std::string& name, DType result) {
  if (name == "ldexp" && !is_complex(result)) return "ldexp can't be cast to the desired output type {O}";
  if (name == "mvlgamma")
    return "mvlgamma: result type {O} can't be cast to the desired output type {R}";  // names self's, which is written
  if (name == "diag") return "diag: result type {R} can't be cast to the desired out= type {O}";
  if (joins(name)) return "torch.cat(): input types can't be cast to the desired output type {O}";
  if (name == "logsumexp") return "logsumexp(): Expected floating point type for result tensor, but got: {O}";
  if (name == "cholesky" || name == "cholesky_inverse" || name == "cholesky_solve")
    return "{N}: Expected result to be safely castable from {R} dtype, but got result with dtype {O}";
  static const std::unordered_set<std::string> of_results{"linalg_matrix_rank", "linalg_cond", "linalg_tensorinv",
      "linalg_tensorsolve", "linalg_pinv", "linalg_householder_product", "linalg_matrix_power"};
  if (of_results.count(name))
    return "{S}: Expected result to be safely castable from {R} dtype, but got result with dtype {O}";
  if (name.rfind("fft_", 0) == 0) {
    const bool real = name.find("irfft") != std::string::npos || name.find("_hfft") != std::string::npos;
    return real ? "{F} expects a floating point output tensor, but got {O}"
                : "{F} expects a complex output tensor, but got {O}";
  }
  if (name == "linalg_lstsq")
    return "torch.linalg.lstsq: Expected solution to be safely castable from {R} dtype, but got solution with dtype "
           "{O}";
  if (name == "linalg_eig")
    return "torch.linalg.eig: Expected eigenvalues to be safely castable from {R} dtype, but got eigenvalues with "
           "dtype {O}";
  if (name == "linalg_eig.vectors")
    return "torch.linalg.eig: Expected eigenvectors to be safely castable from {R} dtype, but got eigenvectors with "
           "dtype {O}";
  if (name == "linalg_eigvals")
    return "torch.linalg.eigvals: Expected eigenvalues to be safely castable from {R} dtype, but got eigenvalues with "
           "dtype {O}";
  return "result type {R} can't be cast to the desired output type {O}";
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

// linalg_cond as the operators of torch.linalg speak of themselves: some with module and package, some without.
std::string spoken_name(const std::string& name) {
  const std::string own = name.substr(name.find('_') + 1);
  if (own == "tensorinv" || own == "tensorsolve" || own == "matrix_power") return own;
  return (own == "cond" || own == "pinv" ? "linalg." : "torch.linalg.") + own;
}

// fft_irfft2 as torch.fft's transforms speak of themselves: those of two dims are the ones of many.
std::string transform_name(const std::string& name) {
  std::string own = name.substr(name.find('_') + 1);
  if (own.back() == '2') own.back() = 'n';
  return own == "ifftn" ? "fftn" : own;
}

std::string filled(std::string text, const std::string& name, DType result, DType out) {
  const std::pair<const char*, std::string> words[] = {{"{R}", scalar_name(result)}, {"{O}", scalar_name(out)},
      {"{r}", type_word(result)}, {"{o}", type_word(out)}, {"{N}", name}, {"{S}", spoken_name(name)},
      {"{F}", transform_name(name)}, {"{32}", result == DType::i32 ? "True" : "False"}};
  for (const auto& [mark, word] : words)
    for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, std::strlen(mark), word);
  return text;
}

}  // namespace

void check_out_dtype(const std::string& name, DType result, DType out) {
  if (name == "diag" && !can_cast(result, out)) return;
  if (result == out || ((name == "all" || name == "any") && out == DType::u8)) return;
  if (const char* text = text_of(name)) throw Error(Kind::Runtime, filled(text, name, result, out));
}

void check_result_cast(const std::string& name, DType result, DType out) {
  if (name == "cumsum" || name == "cumprod" || name == "sum" || name == "nansum")
    return;  // they sum in the dtype of out
  if (!can_cast(result, out))
    throw Error(joins(name) ? Kind::Type : Kind::Runtime, filled(cast_text_of(name, result), name, result, out));
}

bool writes_at_last(const Operator& f, PyObject* const* args) {
  const std::string& name = f.schema.name;
  static const std::unordered_set<std::string> names{"quantile", "nanquantile", "tensordot", "linalg_cond",
      "linalg_matrix_norm", "linalg_norm", "linalg_pinv", "linalg_tensorinv", "linalg_tensorsolve", "special_ndtr"};
  const auto number = [&](size_t i) { return is_tensor(args[i]) && unwrap(args[i])->dim() == 0; };
  if (name == "inner") return !number(0) && !number(1);
  if (name == "linalg_matrix_power" || name == "diff") return PyLong_Check(args[1]) && PyLong_AsLong(args[1]) == 0;
  return names.count(name) > 0;
}

std::string name_for_gradients(const Schema& schema, PyObject* const* args) {
  const std::string& name = schema.name;
  static const std::unordered_map<std::string, const char*> made_of{{"column_stack", "cat"}, {"dstack", "cat"},
      {"hstack", "cat"}, {"vstack", "cat"}, {"row_stack", "cat"}, {"cross", "linalg_cross"}, {"float_power", "pow"},
      {"square", "pow"}, {"kron", "mul"}, {"outer", "mul"}, {"ger", "mul"}, {"msort", "sort"}, {"nanmean", "nansum"},
      {"qr", "linalg_qr"}, {"svd", "_linalg_svd"}, {"take_along_dim", "gather"}, {"true_divide", "div"},
      {"divide", "div"}, {"multiply", "mul"}, {"subtract", "sub"}, {"lu_solve", "linalg_lu_solve"},
      {"fft_hfft", "_fft_c2r"}, {"fft_hfft2", "_fft_c2r"}, {"fft_hfftn", "_fft_c2r"}, {"fft_irfft", "_fft_c2r"},
      {"fft_irfft2", "_fft_c2r"}, {"fft_irfftn", "_fft_c2r"}, {"linalg_cholesky", "linalg_cholesky_ex"},
      {"linalg_det", "_linalg_det"}, {"linalg_eigh", "_linalg_eigh"}, {"linalg_eigvalsh", "_linalg_eigh"},
      {"linalg_inv", "linalg_inv_ex"}, {"linalg_ldl_factor", "aten::linalg_ldl_factor_ex"},
      {"linalg_lu_factor", "linalg_lu_factor_ex"}, {"linalg_matrix_power", "matmul"}, {"linalg_multi_dot", "mm"},
      {"linalg_slogdet", "_linalg_slogdet"}, {"linalg_solve", "_linalg_solve_ex"},
      {"linalg_solve_ex", "_linalg_solve_ex"}, {"linalg_svd", "_linalg_svd"}, {"linalg_svdvals", "_linalg_svd"},
      {"linalg_vecdot", "vdot"}, {"log_sigmoid", "log_sigmoid_forward"}, {"special_polygamma", "polygamma"},
      {"diff", "sub"}, {"inner", "mul"}};
  const std::string& overload = schema.overload;
  if ((name == "max" || name == "min") && overload == "other") return name + "imum";
  if (name == "diag")
    return is_tensor(args[0]) && unwrap(args[0])->dim() == 1 ? "aten::diag_embed" : "aten::diagonal_copy";
  if (name == "normal" && !is_tensor(args[0]) && !is_tensor(args[1])) return "aten::normal";
  // Operators without a gradient of their own that PyTorch's dispatcher speaks for.
  static const std::unordered_set<std::string> spoken_for{"_chunk_cat", "alias_copy", "arange", "as_strided_copy",
      "conj_physical", "diagonal_copy", "expand_copy", "eye", "floor_divide", "full", "heaviside", "histogram",
      "linspace", "log_softmax", "logspace", "ones", "permute_copy", "slice_scatter", "softmax", "linalg_ldl_factor_ex",
      "linalg_ldl_solve", "squeeze_copy", "t_copy", "transpose_copy", "unfold_copy", "unsqueeze_copy", "view_copy",
      "zeros"};
  if (auto it = made_of.find(name); it != made_of.end()) return it->second;
  return spoken_for.count(name) ? "aten::" + name : name;
}

bool never_differentiable(const std::string& name) {
  if (name == "histc" || name == "split_with_sizes_copy") return true;
  if (name.rfind("special_", 0) != 0) return false;
  return name.find("bessel") != std::string::npos || name.find("polynomial") != std::string::npos ||
         name == "special_airy_ai";
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
  throw Error(Kind::Runtime, filled(kStructured, own, wanted, has));
}

void dtype_of_out(const Operator& f, PyObject** args, size_t inputs, PyObject* out) {
  if (!is_tensor(out)) return;
  const bool whole =
      inputs && is_tensor(args[0]) && !is_floating(unwrap(args[0])->dtype()) && !is_complex(unwrap(args[0])->dtype());
  const std::string own =
      whole && f.schema.name == "nansum" ? "sum" : f.schema.name;  // integers have no NaN: PyTorch calls sum
  if (own == "cumsum" || own == "cumprod" || own == "sum" || own == "prod" || own == "mean" || own == "nansum") {
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
  const bool spaced = f.schema.name == "linspace" || f.schema.name == "logspace";  // their ends may be tensors
  for (size_t i = 0; i < inputs; ++i)
    if (is_tensor(args[i]) && !spaced) return;
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
