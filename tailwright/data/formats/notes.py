"""What reading says to the user: which columns were taken and which left, and what was odd in the rows."""

from __future__ import annotations

from collections.abc import Mapping

from tailwright.data.formats.columns import FileColumns, Oddity
from tailwright.data.formats.options import ReadOptions

NO_HEADER = "no header, so columns go by number and the first row is data"


def column_notes(files: Mapping[str, FileColumns], options: ReadOptions) -> list[str]:
    """A line on the columns of each file, once if it holds for all; none where all names are plain."""
    lines = {split: _columns(file, options) for split, file in files.items()}
    distinct = dict.fromkeys(line for line in lines.values() if line)
    if len(distinct) > 1:
        return [f"{files[split].path.name}: {line}" for split, line in lines.items() if line]
    return list(distinct)


def _columns(file: FileColumns, options: ReadOptions) -> str:
    """The line on one file: `text = title + body; labels = tags, split at '|'; ignored: price, sku`."""
    fields = file.fields
    named = (options.text, options.labels, options.separator, options.id, options.weight)
    if fields.is_plain() and not any(named):
        return ""
    labels = " + ".join((fields.labels, *fields.further))
    parts = [] if fields.has_header else [NO_HEADER]
    parts += [f"text = {' + '.join(fields.texts)}", f"labels = {labels}, {file.separation}"]
    if fields.id is not None:
        parts.append(f"id = {fields.id}")
    if file.weight is not None and (file.weight != 1).any():
        parts.append(f"weight = {fields.weight}")
    if fields.ignored:
        parts.append("ignored: " + ", ".join(name or "(a column without a name)" for name in fields.ignored))
    return "; ".join(parts)


def odd_notes(odd: Mapping[str, tuple[Oddity, ...]]) -> list[str]:
    """One line that counts what is odd in all files, if anything is."""
    counts: dict[str, int] = {}
    for some in odd.values():
        for each in some:
            counts[each.what] = counts.get(each.what, 0) + each.count
    if not counts:
        return []
    listed = ", ".join(f"{what} ({count:,})" for what, count in counts.items())
    return [f"odd rows, mended or kept: {listed}"]
