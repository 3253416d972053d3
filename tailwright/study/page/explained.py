"""An explanation as one HTML page."""

from __future__ import annotations

from markupsafe import Markup

from tailwright.runs.explaining import Explanation
from tailwright.study.page import short
from tailwright.study.page.html import render


def explanation_page(explanation: Explanation, command: str) -> str:
    """The whole document; `command` makes the page again."""
    text = " ".join(explanation.text.split())
    return render(
        __package__,
        "explained.html.j2",
        title=f"Why: {short(text, 80) or '(an empty text)'}",
        explanation=explanation,
        content=Markup(explanation._repr_html_()),
        command=command,
    )
