"""``torch.distributed.fsdp._state_dict_utils``: names of modules without what wrappers put into them."""

from __future__ import annotations


def _convert_to_wrapped_module_name(module_name: str) -> str:
    """A module's dotted name as its parameters' prefix, without the names that wrappers add; "" for no name."""
    for inserted in ("_fsdp_wrapped_module.", "_fsdp_wrapped_module"):
        module_name = module_name.replace(inserted, "")
    if module_name:
        module_name = f"{module_name}."
    return module_name.replace("_checkpoint_wrapped_module.", "")
