"""How a command shows what can be set of a method."""

from __future__ import annotations

from typing import Any

from tailwright.cli.output import Output
from tailwright.settings import settings_table


def show_settings(out: Output, name: str, summary: str, kind: type, prefix: str = "") -> dict[str, Any]:
    """Print every setting with its default and meaning; the same as a part of the result."""
    found = settings_table(kind)
    out.text(f"{name}: {summary}")
    out.text()
    if found:
        rows = [[f"{prefix}{one.name}", _shown(one.default), one.meaning] for one in found]
        out.table(["setting", "default", "meaning"], rows)
    else:
        out.text("nothing can be set")
    settings = [
        {"name": f"{prefix}{one.name}", "default": one.default, "meaning": one.meaning} for one in found
    ]
    return {"name": name, "summary": summary, "settings": settings}


def _shown(value: Any) -> str:
    """A default as `--set` takes it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
