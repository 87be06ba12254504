"""Tables of words: sorted, in lines of one width."""

import textwrap


def lines_of(words, width, indent=""):
    """The words as lines, each with its line break."""
    wrapper = textwrap.TextWrapper(
        width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "".join(line + "\n" for line in wrapper.wrap(" ".join(words)))
