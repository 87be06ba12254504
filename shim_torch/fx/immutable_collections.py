"""``torch.fx.immutable_collections``: lists and dicts that don't change."""

from __future__ import annotations

from typing import Any

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self: Any, *_: Any, **__: Any) -> Any:
    raise TypeError(
        f"'{type(self).__name__}' object does not support mutation. If you are attempting to modify the kwargs or args of a "
        "torch.fx.Node object,\ninstead create a new copy of it and assign the copy to the node:\n\n"
        "    new_args = ...  # copy and mutate args\n    node.args = new_args"
    )


class immutable_list(list[Any]):
    """A list that doesn't change."""

    __delitem__ = __iadd__ = __imul__ = __setitem__ = append = clear = extend = insert = pop = remove = reverse = (
        sort
    ) = _refuse  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (tuple(self),)


class immutable_dict(dict[Any, Any]):
    """A dict that doesn't change."""

    __delitem__ = __ior__ = __setitem__ = clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (tuple(self.items()),)


def _register() -> None:
    from shim_torch.utils import _pytree

    keys = _pytree.SUPPORTED_NODES[dict].flatten_with_keys_fn, _pytree.SUPPORTED_NODES[list].flatten_with_keys_fn
    _pytree._private_register_pytree_node(
        immutable_dict,
        lambda d: (list(d.values()), list(d)),
        lambda values, context: immutable_dict(zip(context, values, strict=True)),
        serialized_type_name="torch.fx.immutable_collections.immutable_dict",
        flatten_with_keys_fn=keys[0],
    )
    _pytree._private_register_pytree_node(
        immutable_list,
        lambda items: (list(items), None),
        lambda values, _: immutable_list(values),
        serialized_type_name="torch.fx.immutable_collections.immutable_list",
        flatten_with_keys_fn=keys[1],
    )


_register()
