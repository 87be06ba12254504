"""``torch.nn.utils.spectral_norm``, the old form: a hook divides the weight by its largest singular value."""

from __future__ import annotations

from typing import Any

from shim_torch.autograd.grad_mode import no_grad
from shim_torch.nn.parameter import Parameter, UninitializedParameter

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]


def _as_matrix(weight: Any, dim: int) -> Any:
    """(size of ``dim``, the rest), of a weight with any number of dims."""
    return weight.movedim(dim, 0).reshape(weight.size(dim), -1)


def _unit(x: Any, eps: float) -> Any:
    """A vector's direction."""
    import shim_torch

    return shim_torch.nn.functional.normalize(x, dim=0, eps=eps)


def _power_iteration(matrix: Any, u: Any, v: Any, rounds: int, eps: float, u_first: bool = False) -> None:
    """Turns u and v, in place, towards the singular vectors of the matrix's largest singular value."""
    sides = [(u, matrix, v), (v, matrix.mH, u)]
    with no_grad():
        for _ in range(rounds):
            for turned, by, other in sides if u_first else sides[::-1]:
                turned.copy_(_unit(by.mv(other), eps))


def _dim_of_outputs(module: Any) -> int:
    """The dim of a layer's weight that counts its outputs."""
    transposed = ("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")
    return 1 if any(c.__name__ in transposed for c in type(module).__mro__) else 0


def _keys_of(table: dict[Any, Any], kind: type, name: str) -> list[Any]:
    """Where a table of hooks holds those of a kind that are for parameter ``name``."""
    hooks: list[tuple[Any, Any]] = [(key, hook) for key, hook in table.items() if isinstance(hook, kind)]
    return [key for key, hook in hooks if getattr(hook, "fn", hook).name == name]


def _check_new_hook(module: Any, kind: type, name: str) -> None:
    """RuntimeError for a second hook of a kind on one parameter."""
    if _keys_of(module._forward_pre_hooks, kind, name):
        words = "spectral_norm" if kind is SpectralNorm else "weight_norm"
        raise RuntimeError(f"Cannot register two {words} hooks on the same parameter {name}")


def _check_initialized(weight: Any, kind: type, what: str) -> None:
    """ValueError for a parameter whose shape is not known yet."""
    if isinstance(weight, UninitializedParameter):
        raise ValueError(
            f"The module passed to `{kind.__name__}` can't have uninitialized parameters. Make sure to run the dummy forward "
            f"before applying {what} normalization"
        )


class SpectralNorm:
    """The hook: power iteration on ``name_u`` and ``name_v``; ``name`` is ``name_orig`` / (uᵀ W v)."""

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name, self.dim, self.n_power_iterations, self.eps = name, dim, n_power_iterations, eps

    def reshape_weight_to_matrix(self, weight: Any) -> Any:
        """(size of ``dim``, the rest)."""
        return _as_matrix(weight, self.dim)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Any:
        """The weight; u and v are improved in place if wanted, since a copy of the module may share them."""
        weight, u, v = (getattr(module, self.name + ending) for ending in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            _power_iteration(matrix.detach(), u, v, self.n_power_iterations, self.eps)
            u, v = u.clone(), v.clone()  # backward of this forward must not see the next one's
        return weight / u.dot(matrix.mv(v))

    def remove(self, module: Any) -> None:
        """Makes the weight, as it is now, the parameter again."""
        with no_grad():
            weight = self.compute_weight(module, False)
        for ending in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + ending)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    def _solve_v_and_rescale(self, matrix: Any, u: Any, target_sigma: Any) -> Any:
        """v with u = unit(W v) and uᵀ W v = ``target_sigma``, of a state that holds u only."""
        import shim_torch

        v = (matrix.t().mm(matrix)).pinverse() @ (matrix.t() @ u)
        return v.mul_(target_sigma / shim_torch.dot(u, shim_torch.mv(matrix, v)))

    @staticmethod
    def apply(module: Any, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Keeps the parameter as ``name_orig`` and registers the hook."""
        _check_new_hook(module, SpectralNorm, name)
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        _check_initialized(weight, SpectralNorm, "spectral")
        sizes = zip(("_u", "_v"), hook.reshape_weight_to_matrix(weight.detach()).shape, strict=True)
        starts = {name + ending: _unit(weight.detach().new_empty(size).normal_(0, 1), eps) for ending, size in sizes}
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)
        for key, start in starts.items():
            module.register_buffer(key, start)
        for register, kept in (
            (module.register_forward_pre_hook, hook),
            (module._register_state_dict_hook, SpectralNormStateDictHook(hook)),
            (module._register_load_state_dict_pre_hook, SpectralNormLoadStateDictPreHook(hook)),
        ):
            register(kept)
        return hook


class SpectralNormLoadStateDictPreHook:
    """Finds v for states of the first version, which hold u and the divided weight."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        version = local_metadata.get("spectral_norm", {}).get(self.fn.name + ".version")
        key = prefix + self.fn.name
        held = {ending for ending in ("_orig", "", "_u", "_v") if key + ending in state_dict}
        # A state without its metadata is a new one if it has what those have.
        if held == {"_orig", "_u", "_v"} if version is None else version >= 1:
            return
        missing = [key + ending for ending in ("_orig", "", "_u") if ending not in held]
        if missing:
            missing_keys += missing if strict else []
            return
        with no_grad():
            original, weight = state_dict[key + "_orig"], state_dict.pop(key)
            matrix = self.fn.reshape_weight_to_matrix(original)
            sigma = (original / weight).mean()
            state_dict[key + "_v"] = self.fn._solve_v_and_rescale(matrix, state_dict[key + "_u"], sigma)


class SpectralNormStateDictHook:
    """Notes the version in the state's metadata."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: Any) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.fn.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divides a weight by its largest singular value before every forward."""
    SpectralNorm.apply(module, name, n_power_iterations, _dim_of_outputs(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Undoes ``spectral_norm``."""
    found = _keys_of(module._forward_pre_hooks, SpectralNorm, name)
    if not found:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    module._forward_pre_hooks.pop(found[0]).remove(module)
    for table, kind in (
        (module._state_dict_hooks, SpectralNormStateDictHook),
        (module._load_state_dict_pre_hooks, SpectralNormLoadStateDictPreHook),
    ):
        for key in _keys_of(table, kind, name)[:1]:
            del table[key]
    return module
