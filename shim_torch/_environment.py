"""``torch._environment``: which build this is."""


def is_fbcode() -> bool:
    """Whether this is Meta's internal build: no."""
    return False
