"""`HuggingFaceTokenizer`: a tokenizer.json that gives the token ids which sequence models read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from tailwright.data.dataset import arrow_strings
from tailwright.data.text.sequences import TokenRows, cut_rows
from tailwright.data.text.words import Texts
from tailwright.errors import InputError, quoted
from tailwright.store import FolderReader, FolderWriter
from tailwright.store.shared import content_key

FILE = "tokenizer.json"

# Rows encoded at once; the library's own objects take kilobytes per row.
ROWS_AT_ONCE = 8192

_USUAL_PADDING = ("[PAD]", "<pad>", "<|pad|>", "<PAD>")


class HuggingFaceTokenizer:
    """A `tokenizers.Tokenizer` that gives `TokenRows`; the library tokenises in threads.

    Truncation and padding settings in the file are ignored: `rows` gets the length, cuts the text's own
    tokens and keeps the special ones around them. The padding token is the first of `padding`, the file's
    padding setting, the `pad_token` of the files beside it, a special token with a usual name.
    """

    def __init__(
        self, tokenizer: Tokenizer, padding: str | None = None, *, source: str = "tokenizer"
    ) -> None:
        content = json.loads(tokenizer.to_str())
        # A copy, since another user of the same object may set its truncation to something else.
        self._tokenizer = Tokenizer.from_str(json.dumps({**content, "truncation": None, "padding": None}))
        _check_that_it_reads(self._tokenizer, content, source)
        # padding_id fills a row after its last token.
        self._padding, self.padding_id = _padding_token(content, self._tokenizer, padding, source)
        self._if_empty = _unknown_id(content["model"], self._tokenizer)
        self._lock = Lock()

    @staticmethod
    def from_folder(folder: str | Path, padding: str | None = None) -> HuggingFaceTokenizer:
        """The tokenizer.json in `folder`."""
        path = Path(folder) / FILE
        tokenizer = _parsed(_read(path), path)
        if padding is None and tokenizer.padding is None:
            padding = _padding_beside(Path(folder))
        return HuggingFaceTokenizer(tokenizer, padding, source=str(path))

    @cached_property
    def size(self) -> int:
        """How many rows an embedding table needs: not the number of tokens, as ids may have gaps."""
        return 1 + max(self._tokenizer.get_vocab(with_added_tokens=True).values())

    @property
    def identity(self) -> str:
        """A digest of everything that determines the ids."""
        return content_key(self._whole(), self.padding_id)

    def rows(self, texts: Texts, max_length: int) -> TokenRows:
        """The ids of each text, at most `max_length` with its special tokens; an empty text gets one id."""
        special = self._tokenizer.num_special_tokens_to_add(is_pair=False)
        if max_length <= special:
            least = f"> {special}, the number of special tokens of a text"
            raise ValueError(f"max_length must be {least}, got {max_length}")
        ids, counts = [np.empty(0, np.int32)], [np.zeros(1, np.int64)]
        for rows in self._encoded(texts, max_length):
            counts.append(np.array([len(row) for row in rows], dtype=np.int64))
            ids.append(np.array([token for row in rows for token in row], dtype=np.int32))
        if_empty = self.padding_id if self._if_empty is None else self._if_empty
        offsets = np.cumsum(np.concatenate(counts))
        return cut_rows(np.concatenate(ids), offsets, max_length, padding=self.padding_id, if_empty=if_empty)

    def save(self, folder: FolderWriter) -> None:
        """Write tokenizer.json, with the padding token in its padding setting."""
        folder.json(FILE, json.loads(self._whole()))

    @staticmethod
    def load(folder: FolderReader) -> HuggingFaceTokenizer:
        path = folder.path / FILE
        return HuggingFaceTokenizer(_parsed(folder.json(FILE), path), source=str(path))

    def _encoded(self, texts: Texts, max_length: int) -> Iterator[list[list[int]]]:
        """The ids of the texts, `ROWS_AT_ONCE` at a time."""
        column = arrow_strings(texts)
        for start in range(0, len(column), ROWS_AT_ONCE):
            some = column.slice(start, ROWS_AT_ONCE).to_pylist()
            # Truncation is state of the tokenizer, and another thread may want another length.
            with self._lock:
                self._tokenizer.enable_truncation(max_length)
                rows = self._tokenizer.encode_batch_fast(some)  # without positions in the text
            yield [row.ids for row in rows]

    def _whole(self) -> str:
        """The tokenizer.json, without the truncation that `rows` sets and with the padding token."""
        whole = Tokenizer.from_str(self._tokenizer.to_str())
        whole.no_truncation()
        whole.enable_padding(pad_id=self.padding_id, pad_token=self._padding)
        return str(whole.to_str())


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise InputError("no such file", expected=f"a {FILE}", path=path) from error
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path) from error
    except ValueError as error:  # JSONDecodeError and UnicodeDecodeError are
        raise InputError(f"not JSON ({error})", expected=f"a {FILE}", path=path) from error


def _parsed(content: Any, path: Path) -> Tokenizer:
    try:
        return Tokenizer.from_str(json.dumps(content))
    except Exception as error:  # the library raises bare Exception
        raise InputError(f"not a tokenizer ({error})", expected=f"a {FILE}", path=path) from error


def _check_that_it_reads(tokenizer: Tokenizer, content: Any, source: str) -> None:
    """An InputError unless it reads a text."""
    try:
        _check_templates(content["post_processor"])
        tokenizer.encode_batch_fast(["a text"])
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of the library are no Exception
        raise InputError(f"not a tokenizer ({error})", expected=f"a {FILE}", path=source) from error


def _check_templates(processor: dict[str, Any] | None) -> None:
    """Templates have special tokens that are described beside them alone: at others the library panics."""
    for one in (processor or {}).get("processors", [processor or {}]):
        pieces = [*one.get("single", []), *one.get("pair", [])]
        tokens = [piece["SpecialToken"]["id"] for piece in pieces if "SpecialToken" in piece]
        unknown = next((token for token in tokens if token not in one["special_tokens"]), None)
        if unknown is not None:
            raise ValueError(f"its template has {quoted(unknown)}, which is not among its special tokens")


def _padding_beside(folder: Path) -> str | None:
    """The `pad_token` in the configuration files beside a tokenizer.json, if there is one."""
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        path = folder / name
        content = _read(path) if path.exists() else None
        token = content.get("pad_token") if isinstance(content, dict) else None
        token = token.get("content") if isinstance(token, dict) else token
        if isinstance(token, str):
            return token
    return None


def _padding_token(content: Any, tokenizer: Tokenizer, wanted: str | None, source: str) -> tuple[str, int]:
    if wanted is None and content["padding"] is not None:
        wanted = content["padding"]["pad_token"]
    if wanted is None:
        special = {token["content"] for token in content["added_tokens"] if token["special"]}
        wanted = next((token for token in _USUAL_PADDING if token in special), None)
    if wanted is None:
        usual = ", ".join(_USUAL_PADDING)
        raise InputError("no padding token", expected=f"one of {usual}, or its name", path=source)
    number = tokenizer.token_to_id(wanted)
    if number is None:
        raise InputError(f"padding token {quoted(wanted)}", expected="a token of its vocabulary", path=source)
    return wanted, number


def _unknown_id(model: dict[str, Any], tokenizer: Tokenizer) -> int | None:
    """The token of an empty text; None if the model has no unknown token, like byte-level models."""
    if model.get("unk_id") is not None:
        return int(model["unk_id"])
    token = model.get("unk_token")
    number = None if token is None else tokenizer.token_to_id(token)
    return None if number is None else int(number)
