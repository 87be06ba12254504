"""``torch.distributed.tensor``: tensors that are spread over a mesh of processes."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.distributed import dispatch, parts, redistribute, sharding_rules_more, spread_files
from shim_torch._impl.native import _core
from shim_torch.distributed.device_mesh import DeviceMesh, entered_mesh, init_device_mesh
from shim_torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from shim_torch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard, _Split

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor", "empty", "full",
    "init_device_mesh", "ones", "zeros",
]  # fmt: skip


class DTensor(_core.Tensor):
    """A tensor that is spread over a mesh: ``from_local``, ``distribute_tensor`` make it. It has the whole's shape, and a part's memory."""

    __slots__ = ("_local_tensor", "_spec")

    @staticmethod
    def __new__(cls: Any, local_tensor: Any, spec: DTensorSpec, *, requires_grad: bool = False) -> Any:
        meta = spec._known()
        made = _core.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, meta.shape, strides=meta.stride, dtype=local_tensor.dtype, device=local_tensor.device, requires_grad=requires_grad
        )  # fmt: skip
        made._local_tensor, made._spec = local_tensor.detach(), spec
        return made

    @classmethod
    def _made(cls, local: Any, spec: DTensorSpec) -> Any:
        return DTensor(local, spec)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return dispatch.dispatch(func, args, kwargs or {})

    @staticmethod
    def from_local(
        local_tensor: Any, device_mesh: Any = None, placements: Any = None, *, run_check: bool = False, shape: Any = None,
        stride: Any = None, grad_placements: Any = None,
    ) -> DTensor:  # fmt: skip
        """What each process holds, as one tensor; gradients go back to the parts."""
        mesh = entered_mesh(device_mesh)
        placements = redistribute.normal(placements, mesh, local_tensor.dim())
        if run_check:
            raise NotImplementedError(
                "torch.distributed.tensor.DTensor.from_local: run_check=True is not supported by shim-torch"
            )
        return _FromLocal.apply(local_tensor, mesh, placements, shape, stride, grad_placements)  # type: ignore[no-any-return]

    def to_local(self, *, grad_placements: Any = None) -> Any:
        """This process's part. ``grad_placements``: how its gradient is placed, where not as the tensor."""
        return _ToLocal.apply(self, grad_placements)

    def redistribute(
        self, device_mesh: Any = None, placements: Any = None, *, async_op: bool = False, forward_dtype: Any = None,
        backward_dtype: Any = None,
    ) -> DTensor:  # fmt: skip
        """The same tensor placed otherwise. Errors: RuntimeError for a placement as parts of a sum."""
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        mesh = self._spec.mesh if device_mesh is None else device_mesh
        if mesh != self._spec.mesh or forward_dtype is not None or backward_dtype is not None:
            raise NotImplementedError(
                "torch.distributed.tensor.DTensor.redistribute: another mesh and other dtypes are not supported by shim-torch"
            )
        placements = redistribute.normal(placements, mesh, self.dim())
        for old, new in zip(self._spec.placements, placements, strict=True):
            if isinstance(new, Partial) and old != new:
                raise RuntimeError(
                    f"Can not redistribute from {old} to {new}, redistributing to Partial is for internal use only!"
                )
        return _Redistribute.apply(self, placements)  # type: ignore[no-any-return]

    def full_tensor(self, *, grad_placements: Any = None) -> Any:
        """The whole tensor, in each process."""
        whole = self.redistribute(placements=[Replicate()] * self._spec.mesh.ndim)
        return whole.to_local(grad_placements=grad_placements)

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh that it is spread over."""
        return self._spec.mesh  # type: ignore[no-any-return]

    @property
    def placements(self) -> tuple[Placement, ...]:
        """How each dimension of the mesh holds it."""
        return self._spec.placements

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"DTensor(local_tensor={self._local_tensor}, device_mesh={self._spec.mesh}, placements={self._spec.placements})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuilt, (self._local_tensor, self._spec, self.requires_grad)

    def __deepcopy__(self, memo: Any) -> Any:
        made = DTensor(self._local_tensor.clone(), self._spec, requires_grad=self.requires_grad)
        memo[id(self)] = made
        return made

    def tolist(self) -> Any:
        """The whole tensor's elements."""
        return self.full_tensor().tolist()


def _rebuilt(local: Any, spec: DTensorSpec, requires_grad: bool) -> DTensor:
    return DTensor(local, spec, requires_grad=requires_grad)


def _for_gradients(placements: Any) -> tuple[Placement, ...]:
    """Of a gradient: whole where the tensor is parts of a sum."""
    return tuple(Replicate() if isinstance(p, Partial) else p for p in placements)


def _function() -> Any:
    from shim_torch.autograd import Function

    return Function


class _FromLocal(_function()):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, local: Any, mesh: Any, placements: Any, shape: Any, stride: Any, grad_placements: Any) -> Any:
        ctx.placements = _for_gradients(placements if grad_placements is None else grad_placements)
        if shape is None:
            sizes = list(local.shape)
            for i, p in enumerate(placements):
                if isinstance(p, _Split):
                    sizes[p.dim] *= mesh.shape[i]
            shape, stride = tuple(sizes), _strides(local, sizes)
        elif stride is None:
            raise RuntimeError(
                f"Please pass both shape and stride at the same time. Got shape: {shape} and stride: None"
            )
        import shim_torch as torch

        meta = TensorMeta(torch.Size(shape), tuple(stride), local.dtype)
        return DTensor(local.view_as(local), DTensorSpec(mesh, placements, meta), requires_grad=local.requires_grad)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        spec = grad._spec
        local = redistribute.move(grad._local_tensor, spec.shape, spec.mesh, spec.placements, ctx.placements)
        return local, None, None, None, None, None


def _strides(local: Any, sizes: list[int]) -> tuple[int, ...]:
    """Of the whole: its dims in memory in the local part's order."""
    order = sorted(range(local.dim()), key=lambda d: (local.stride(d), -d))
    found, step = [0] * local.dim(), 1
    for d in order:
        found[d] = step
        step *= max(1, sizes[d])
    return tuple(found)


class _ToLocal(_function()):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, x: Any, grad_placements: Any) -> Any:
        ctx.spec = x._spec
        ctx.placements = _for_gradients(x._spec.placements) if grad_placements is None else tuple(grad_placements)
        return x._local_tensor.view_as(x._local_tensor)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        meta = ctx.spec._known()
        spec = DTensorSpec(ctx.spec.mesh, ctx.placements, TensorMeta(meta.shape, meta.stride, grad.dtype))
        return DTensor(grad, spec), None


class _Redistribute(_function()):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, x: Any, placements: Any) -> Any:
        spec = x._spec
        ctx.placements = _for_gradients(spec.placements)
        local = redistribute.move(x._local_tensor, spec.shape, spec.mesh, spec.placements, placements)
        if local is x._local_tensor:
            local = local.view_as(local)
        return DTensor(local, DTensorSpec(spec.mesh, placements, spec.tensor_meta), requires_grad=x.requires_grad)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        spec = grad._spec
        local = redistribute.move(grad._local_tensor, spec.shape, spec.mesh, spec.placements, ctx.placements)
        return DTensor(local, DTensorSpec(spec.mesh, ctx.placements, spec.tensor_meta)), None


def distribute_tensor(
    tensor: Any, device_mesh: Any = None, placements: Any = None, *, src_data_rank: int | None = 0
) -> DTensor:
    """A tensor of the mesh's first process, spread; with ``src_data_rank=None`` each process's own is cut. A leaf stays one."""
    from shim_torch.distributed import broadcast

    mesh = entered_mesh(device_mesh)
    if isinstance(tensor, DTensor):
        if tensor._spec.mesh != mesh or tensor.placements != redistribute.normal(placements, mesh, tensor.dim()):
            raise ValueError(
                "Cannot distribute a DTensor with another device mesh or other placements: use redistribute"
            )
        return tensor
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    placements = redistribute.normal(placements, mesh, tensor.dim())
    whole = tensor.detach() if tensor.is_meta else tensor.detach().to(mesh.device_type)
    if src_data_rank is not None and not tensor.is_meta:
        whole = whole.contiguous() if whole is not tensor.detach() else whole.clone()
        whole = whole.clone() if whole.data_ptr() == tensor.data_ptr() else whole
        for i in range(mesh.ndim):
            if mesh.shape[i] > 1:
                broadcast(whole, group=mesh.get_group(i), group_src=src_data_rank)
    local = redistribute.move(whole, whole.shape, mesh, [Replicate()] * mesh.ndim, placements)
    local = local.clone() if local.is_meta or local.data_ptr() == tensor.data_ptr() else local
    meta = TensorMeta(tensor.shape, tuple(tensor.stride()), tensor.dtype)
    return DTensor(local, DTensorSpec(mesh, placements, meta), requires_grad=tensor.requires_grad)


def _copy_whole(module: Any, mesh: Any) -> None:
    """What of a module's own parameters and buffers is no DTensor becomes one, with a whole copy in each process."""
    from shim_torch import nn

    held = [(kind, name, t) for kind in (module._parameters, module._buffers) for name, t in kind.items()]
    for kind, name, t in held:
        if t is None or isinstance(t, DTensor):
            continue
        if kind is module._parameters:
            kind[name] = nn.Parameter(distribute_tensor(t.detach(), mesh), t.requires_grad)
        else:
            kind[name] = distribute_tensor(t, mesh)


def distribute_module(
    module: Any, device_mesh: Any = None, partition_fn: Any = None, input_fn: Any = None, output_fn: Any = None
) -> Any:
    """Makes a module's parameters and buffers DTensors: by ``partition_fn(name, module, mesh)``, the others whole copies."""
    mesh = entered_mesh(device_mesh)
    for name, child in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, child, mesh)
        _copy_whole(child, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda m, inputs: input_fn(m, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda m, _, outputs: output_fn(m, outputs, mesh))
    return module


def _factory(name: str) -> Any:
    def make(
        *size: Any, dtype: Any = None, requires_grad: bool = False, device_mesh: Any = None, placements: Any = None
    ) -> DTensor:
        import shim_torch as torch

        *shape, value = size if name == "full" else (*size, None)
        shape = list(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
        mesh = entered_mesh(device_mesh)
        placements = redistribute.normal(placements, mesh, len(shape))
        local = redistribute.local_shape(shape, mesh, placements)[0]
        given = (local, value) if name == "full" else (local,)
        part = getattr(torch, name)(*given, dtype=dtype, device=mesh.device_type)
        meta = TensorMeta(torch.Size(shape), parts.contiguous_strides(shape), part.dtype)
        return DTensor(part, DTensorSpec(mesh, placements, meta), requires_grad=requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"``torch.{name}``, spread over a mesh."
    return make


zeros = _factory("zeros")
ones = _factory("ones")
empty = _factory("empty")
full = _factory("full")

spread_files.allow([DTensor, DTensorSpec, DeviceMesh, TensorMeta, Shard, Replicate, Partial, _rebuilt])


def __getattr__(name: str) -> Any:
    from shim_torch._impl.surface.missing import missing

    return missing("torch.distributed.tensor", name)
