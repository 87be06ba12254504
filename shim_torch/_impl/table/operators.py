"""The operator table: imports the families of records, defines their operators, and gives them to the modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from shim_torch._impl import data
from shim_torch._impl.native import _core
from shim_torch._impl.table import rows
from shim_torch._impl.table.record import RECORDS, Record, function
from shim_torch._impl.table.symbols import install_symbols
from shim_torch._impl.utils.uncollected import Uncollected

FAMILIES = (
    "pointwise.unary",
    "pointwise.rounding",
    "pointwise.arithmetic",
    "pointwise.powers",
    "pointwise.binary",
    "pointwise.complex_numbers",
    "pointwise.ternary",
    "pointwise.clamping",
    "pointwise.activation",
    "pointwise.softplus",
    "pointwise.softmax",
    "pointwise.comparison",
    "reduce.reduction",
    "reduce.boolean_reductions",
    "reduce.extremes",
    "reduce.medians",
    "reduce.deviations",
    "reduce.cumulative",
    "shape.creation",
    "shape.ranges",
    "shape.view",
    "shape.transposing",
    "shape.slicing",
    "shape.splitting",
    "shape.reshaping",
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
    "linalg.matmul",
    "linalg.outer",
    "linalg.add_products",
    "linalg.products_in_dtype",
    "nn.linear",
    "nn.fused_linear",
    "random.draws",
    "random.creation",
    "shim.cuda_kernels",
    "shim.optimizer_steps",
    "shape.joining",
    "reduce.segments",
    "shape.tensor_names",
)

# Two thirds of the records, defined when one of their operators is first asked for, or a module that shows them. None of them has
# further overloads of an operator of the others. Their methods of the tensor are there from the start.
LATER = (
    "shape.view_variants",
    "pointwise.hard_activations",
    "index.scatter_reduce",
    "random.distributions",
    "attention.fused",
    "nn.nn_functional",
    "shim.cuda_losses",
    "shim.cross_entropy",
    "shim.pointwise_losses",
    "shim.normalization",
    "sparse.construction",
    "sparse.parts",
    "sparse.conversions",
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
    "signal.fourier_nd",
    "signal.fourier_frequencies",
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
    "linalg.qr",
    "linalg.singular_values",
    "linalg.eigenvalues",
    "linalg.lu",
    "linalg.householder",
    "linalg.cholesky",
    "reduce.histograms",
    "reduce.quantiles",
    "reduce.differences",
    "linalg.matrix_products",
    "linalg.vector_products",
    "random.gamma_draws",
    "reduce.statistics",
    "shim.resampling",
    "shim.image_kernels",
    "reduce.distinct_values",
    "reduce.searchsorted",
    "shape.chunks_and_masks",
    "shape.grids",
)

_defined: dict[str, list[str]] = {}  # record key -> names of its operators and variants
_functions: dict[str, list[Record]] = {}  # module -> the records that give it functions
_whole = False  # whether the families of LATER are defined
_completing = False
when_complete: list[Callable[[], None]] = []


def define_families(families: Iterable[str]) -> None:
    """Imports families, named within ``shim_torch._impl.records``, and defines the records that are not defined yet."""
    held = Uncollected()
    try:
        for family in families:
            if not rows.add(family):
                import_module(f"shim_torch._impl.records.{family}")
        for key, record in list(RECORDS.items()):
            if key not in _defined:
                define(record)
    finally:
        held.close()


def complete() -> bool:
    """Defines the families of LATER; whether they were not defined before (another thread may be at it: this one waits)."""
    global _whole, _completing
    if _whole:
        return False
    with rows.lock:
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


def named(name: str) -> Sequence[Record]:
    """The records of the namespace aten whose operator, or an alias of it, has the name: one an overload."""
    return _by_name().get(name, ())


@cache
def _by_name() -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for record in records().values():
        for name in record.names if record.ns == "aten" else ():
            found.setdefault(name, []).append(record)
    return found


def having(trait: str, value: Any = True) -> Iterator[Record]:
    """The records whose trait has the value."""
    return (record for record in records().values() if record.traits.get(trait) == value)


def define(record: Record) -> list[str]:
    """Adds one record to the table; the names it got, without the namespace."""
    names: list[str] = _core.define(record, _run_of(record) if record.row is None else _waiting_run(record))
    _defined[record.key] = names
    if record.function:
        _functions.setdefault(record.module, []).append(record)
    return names


def _run_of(record: Record) -> Callable[..., Any]:
    made: Callable[..., Any] = rows.import_late("shim_torch._impl.table.runs").run_of(
        record
    )  # late: many run native kernels alone
    return made


def _waiting_run(record: Record) -> Callable[..., Any]:
    """What calls of an operator run whose record waits for its module: ``run_of(record)``, which takes its place at the first call."""

    def run(*bound: Any) -> Any:
        made = _run_of(record)
        _core.replace_run([f"{record.ns}::{name}" for name in _defined[record.key]], run, made)
        return made(*bound)

    return run


def functions(module: str = "") -> dict[str, Any]:
    """The functions of a torch module by name: ``"nn.functional"``, ``"linalg"``; ``""`` is torch itself, of what is defined."""
    if module:
        complete()
    found: dict[str, Any] = {}
    path = f"torch.{module}" if module else "torch"
    prefix = module.rpartition(".")[2] + "_"
    for record in _functions.get(module, ()):
        for name in _defined[record.key]:
            if name[-1] == "_" and record.method and not name.endswith("__") and not _is_function(record, name):
                continue
            public = name[len(prefix) :] if module and name.startswith(prefix) else name
            if public not in found:
                made = found[public] = function(f"{record.ns}::{name}", path)
                if public != name:
                    made.__qualname__ = public
    return found


def _is_function(record: Record, name: str) -> bool:
    """Whether torch has the operator in place, not only the tensor."""
    if isinstance(record.inplace, tuple):
        return name in record.inplace
    return record.inplace == "function" or record.name == name


def later(section: str) -> list[str]:
    """Names that the families of LATER give (``data/later.txt``): the tensor's ``methods``, and what torch has beside
    nn.functional's of that name, ``functions`` and ``losses``."""
    return data.section("later.txt", section)


def install(tensor_type: Any) -> None:
    """Adds the methods to the tensor type; names that the type has already stay its own."""
    own = set(vars(tensor_type))
    for name in later("methods"):
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
    install_symbols(tensor_type)


define_families(FAMILIES)
