"""The document: shared style, plots and scripts in one file that asks the network for nothing.

Data reaches the scripts as JSON in blocks that are never run, with every sign escaped that could end a block.
The content policy names the scripts of the page by their hash: nothing else runs, and nothing is fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from tailwright.errors import MissingExtraError
from tailwright.evaluation.page import escaped, page, section
from tailwright.study.report.parts import Section

_SCRIPTS = ("tables.js", "views.js", "explorer.js")
_SURROGATES = re.compile("[\ud800-\udfff]")
# As escapes they are the same JSON; as they are, they could end the block or a line of script.
_ESCAPES = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


def document(title: str, lead: Sequence[str], sections: Sequence[Section], footer: str) -> str:
    """The whole page; `lead` are HTML paragraphs before the first section."""
    views = {box.name: box.as_dict() for part in sections for box in part.views}
    blocks: dict[str, Any] = {"views-data": views}
    for part in sections:
        blocks |= part.scripts
    scripts = [plotly_js(), *(_asset(name) for name in _SCRIPTS)]
    links = "".join(f'<li><a href="#{escaped(p.anchor)}">{escaped(p.title)}</a></li>' for p in sections)
    parts = [
        *lead,
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>',
        "<noscript><p>Plots, sorting and search need JavaScript; nothing is fetched for them.</p></noscript>",
        *(section(part.title, part.html, anchor=part.anchor) for part in sections),
    ]
    head = f'<meta http-equiv="Content-Security-Policy" content="{escaped(_policy(scripts))}">\n'
    head += f"<style>{_asset('report.css')}</style>\n"
    end = "".join(
        f'<script type="application/json" id="{escaped(name)}">{json_block(values)}</script>\n'
        for name, values in blocks.items()
    )
    end += "".join(f"<script>{script}</script>\n" for script in scripts)
    return page(title, parts, footer, head=head, end=end)


def json_block(values: Any) -> str:
    r"""Values as JSON that can stand inside a script element.

    >>> json_block({"label": "</script>"})
    '{"label":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text).translate(_ESCAPES)


def plotly_js() -> str:
    """The script that draws; the package that carries it is an extra."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingExtraError("plotly", "report") from error
    # Its own text must not end the element it stands in.
    return str(get_plotlyjs()).replace("</script", "<\\/script")


def _policy(scripts: Sequence[str]) -> str:
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    rules: Mapping[str, str] = {
        "default-src": "'none'",
        "script-src": hashes,
        "style-src": "'unsafe-inline'",
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _asset(name: str) -> str:
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")
