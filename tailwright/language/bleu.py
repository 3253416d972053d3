"""BLEU on held-out pairs: how near a generator's texts for held-out sources come to their targets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from tailwright.errors import MissingExtraError
from tailwright.language.pairs import TextPairs
from tailwright.streams import stream

Write = Callable[[pa.LargeStringArray], Sequence[str]]


def corpus_bleu(texts: Sequence[str], targets: Sequence[str]) -> float:
    """Sacrebleu's corpus BLEU, in percent, of each text against its one target."""
    try:
        import sacrebleu
    except ImportError:
        raise MissingExtraError("BLEU", "lm") from None
    return float(sacrebleu.corpus_bleu(list(texts), [list(targets)], force=True).score)


def held_out_bleu(
    pairs: TextPairs, write: Write, *, lower_case: bool, most: int = 200, seed: int = 0
) -> float | None:
    """The BLEU of what `write` makes of the sources, at most `most` of them; None without any.

    `write` gives one text a source, empty where it has none. With `lower_case` it writes lower case, and the
    targets are lower-cased too.
    """
    if len(pairs) == 0:
        return None
    if len(pairs) > most:
        pairs = pairs.take(np.sort(stream(seed, "generator/bleu").permutation(len(pairs))[:most]))
    texts = write(pairs.sources)
    if len(texts) != len(pairs):
        raise ValueError(f"{len(texts)} texts written for {len(pairs)} sources")
    targets = [text.lower() if lower_case else text for text in pairs.targets.to_pylist()]
    return corpus_bleu(texts, targets)
