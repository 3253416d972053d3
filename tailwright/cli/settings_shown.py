"""How a command shows what can be set of a method."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from tailwright.cli.output import Output
from tailwright.settings import settings_table


def show_settings(out: Output, name: str, summary: str, kind: type, prefix: str = "") -> dict[str, Any]:
    """Print every setting of `kind`; the same as a dictionary, for JSON."""
    settings = [replace(one, name=f"{prefix}{one.name}") for one in settings_table(kind)]
    out.text(f"{name}: {summary}")
    out.text()
    if settings:
        rows = [[one.name, _shown(one.default), one.takes, one.meaning] for one in settings]
        out.table(["setting", "default", "takes", "meaning"], rows)
    else:
        out.text("nothing can be set")
    return {"name": name, "summary": summary, "settings": [asdict(one) for one in settings]}


def _shown(value: Any) -> str:
    """A default as `--set` takes it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value).replace("\n", "\\n")
