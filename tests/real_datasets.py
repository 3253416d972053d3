"""The names of the real datasets that have texts."""

from __future__ import annotations

TEXT_DATASETS = [
    "cooking-se",
    "cve-libraries",
    "reuters21578-all",
    "tibkat-gnd-en",
    "tibkat-keywords-titles",
    "winapi-seealso",
    "yso-finna-en",
]
