"""The operator table: imports the families of records, defines their operators, and gives them to the modules."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.formats import following
from shim_torch._impl.table.guards import guarded
from shim_torch._impl.table.record import RECORDS, Record, function
from shim_torch._impl.table.run import make_run

FAMILIES = (
    "pointwise.unary",
    "pointwise.arithmetic",
    "pointwise.powers",
    "pointwise.binary",
    "pointwise.complex_numbers",
    "pointwise.ternary",
    "pointwise.activation",
    "pointwise.hard_activations",
    "pointwise.softmax",
    "pointwise.comparison",
    "reduce.reduction",
    "reduce.extremes",
    "reduce.deviations",
    "reduce.cumulative",
    "shape.creation",
    "shape.ranges",
    "shape.view",
    "shape.slicing",
    "shape.splitting",
    "shape.reshaping",
    "shape.view_variants",
    "pointwise.math_bits",
    "shape.copying",
    "index.indexing",
    "index.index_along_dim",
    "index.scatter",
    "index.masking",
    "index.sorting",
    "shape.rearranging",
    "shape.triangles",
    "shape.part_scatter",
    "index.scatter_reduce",
    "linalg.matmul",
    "linalg.add_products",
    "linalg.products_in_dtype",
    "nn.linear",
    "nn.fused_linear",
    "random.draws",
    "random.distributions",
    "attention.fused",
    "nn.nn_functional",
    "shim.cuda_kernels",
    "shim.cuda_losses",
    "shim.pair_losses",
    "shim.normalization",
    "shape.joining",
    "reduce.segments",
    "shape.tensor_names",
    "sparse.construction",
    "sparse.parts",
    "sparse.conversions",
)

# Defined when one of their operators is first asked for, or a module that shows them: a third of the time that importing all
# takes. None of them has further overloads of an operator of the others. Their methods of the tensor are there from the start.
LATER = (
    "shape.geometry",
    "shim.recurrent_kernels",
    "nn.loss",
    "nn.cross_entropy",
    "nn.convolution",
    "nn.convolution_functions",
    "nn.columns",
    "nn.pooling",
    "nn.average_pooling",
    "image.resampling",
    "image.grid_sampling",
    "image.pixel_shuffling",
    "signal.fourier_kernels",
    "signal.fourier",
    "pointwise.foreach",
    "pointwise.foreach_binary",
    "linalg.matmul_narrow",
    "linalg.int4_products",
    "nn.backward",
    "recurrent.layers",
    "recurrent.cudnn",
    "pointwise.polynomials",
    "random.count_draws",
    "nn.random_layers",
    "nn.sequence_losses",
    "nn.margin_losses",
    "nn.embedding_bag",
    "shim.embedding_bags",
    "nn.batch_normalization",
    "attention.kernels",
    "attention.efficient",
    "attention.transformer_layers",
    "linalg.indefinite",
    "nn.padding",
    "aten.names",
    "aten.inner",
    "pointwise.special_functions",
    "pointwise.gamma_functions",
    "sparse.math",
    "linalg.least_squares",
    "linalg.pseudo_inverses",
    "signal.windows",
    "reduce.norms",
    "reduce.distances",
    "linalg.linear_systems",
    "linalg.determinants",
    "linalg.decomposition",
    "linalg.lu",
    "linalg.householder",
    "linalg.cholesky",
    "reduce.histograms",
    "reduce.quantiles",
    "reduce.differences",
    "linalg.matrix_products",
    "random.gamma_draws",
    "reduce.statistics",
    "shim.weighted_taps",
    "shim.image_kernels",
    "reduce.distinct_values",
    "reduce.sorted_places",
    "shape.chunks_and_masks",
    "shape.grids",
)
LATER_METHODS = """_resize_sparse_ _standard_gamma bincount cholesky cholesky_inverse cholesky_solve corrcoef cov cross det diff
    geqrf hash_tensor histc histogram i0 i0_ igamma igamma_ igammac igammac_ inverse istft kron logdet lu_solve matrix_exp matrix_power
    mvlgamma mvlgamma_ nanmedian nanquantile orgqr ormqr pinverse qr quantile renorm renorm_ slogdet smm sspaddmm svd
    triangular_solve""".split()

# The in-place functions that torch has as functions too; the others are methods only.
INPLACE_FUNCTIONS = frozenset(
    """abs_ acos_ acosh_ addmv_ alpha_dropout_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_
    atanh_ as_strided_ ceil_ celu_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ detach_
    dropout_ embedding_renorm_ erf_ erfc_ exp2_ exp_ expm1_ feature_alpha_dropout_ feature_dropout_ fill_ fix_
    floor_ frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_
    rad2deg_ reciprocal_ relu_ resize_as_ resize_as_sparse_ round_ rrelu_ rsqrt_ selu_ sigmoid_ sin_ sinc_
    sinh_ sqrt_ square_ squeeze_ tan_ tanh_ threshold_ trunc_ xlogy_ zero_ elu_ hardtanh_ leaky_relu_""".split()
)

_defined: dict[str, list[str]] = {}  # record key -> names of its operators and variants
_functions: dict[str, list[Record]] = {}  # module -> the records that give it functions
_whole = False  # whether the families of LATER are defined
_completing = False
when_complete: list[Callable[[], None]] = []
_lock = threading.RLock()


# Symbols that __torch_function__ sees themselves, by these names; the others it sees as the operator's method.
SEEN_AS_SYMBOLS = {
    f"__{s}__": f"__{s}__"
    for s in """floordiv rsub rfloordiv rmod rpow rmatmul invert and or xor lshift rshift rlshift rrshift
    iand ior ixor ilshift irshift""".split()
} | {"__rtruediv__": "__rdiv__", "__pow__": "pow", "__ipow__": "pow_"}

# Python's symbols and the operators behind them.
SYMBOLS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
# With the tensor on the right: PyTorch swaps the operands only where their order says something, so that
# the result's strides follow the tensor; `1 / x` is the product of the reciprocal, rounded twice.
SWAPPED = ("sub", "pow", "floordiv", "mod", "matmul", "lshift", "rshift")
ON_THE_RIGHT = {"truediv": "mul"}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
UNARY = {"neg": "neg", "pos": "positive", "abs": "abs", "invert": "bitwise_not"}


def define_families(families: Iterable[str]) -> None:
    """Imports families, named within ``shim_torch._impl.records``, and defines the records that are not defined yet."""
    collects = gc.isenabled()
    gc.disable()  # all that is made here stays: looking through it for garbage would be a tenth of the time
    try:
        for family in families:
            import_module(f"shim_torch._impl.records.{family}")
        for key, record in list(RECORDS.items()):
            if key not in _defined:
                define(record)
    finally:
        if collects:
            gc.enable()


def complete() -> bool:
    """Defines the families of LATER; whether they were not defined before (another thread may be at it: this one waits)."""
    global _whole, _completing
    if _whole:
        return False
    with _lock:
        if _whole:  # by another thread, in the meantime
            return True
        if _completing:  # asked for by what is being defined
            return False
        _completing = True
        try:
            define_families(LATER)
            for publish in when_complete:
                publish()
            _whole = True
            _core.set_waiting_operators(None)
        finally:
            _completing = False
    return True


def records() -> dict[str, Record]:
    """Every record by its key, those of LATER too."""
    complete()
    return RECORDS


def define(record: Record) -> list[str]:
    """Adds one record to the table; the qualified names it got."""
    run = make_run(record) if record.kind == "kernel" else record.body
    if record.follows:
        run = following(record, run)
    run = guarded(record, run)
    names: list[str] = _core.define(record, run)
    _defined[record.key] = list(dict.fromkeys(n.partition("::")[2] for n in names))
    if record.function:
        _functions.setdefault(record.module, []).append(record)
    return names


def functions(module: str = "") -> dict[str, Any]:
    """The functions of a torch module by name: ``"nn.functional"``, ``"linalg"``; ``""`` is torch itself, of what is defined."""
    if module:
        complete()
    found: dict[str, Any] = {}
    path = f"torch.{module}" if module else "torch"
    prefix = module.rpartition(".")[2] + "_"
    for record in _functions.get(module, ()):
        for name in _defined[record.key]:
            if name[-1] == "_" and record.method and name not in INPLACE_FUNCTIONS and not name.endswith("__"):
                continue
            public = name[len(prefix) :] if module and name.startswith(prefix) else name
            if public not in found:
                made = found[public] = function(f"{record.ns}::{name}", path)
                if public != name:
                    made.__qualname__ = public
    return found


def install(tensor_type: Any) -> None:
    """Adds the methods to the tensor type; names that the type has already stay its own."""
    own = set(vars(tensor_type))
    for name in LATER_METHODS:
        if name not in own:
            own.add(name)
            setattr(tensor_type, name, _core.method(f"aten::{name}"))
    for key, names in _defined.items():
        record = RECORDS[key]
        if not record.method:
            continue
        for name in names:
            if name not in own:
                own.add(name)
                setattr(tensor_type, name, _core.method(f"{record.ns}::{name}"))
    _install_symbols(tensor_type)


def _install_symbols(tensor_type: Any) -> None:
    def put(symbol: str, name: str, reflected: bool = False) -> None:
        if _core.operator_overloads(f"aten::{name}"):
            seen = SEEN_AS_SYMBOLS.get(symbol) or getattr(tensor_type, name, None)
            setattr(tensor_type, symbol, _core.symbol_method(symbol, f"aten::{name}", reflected, seen))

    for symbol, name in SYMBOLS.items():
        put(f"__{symbol}__", name)
        put(f"__r{symbol}__", ON_THE_RIGHT.get(symbol, name), reflected=symbol in SWAPPED)
        put(f"__i{symbol}__", f"{name}_")
    for name in COMPARISONS:
        put(f"__{name}__", name)
    for symbol, name in UNARY.items():
        put(f"__{symbol}__", name)


define_families(FAMILIES)
