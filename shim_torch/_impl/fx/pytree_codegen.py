"""Code of graphs whose function takes nested arguments: flattened at its start; the result is unflattened."""

from __future__ import annotations

from typing import Any, NamedTuple

from shim_torch._impl.fx.codegen import CodeGen
from shim_torch.utils import _pytree

__all__ = ["PyTreeInfo", "_PyTreeCodeGen"]


class PyTreeInfo(NamedTuple):
    """The names of a function's arguments and how they and the result are nested."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


class _PyTreeCodeGen(CodeGen):
    def __init__(self, pytree_info: PyTreeInfo) -> None:
        self.pytree_info = pytree_info

    def process_inputs(self, *args: Any) -> Any:
        return _pytree.tree_flatten(args)[0]

    def process_outputs(self, outputs: Any) -> Any:
        if not isinstance(outputs, (list, tuple)):
            outputs = (outputs,)
        return _pytree.tree_unflatten(outputs, self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        names = list(self.pytree_info.orig_args)
        if names[:1] == ["self"]:
            names = names[1:]
        head = super().gen_fn_def(names, maybe_return_annotation)
        bare = [v.split(":")[0].split("=")[0].strip() for v in free_vars]
        seen = [v.split("=")[0].strip() for v in free_vars if ': "' in v]
        if seen:  # the values that a trace saw, in code to be read
            head += "\n    " + "".join(f"{v}; " for v in seen) + "\n"
        if bare:
            head += f"\n    {', '.join(bare)}, = fx_pytree.tree_flatten_spec([{', '.join(names)}], self._in_spec)"
        return head

    def generate_output(self, output_args: Any, text: str = "") -> str:
        return f"return pytree.tree_unflatten({text or repr(output_args)}, self._out_spec)"

    generate_output._takes_text = True  # type: ignore[attr-defined]

    def additional_globals(self) -> list[tuple[str, Any]]:
        from shim_torch.fx import _pytree as fx_pytree

        return [("fx_pytree", fx_pytree), ("pytree", _pytree)]
