"""The document: style, plots and scripts in one file that asks the network for nothing.

Data reaches the scripts as JSON in elements that are never run, with every sign escaped that could end one.
The content policy lists the page's scripts by hash: nothing else runs, and nothing is fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

from markupsafe import Markup

from tailwright.errors import MissingExtraError
from tailwright.study.page.html import render
from tailwright.study.report.sections import Section

_SCRIPTS = ("tables.js", "views.js", "explorer.js")
_SURROGATES = re.compile("[\ud800-\udfff]")
# As escapes they are the same JSON; as they are, they could end the element or a line of script.
_ESCAPES = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


def document(title: str, lead: Sequence[str], sections: Sequence[Section]) -> str:
    """The whole page; `lead` are the paragraphs before the first section."""
    data: dict[str, Any] = {
        "views-data": {box.name: box.as_dict() for section in sections for box in section.views}
    }
    for section in sections:
        data |= section.scripts
    assets = resources.files(__package__) / "assets"
    scripts = [plotly_js(), *((assets / name).read_text(encoding="utf-8") for name in _SCRIPTS)]
    return render(
        __package__,
        "report.html.j2",
        title=title,
        lead=lead,
        sections=sections,
        policy=_policy(scripts),
        data={name: json_text(values) for name, values in data.items()},
        scripts=[Markup(script) for script in scripts],
    )


def json_text(values: Any) -> Markup:
    r"""Values as JSON that can stand inside a script element.

    >>> json_text({"label": "</script>"})
    Markup('{"label":"\\u003c/script\\u003e"}')
    """
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(_SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text).translate(_ESCAPES))


def plotly_js() -> str:
    """The script that draws; the package that carries it is an extra."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingExtraError("plotly", "report") from error
    # Its own text must not end the element it stands in.
    return str(get_plotlyjs()).replace("</script", "<\\/script")


def _policy(scripts: Sequence[str]) -> str:
    digests = (hashlib.sha256(script.encode("utf-8")).digest() for script in scripts)
    hashes = " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)
    rules = {
        "default-src": "'none'",
        "script-src": hashes,
        "style-src": "'unsafe-inline'",
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())
