"""``torch.return_types``: the named tuples that operators with several results give (``torch.return_types.max`` ...)."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core

_VALUES = ("values", "indices")
_FIELDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys("cummax cummin kthvalue max median min mode nanmedian sort topk".split(), _VALUES),
    "aminmax": ("min", "max"),
    "frexp": ("mantissa", "exponent"),
    "geqrf": ("a", "tau"),
    "histogram": ("hist", "bin_edges"),
    "histogramdd": ("hist", "bin_edges"),
    "linalg_cholesky_ex": ("L", "info"),
    "linalg_eig": ("eigenvalues", "eigenvectors"),
    "linalg_eigh": ("eigenvalues", "eigenvectors"),
    "linalg_inv_ex": ("inverse", "info"),
    "linalg_ldl_factor": ("LD", "pivots"),
    "linalg_ldl_factor_ex": ("LD", "pivots", "info"),
    "linalg_lstsq": ("solution", "residuals", "rank", "singular_values"),
    "linalg_lu": ("P", "L", "U"),
    "linalg_lu_factor": ("LU", "pivots"),
    "linalg_lu_factor_ex": ("LU", "pivots", "info"),
    "linalg_qr": ("Q", "R"),
    "linalg_slogdet": ("sign", "logabsdet"),
    "linalg_solve_ex": ("result", "info"),
    "linalg_svd": ("U", "S", "Vh"),
    "lu_unpack": ("P", "L", "U"),
    "qr": ("Q", "R"),
    "slogdet": ("sign", "logabsdet"),
    "svd": ("U", "S", "V"),
    "triangular_solve": ("solution", "cloned_coefficient"),
}
_NO_OUT = frozenset(("histogramdd",))


def _names() -> list[str]:
    return [n for name in _FIELDS for n in ((name,) if name in _NO_OUT else (name, f"{name}_out"))]


def __getattr__(name: str) -> Any:
    fields = _FIELDS.get(name.removesuffix("_out"))
    if fields is None or (name.endswith("_out") and name.removesuffix("_out") in _NO_OUT):
        if name == "all_return_types":
            return [__getattr__(n) for n in _names()]
        from shim_torch._impl.surface.missing import missing

        return missing("torch.return_types", name)
    made = globals()[name] = _core.return_type(name, fields)
    return made


def __dir__() -> list[str]:
    return sorted([*globals(), *_names()])
