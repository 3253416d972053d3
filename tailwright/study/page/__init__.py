"""What all HTML pages share: templates, SVG plots, writing the file."""


def short(text: str, limit: int) -> str:
    """A text cut to a length.

    >>> short("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= limit else text[: limit - 1] + "…"
