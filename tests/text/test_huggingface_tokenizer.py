"""Hugging Face tokenizers behind the seam; all of them are trained here, none is downloaded."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from tailwright.data.text import huggingface
from tailwright.data.text.huggingface import HuggingFaceTokenizer
from tailwright.data.text.vocabulary import WordVocabulary
from tailwright.errors import InputError
from tailwright.store import open_folder, writing

AnyTokenizer = HuggingFaceTokenizer | WordVocabulary
TEXTS = ["red hat", "blue hats and red shoes", "", "a hat", "shoes " * 40]
SPECIAL = ["[UNK]", "[CLS]", "[SEP]", "[PAD]"]


def word_piece(special: list[str] = SPECIAL, template: bool = True) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordPieceTrainer(vocab_size=80, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    if template:
        around = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=around
        )
    return tokenizer


def byte_level() -> Tokenizer:
    """As GPT-2: no unknown token, none around a text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<|endoftext|>"], show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


@pytest.fixture(params=["words", "word piece", "byte level"])
def tokenizer(request: pytest.FixtureRequest) -> AnyTokenizer:
    if request.param == "words":
        return WordVocabulary.build(TEXTS)
    if request.param == "word piece":
        return HuggingFaceTokenizer(word_piece())
    return HuggingFaceTokenizer(byte_level(), padding="<|endoftext|>")


def test_every_tokenizer_pads_cuts_and_stays_below_its_size(
    tokenizer: AnyTokenizer,
) -> None:
    for max_length in (3, 8, 500):
        batch = tokenizer.rows(TEXTS, max_length).padded()
        assert (batch.ids.dtype, batch.lengths.dtype) == (np.int32, np.int32)
        assert batch.ids.shape == (len(TEXTS), batch.lengths.max())
        assert 1 <= batch.lengths.min() <= batch.lengths.max() <= max_length
        assert 0 <= batch.ids.min() <= batch.ids.max() < tokenizer.size
        after = np.arange(batch.ids.shape[1]) >= batch.lengths[:, None]
        assert np.all(batch.ids[after] == tokenizer.padding_id)


def test_every_tokenizer_encodes_a_row_alone_as_in_a_batch(
    tokenizer: AnyTokenizer,
) -> None:
    batch = tokenizer.rows(TEXTS, 8).padded()
    for text, ids, length in zip(TEXTS, batch.ids, batch.lengths, strict=True):
        assert tokenizer.rows([text], 8).padded().ids.tolist() == [ids[:length].tolist()]
    assert tokenizer.rows([], 8).padded().ids.shape == (0, 0)


def test_every_tokenizer_is_the_same_after_saving(tokenizer: AnyTokenizer, tmp_path: Path) -> None:
    with writing(tmp_path / "run", kind="run") as folder:
        tokenizer.save(folder.sub("tokenizer"))
    loaded = type(tokenizer).load(open_folder(tmp_path / "run", kind="run").sub("tokenizer"))
    assert (loaded.size, loaded.padding_id) == (tokenizer.size, tokenizer.padding_id)
    assert np.array_equal(loaded.rows(TEXTS, 8).padded().ids, tokenizer.rows(TEXTS, 8).padded().ids)


def test_ids_are_those_of_the_library() -> None:
    plain = word_piece()
    batch = HuggingFaceTokenizer(word_piece()).rows(TEXTS, 500).padded()
    for text, ids, length in zip(TEXTS, batch.ids, batch.lengths, strict=True):
        assert ids[:length].tolist() == plain.encode(text).ids


def test_a_long_text_is_cut_between_its_special_tokens() -> None:
    plain = word_piece()
    (ids,) = HuggingFaceTokenizer(plain).rows(["blue hats and red shoes"], 4).padded().ids
    whole = plain.encode("blue hats and red shoes").ids
    assert ids.tolist() == [*whole[:3], plain.token_to_id("[SEP]")]


def test_truncation_and_padding_of_the_file_are_switched_off() -> None:
    set_up = word_piece()
    set_up.enable_truncation(3)
    set_up.enable_padding(length=64, direction="left", pad_id=3, pad_token="[PAD]")
    batch = HuggingFaceTokenizer(set_up).rows(TEXTS, 500).padded()
    assert np.array_equal(batch.ids, HuggingFaceTokenizer(word_piece()).rows(TEXTS, 500).padded().ids)
    assert set_up.truncation["max_length"] == 3  # the caller's object is left as it was


def test_lengths_of_two_calls_do_not_mix() -> None:
    tokenizer = HuggingFaceTokenizer(word_piece())
    assert [tokenizer.rows(["red hat " * 9], n).padded().ids.shape[1] for n in (4, 12, 4)] == [4, 12, 4]


def test_many_rows_are_encoded_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = HuggingFaceTokenizer(word_piece())
    whole = tokenizer.rows(TEXTS * 3, 9).padded()
    monkeypatch.setattr(huggingface, "ROWS_AT_ONCE", 4)
    parts = tokenizer.rows(TEXTS * 3, 9).padded()
    assert np.array_equal(parts.ids, whole.ids)
    assert np.array_equal(parts.lengths, whole.lengths)


def test_a_text_without_tokens_is_one_unknown_token() -> None:
    plain = word_piece(["[PAD]", "[UNK]"], template=False)
    batch = HuggingFaceTokenizer(plain).rows(["", "red"], 5).padded()
    assert (batch.ids[0, 0], batch.lengths[0]) == (1, 1)


def test_a_text_without_tokens_is_one_padding_token_where_nothing_is_unknown() -> None:
    tokenizer = HuggingFaceTokenizer(byte_level(), padding="<|endoftext|>")
    batch = tokenizer.rows([""], 5).padded()
    assert (batch.ids.tolist(), batch.lengths.tolist()) == ([[tokenizer.padding_id]], [1])


def test_size_has_room_for_the_largest_id() -> None:
    content = json.loads(word_piece().to_str())
    content["model"]["vocab"]["far"] = 999
    assert HuggingFaceTokenizer(Tokenizer.from_str(json.dumps(content))).size == 1000


def test_a_length_without_room_for_a_token_is_refused() -> None:
    with pytest.raises(ValueError, match="max_length must be > 2, the number of special tokens"):
        HuggingFaceTokenizer(word_piece()).rows(["red"], 2).padded()


def saved(folder: Path, tokenizer: Tokenizer, **beside: object) -> Path:
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, content in beside.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def test_the_padding_token_has_a_usual_name(tmp_path: Path) -> None:
    assert HuggingFaceTokenizer.from_folder(saved(tmp_path, word_piece())).padding_id == 3


def test_the_padding_token_is_the_one_of_the_padding_setting(tmp_path: Path) -> None:
    tokenizer = word_piece()
    tokenizer.enable_padding(pad_id=2, pad_token="[SEP]")
    assert HuggingFaceTokenizer.from_folder(saved(tmp_path, tokenizer)).padding_id == 2


@pytest.mark.parametrize("token", ["<|endoftext|>", {"content": "<|endoftext|>", "lstrip": False}])
@pytest.mark.parametrize("name", ["tokenizer_config", "special_tokens_map"])
def test_the_padding_token_is_named_by_a_file_beside(tmp_path: Path, name: str, token: object) -> None:
    saved(tmp_path, byte_level(), **{name: {"pad_token": token}})
    assert HuggingFaceTokenizer.from_folder(tmp_path).padding_id == 0


def test_the_padding_token_may_be_given(tmp_path: Path) -> None:
    saved(tmp_path, word_piece(), tokenizer_config={"pad_token": "[PAD]"})
    assert HuggingFaceTokenizer.from_folder(tmp_path, padding="[CLS]").padding_id == 1


def test_no_padding_token_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tokenizer\.json: no padding token, expected one of \[PAD\]"):
        HuggingFaceTokenizer.from_folder(saved(tmp_path, byte_level()))


def test_a_padding_token_outside_the_vocabulary_is_an_error() -> None:
    with pytest.raises(InputError, match="padding token '<none>', expected a token of its vocabulary"):
        HuggingFaceTokenizer(word_piece(), padding="<none>")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tokenizer\.json: no such file"):
        HuggingFaceTokenizer.from_folder(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", r"tokenizer\.json: not JSON"),
        (b"", r"tokenizer\.json: not JSON"),
        (b"\xff{}", r"tokenizer\.json: not JSON"),
        (b"{}", r"tokenizer\.json: not a tokenizer"),
        (b"[1]", r"tokenizer\.json: not a tokenizer"),
    ],
)
def test_a_file_that_is_no_tokenizer_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "tokenizer.json").write_bytes(content)
    with pytest.raises(InputError, match=message):
        HuggingFaceTokenizer.from_folder(tmp_path)


def test_a_damaged_saved_tokenizer_is_an_error(tmp_path: Path) -> None:
    with writing(tmp_path / "run", kind="run") as folder:
        folder.json("tokenizer.json", {"model": "none"})
    with pytest.raises(InputError, match=r"tokenizer\.json: not a tokenizer"):
        HuggingFaceTokenizer.load(open_folder(tmp_path / "run", kind="run"))


@pytest.mark.parametrize("in_sequence", [False, True])
def test_a_template_with_an_undescribed_token_is_an_error(tmp_path: Path, in_sequence: bool) -> None:
    content = json.loads(word_piece().to_str())
    processor = content["post_processor"]
    del processor["special_tokens"]["[SEP]"]
    if in_sequence:
        content["post_processor"] = {"type": "Sequence", "processors": [processor]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"not a tokenizer \(its template has '\[SEP\]', which is not among"):
        HuggingFaceTokenizer.from_folder(tmp_path)


def test_a_panic_of_the_library_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = json.loads(word_piece().to_str())
    del content["post_processor"]["special_tokens"]["[SEP]"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    monkeypatch.setattr(huggingface, "_check_templates", lambda processor: None)
    with pytest.raises(InputError, match=r"not a tokenizer \(no entry found for key\)"):
        HuggingFaceTokenizer.from_folder(tmp_path)


def test_a_huge_padding_of_the_file_is_ignored(tmp_path: Path) -> None:
    content = json.loads(word_piece().to_str())
    content["padding"] = {
        "strategy": {"Fixed": 10**12},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 3,
        "pad_type_id": 0,
        "pad_token": "[PAD]",
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    assert HuggingFaceTokenizer.from_folder(tmp_path).rows(["red hat"], 16).offsets[-1] < 10
