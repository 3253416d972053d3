"""Pages: from Jinja2 templates to one HTML file that needs no network.

Every value is escaped when a template prints it; a label may be named `<script>`.
"""

from __future__ import annotations

import errno
import os
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tailwright import __version__
from tailwright.data.text.printable import printable
from tailwright.errors import InputError
from tailwright.store.errors import errors_of_writing
from tailwright.store.placing import staging
from tailwright.store.whole_file import write_whole


@cache
def templates(package: str = __package__) -> Environment:
    """The templates of a package, which may extend and import those of this one."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(__package__)]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printed,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["version"] = __version__
    return environment


def _printed(value: Any) -> Any:
    """What a template prints in place of a value; what is HTML already stays as it is."""
    return value if hasattr(value, "__html__") else printable(str(value))


def render(package: str, template: str, **values: Any) -> Markup:
    """The template of that package with these values, as HTML."""
    return Markup(templates(package).get_template(template).render(values))


def refuse_unwritable(path: Path) -> None:
    """InputError unless a file can be written at `path`; call it before long work."""
    with errors_of_writing(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        # A rename would put the page in the place of a device or a pipe.
        if path.exists() and not path.is_file():
            raise InputError("is no plain file", expected="a new file or one to replace", path=path)
        with staging(path):
            pass  # whoever may make a folder beside it may write it


def write_page(path: Path, content: str) -> None:
    """Write the whole file or nothing, in UTF-8."""
    write_whole(path, content.encode("utf-8"))
