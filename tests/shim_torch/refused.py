"""A call that is refused: by which error, in which words."""

from __future__ import annotations

import pytest


def check_refused(call, error, text):
    """The call raises this very class of error, whose text begins so."""
    with pytest.raises(error) as raised:
        call()
    assert type(raised.value) is error
    assert str(raised.value).startswith(text)
