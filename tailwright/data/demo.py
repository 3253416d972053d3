"""The demo corpus: WordNet as a long-tailed classification problem, built on the user's own machine.

A row is a synset with the text `lemmas : gloss`; its labels are the synsets it is related to, whose texts
have the same form. All relations of WordNet count. Those with a direction are read from the narrower synset
to the wider one only: hyponym to hypernym, instance to class, part to whole, term to its topic, region or
usage, satellite adjective to its head. The others (antonym, derived form, verb group, also see, attribute,
entailment, cause, participle, pertainym) are read as the files have them.

| WordNet 3.0 | |
|---|---|
| synsets | 117,659 |
| without any related synset, left out | 1,030 |
| rows | 116,629 (93,303 training, 23,326 test) |
| labels | 58,506, of which 25,275 have one row and 49,513 at most five; the largest has 673 |
| labels per row | 1.90 |

About a seventh of the test pairs have a label without training rows. A synset that is itself a label has that
label in `excluded`: a synset is never the answer to its own text.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
from scipy import sparse

from tailwright.data.cache import cached
from tailwright.data.corpus import Corpus, LabelSpace, load_corpus, save_corpus
from tailwright.data.dataset import Dataset, share_of
from tailwright.data.wordnet import (
    RELATION_CODES,
    RELATIONS,
    WordNetDatabase,
    files_digest,
    find_wordnet,
    load_wordnet,
)
from tailwright.errors import InputError
from tailwright.streams import stream

# To be raised whenever the same files, size and seed give another corpus, so that caches are made again.
VERSION = 1

# Hyponyms, meronyms and members of a domain: these lead from the wider synset to the narrower one. The files
# also hold the inverse of each.
TO_NARROWER = tuple(name for symbol, name in RELATIONS.items() if symbol[0] in "~%-")
# Measured over four seeds at 200, 2,000 and 20,000 rows: 20 comes closest to the full corpus, with 0.43 to
# 0.48 times as many labels as rows (full: 0.50) and 0.41 to 0.50 of them with one row (full: 0.43). With 50 a
# single label takes a fifth of a corpus of 200 rows.
NEIGHBOURHOOD = 20
SMALLEST = 20
PART_NAMES = {"n": "noun", "v": "verb", "a": "adjective", "r": "adverb"}


def demo_corpus(size: int | None = None, seed: int = 0) -> Corpus:
    """The demo corpus, or one of about `size` rows with a similar shape; cached in the cache folder.

    The seed draws the split (80 % of the rows for training) and the rows of a small corpus. Texts, label ids
    and label names are the same in corpora of all sizes. Needs WordNet: `tailwright[wordnet]`.

    >>> corpus = demo_corpus(2000)    # doctest: +SKIP
    """
    if size is not None and size < SMALLEST:
        raise InputError(f"a demo corpus of {size} rows", expected=f"a size of at least {SMALLEST}")
    folder = find_wordnet()
    return cached(
        f"demo-{'full' if size is None else size}-{seed}-{files_digest(folder)}-v{VERSION}",
        kind="corpus",
        build=lambda: build_demo(load_wordnet(folder), size, seed),
        save=save_corpus,
        load=load_corpus,
    )


def build_demo(wordnet: WordNetDatabase, size: int | None, seed: int) -> Corpus:
    related = related_synsets(wordnet)
    if size is not None:
        related = _cut_down(related, size, seed)
    rows = np.flatnonzero(np.diff(related.indptr))
    labels = np.unique(related.indices)
    if not len(rows):
        raise InputError("no two synsets of this WordNet are related")
    # (rows, labels): a one where a row is itself the label
    own = sparse.eye_array(len(wordnet), dtype=np.float32, format="csr")[rows][:, labels]
    texts = _texts(wordnet)
    data = Dataset(texts.take(pa.array(rows)), related[rows][:, labels], excluded=own)
    order = stream(seed, "demo split").permutation(len(data))
    cut = share_of(len(data), 0.8)
    return Corpus(
        train=data.take(np.sort(order[:cut])),
        test=data.take(np.sort(order[cut:])),
        labels=LabelSpace(
            pa.array([wordnet.ids[i] for i in labels], type=pa.large_string()),
            _names(wordnet).take(pa.array(labels)),
            texts.take(pa.array(labels)),
        ),
    )


def related_synsets(wordnet: WordNetDatabase) -> sparse.csr_array:
    """(synsets, synsets): a one for each synset and label of it, by the rule above."""
    kinds = np.array(wordnet.kinds)
    sources, targets = wordnet.sources, wordnet.targets
    downwards = np.isin(wordnet.relations, [RELATION_CODES[name] for name in TO_NARROWER])
    similar = wordnet.relations == RELATION_CODES["similar_to"]
    downwards |= similar & (kinds[targets] == "s")
    # Two words of a synset may be related to each other, but a synset is not its own label.
    kept = ~downwards & (sources != targets)
    ones = np.ones(int(kept.sum()), dtype=np.float32)
    shape = (len(wordnet), len(wordnet))
    related = sparse.csr_array((ones, (sources[kept], targets[kept])), shape=shape)
    related.sum_duplicates()
    related.data[:] = 1
    return related


def _cut_down(related: sparse.csr_array, size: int, seed: int) -> sparse.csr_array:
    """The relations among as many whole neighbourhoods as give `size` rows; all relations if there are fewer.

    Among synsets chosen at random, hardly any label would have two rows. Neighbourhoods keep related synsets
    together, so that labels per row and the share of labels with one row stay close to the full corpus.
    """
    turn = _by_neighbourhoods(related, seed)
    pairs = related.tocoo()
    # A synset becomes a row as soon as it and a synset it is related to have been taken.
    becomes_row = np.full(related.shape[0], related.shape[0])
    np.minimum.at(becomes_row, pairs.row, np.maximum(turn[pairs.row], turn[pairs.col]))
    last = np.sort(becomes_row)[min(size, len(becomes_row)) - 1]
    kept = np.maximum(turn[pairs.row], turn[pairs.col]) <= last
    return sparse.csr_array((pairs.data[kept], (pairs.row[kept], pairs.col[kept])), shape=related.shape)


def _by_neighbourhoods(related: sparse.csr_array, seed: int) -> np.ndarray:
    """(synsets,) the turn of each synset when neighbourhoods are taken one after another.

    A neighbourhood is the first `NEIGHBOURHOOD` synsets of a breadth-first walk from a random synset.
    """
    either_way = sparse.csr_array(related + related.T).sorted_indices()
    neighbours, starts = either_way.indices.tolist(), either_way.indptr.tolist()
    turn = np.full(related.shape[0], -1)
    taken = 0
    for start in stream(seed, "demo neighbourhoods").permutation(related.shape[0]).tolist():
        if turn[start] >= 0:
            continue
        queue, met = [start], {start}
        for synset in queue:
            turn[synset] = taken
            taken += 1
            new = [n for n in neighbours[starts[synset] : starts[synset + 1]] if turn[n] < 0 and n not in met]
            new = new[: NEIGHBOURHOOD - len(queue)]
            met.update(new)
            queue += new
    return turn


def _texts(wordnet: WordNetDatabase) -> pa.LargeStringArray:
    names = [name.replace("_", " ") for name in wordnet.lemmas]
    heads = (", ".join(names[start:end]) for start, end in pairwise(wordnet.lemma_starts))
    texts = [f"{head} : {gloss}" for head, gloss in zip(heads, wordnet.glosses, strict=True)]
    return pa.array(texts, type=pa.large_string())


def _names(wordnet: WordNetDatabase) -> pa.LargeStringArray:
    """The first lemma of each synset, with part of speech and sense number if another synset shares it.

    `canine tooth`, but `dog (noun 1)`. Whether a lemma is shared is decided over the whole of WordNet, so
    that a label has the same name in a corpus of any size.
    """
    firsts = [wordnet.lemmas[start] for start in wordnet.lemma_starts[:-1]]
    lowered = [first.lower() for first in firsts]
    shared = Counter(lowered)
    sense = np.zeros(len(wordnet), dtype=np.int64)
    for entry, word in enumerate(wordnet.entries):
        for number, synset in enumerate(wordnet.senses_of(entry), start=1):
            if lowered[synset] == word:
                sense[synset] = number
    names = [first.replace("_", " ") for first in firsts]
    for row, label in enumerate(wordnet.ids):
        if shared[lowered[row]] > 1:
            names[row] += f" ({PART_NAMES[label[0]]} {sense[row]})"
    return pa.array(names, type=pa.large_string())
