"""Reads a page as a browser would begin to: tags must balance, and nothing may be fetched or run."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reading(HTMLParser):
    """Every tag with its attributes, the text inside each, and what is wrong."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.wrong: list[str] = []
        self.feed(page)
        self.close()
        self.wrong += [f"<{tag}> is never closed" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in {"script", "iframe", "object", "link", "img"}:
            self.wrong.append(f"<{tag}>")
        for name, value in attrs:
            if name.startswith("on") or name in {"src", "href", "xlink:href", "action"}:
                self.wrong.append(f"{name}={value}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        if self.open and data.strip():
            self.texts.append((self.open[-1], data.strip()))

    def of(self, tag: str) -> list[str]:
        """The texts directly inside the tags of that name."""
        return [text for inside, text in self.texts if inside == tag]

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)
