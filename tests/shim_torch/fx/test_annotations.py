"""Annotations of what is traced, on nodes and in the code (the texts are PyTorch's)."""

import typing

import shim_torch as torch
from shim_torch import fx


def test_annotations_of_arguments_are_kept():
    def f(x: torch.Tensor, n: int = 3, y: typing.Optional[torch.Tensor] = None, *, z: "T" = None) -> torch.Tensor:  # noqa: F821, UP045
        return x + n

    traced = fx.symbolic_trace(f)
    assert [node.type for node in traced.graph.nodes if node.op == "placeholder"] == [
        torch.Tensor,
        int,
        typing.Optional[torch.Tensor],  # noqa: UP045
        "T",
    ]
    given = "x : torch.Tensor, n : int = 3, y : typing_Union[torch.Tensor,NoneType] = None, z : _T_ = None"
    assert f"def forward(self, {given}):" in traced.code
    assert traced(torch.ones(1)).item() == 4

    def g(x: list[torch.Tensor], y: "torch.Tensor | None" = None) -> tuple[torch.Tensor, int]:
        return x[0], 1

    assert "x : list[torch.Tensor]" in fx.symbolic_trace(g).code
    assert "-> tuple[torch.Tensor,int]:" in fx.symbolic_trace(g).code

    def h(x: "list[int]") -> "tuple[torch.Tensor,int]":
        return x

    assert "x : _list_int_) -> _tuple_torch_Tensor_int_:" in fx.symbolic_trace(h).code
