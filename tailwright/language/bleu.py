"""BLEU on held-out pairs: how near to the targets the texts are that a generator writes for their sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from tailwright.errors import MissingExtraError
from tailwright.language.generator import Generator
from tailwright.language.pairs import TextPairs
from tailwright.streams import stream
from tailwright.training.workplace import Workplace

Write = Callable[[Generator, pa.LargeStringArray], Sequence[str]]


def corpus_bleu(texts: Sequence[str], targets: Sequence[str]) -> float:
    """Sacrebleu's corpus BLEU, in percent, of each text against its one target."""
    try:
        import sacrebleu
    except ImportError:
        raise MissingExtraError("BLEU", "lm") from None
    return float(sacrebleu.corpus_bleu(list(texts), [list(targets)], force=True).score)


def held_out_bleu(
    generator: Generator,
    pairs: TextPairs,
    write: Write,
    *,
    most: int = 200,
    seed: int = 0,
    work: Workplace | None = None,
) -> float | None:
    """The BLEU of what `write` makes of held-out sources, at `most` of them; None without any.

    `write` gives one text a source, empty where it has none. Small letters are compared with small letters
    where the generator writes such. The figure is logged in `work`.
    """
    if len(pairs) == 0:
        return None
    if len(pairs) > most:
        pairs = pairs.take(np.sort(stream(seed, "generator/bleu").permutation(len(pairs))[:most]))
    texts = write(generator, pairs.sources)
    if len(texts) != len(pairs):
        raise ValueError(f"{len(texts)} texts written for {len(pairs)} sources")
    targets = [text.lower() if generator.lower_case else text for text in pairs.targets.to_pylist()]
    score = corpus_bleu(texts, targets)
    if work is not None:
        work.log("bleu", pairs=len(pairs), bleu=round(score, 3))
    return score
