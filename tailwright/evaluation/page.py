"""A report as one HTML file: no network, no script, readable on a phone, in the dark and on paper.

Everything that comes from data goes through `escaped`; a label may be named `<script>`.
"""

from __future__ import annotations

import errno
import html
import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from tailwright.errors import InputError
from tailwright.store.errors import errors_of_writing
from tailwright.store.whole_file import sibling, write_whole

STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5a6472; --paper: #fff; --card: #f5f7f9;
  --grid: #d5dae0; --good: #0b6e4f; --band-0: #cfe2f5; --band-1: #e6ebf0; --band-2: #f8dcc8;
  --series-0: #9aa5b1; --series-1: #c08a3e; --series-2: #4c78a8; --series-3: #1b9e77;
  --series-4: #b04a7a; --series-5: #6b5fb5 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #9aa5b4; --paper: #14181f;
  --card: #1d232c; --grid: #39424e; --good: #5fd3a8; --band-0: #23405c; --band-1: #2b333d; --band-2: #573a26;
  --series-0: #8792a0; --series-1: #d9a253; --series-2: #6f9fd2; --series-3: #37bd93;
  --series-4: #cf6f9c; --series-5: #948ae0 } }
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1rem; max-width: 60rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.6rem; line-height: 1.2 }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem }
p { max-width: 44rem }
svg[role="img"] { display: block; width: 100%; max-width: 44rem; height: auto }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem }
figure { margin: 1rem 0 }
caption, figcaption { text-align: left; color: var(--soft); padding: .4rem 0 }
th, td { padding: .25rem .7rem .25rem 0; border-bottom: 1px solid var(--grid); text-align: right;
  white-space: nowrap }
th:first-child, td:first-child { text-align: left }
tbody th { font-weight: 400 }
td.best { font-weight: 700 }
pre { background: var(--card); padding: .8rem; white-space: pre-wrap }
.nothing, footer { color: var(--soft) }
.example { background: var(--card); padding: .2rem 1rem .8rem; margin: 1rem 0; border-radius: .4rem }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: 0 1.5rem }
.sides h3 { font-size: .95rem; margin: .6rem 0 0; color: var(--soft) }
.sides ol { margin: .2rem 0; padding-left: 1.4rem }
.right { color: var(--good); font-weight: 700 }
@media print { body { max-width: none; padding: 0; font-size: 10pt } .example, svg, table, pre
  { break-inside: avoid } h2 { break-after: avoid } }
"""

# HTML has no place for these, escaped or not.
_NOT_IN_HTML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def escaped(text: object) -> str:
    """Any text as it stands safely between tags and in attributes.

    >>> escaped('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    return html.escape(_NOT_IN_HTML.sub("\N{REPLACEMENT CHARACTER}", str(text)), quote=True)


def paragraph(text: object) -> str:
    """Plain text as a paragraph."""
    return f"<p>{escaped(text)}</p>"


def figure(drawing: str, caption: str) -> str:
    """A drawing that is HTML or SVG already, with words above it."""
    return f"<figure><figcaption>{escaped(caption)}</figcaption>{drawing}</figure>"


def commands(lines: Sequence[str]) -> str:
    """Commands to type, one a line."""
    return f"<pre><code>{escaped(chr(10).join(lines))}</code></pre>"


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    caption: str,
    best: Collection[tuple[int, int]] = (),
) -> str:
    """Cells of text under a header; the first of a row names it, (row, column) in `best` stands out."""
    head = "".join(f'<th scope="col">{escaped(cell)}</th>' for cell in header)
    lines = []
    for number, (name, *cells) in enumerate(rows):
        line = f'<tr><th scope="row">{escaped(name)}</th>'
        for column, cell in enumerate(cells, start=1):
            mark = ' class="best"' if (number, column) in best else ""
            line += f"<td{mark}>{escaped(cell)}</td>"
        lines.append(f"{line}</tr>")
    return (
        f'<div class="wide"><table><caption>{escaped(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def section(title: str, *parts: str, anchor: str = "") -> str:
    """A heading over parts that are HTML already; links within the page lead to its `anchor`."""
    name = f' id="{escaped(anchor)}"' if anchor else ""
    return f"<section{name}><h2>{escaped(title)}</h2>\n{chr(10).join(parts)}</section>"


def page(title: str, parts: Sequence[str], footer: str, *, head: str = "", end: str = "") -> str:
    """The whole document; `parts` are HTML already, and so is what joins the head and the body's end."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>{STYLE}</style>\n{head}</head>\n<body>\n"
        f"<main>\n<h1>{escaped(title)}</h1>\n{chr(10).join(parts)}\n</main>\n"
        f"<footer><p>{escaped(footer)}</p></footer>\n{end}</body>\n</html>\n"
    )


def refuse_unwritable(path: Path) -> None:
    """InputError unless a file can be written at `path`: to be asked before long work, not after it."""
    with errors_of_writing(path):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        # A rename would put the page in the place of a device or a pipe.
        if path.exists() and not path.is_file():
            raise InputError("is no plain file", expected="a new file or one to replace", path=path)
        staged = sibling(path)
        staged.open("xb").close()
        staged.unlink()


def write_page(path: Path, content: str) -> None:
    """The whole file or none: it is written beside its place and renamed."""
    write_whole(path, content.encode("utf-8"))
