"""Plain twins of the kernels that edit texts: the same draws, on lists of words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tailwright.data.text.words import word_spans
from tailwright.streams import stream

# Words of the tests' own small WordNet, with all that a name may be.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "car": ("auto", "motor_car", "Rolls", "M-1"),
    "auto": ("car",),
    "dog": ("hound", "cad", "Canis_familiaris"),
    "big": ("large", "bighearted"),
    "i": ("iodine", "I.E."),
    "don't": ("taboo",),
    "lone_wolf": ("loner",),
}


class Draws:
    """One word of the row's stream a draw."""

    def __init__(self, seed: int, method: str, row: int) -> None:
        self.words = stream(seed, method, row).bit_generator

    def below(self, count: int) -> int:
        return self.words.random_raw() * count >> 64

    def chance(self, probability: float) -> bool:
        return (self.words.random_raw() >> 11) * 2.0**-53 < probability

    def walk(self, order: list[int]):
        """The items of `order` in random order, each drawn when it is asked for."""
        for step in range(len(order)):
            other = step + self.below(len(order) - step)
            order[step], order[other] = order[other], order[step]
            yield order[step]


def edited(
    text: str,
    draws: Draws,
    operations: Sequence[str],
    share: float,
    outputs: int,
    stops: set[str],
    any_case: bool,
) -> list[str]:
    spans = word_spans(text)
    words = [text[start:end] for start, end in spans]
    gaps = [
        text[a:b]
        for a, b in zip([0, *(e for _, e in spans)], [*(s for s, _ in spans), len(text)], strict=True)
    ]
    copies = -(-outputs // len(operations))
    return _outputs(
        text,
        [] if not words else _dealt(draws, operations, copies, outputs),
        lambda operation: _edited_once(words, gaps, operation, draws, _edits(share, words), stops, any_case),
    )


def _outputs(source: str, dealt: list[str], once: Callable[[str], str]) -> list[str]:
    made: list[str] = []
    for operation in dealt:
        new = once(operation)
        if new != source and new not in made:
            made.append(new)
    return made


def _dealt(draws: Draws, operations: Sequence[str], copies: int, outputs: int) -> list[str]:
    walk = draws.walk(list(range(copies * len(operations))))
    return [operations[next(walk) % len(operations)] for _ in range(outputs)]


def _edits(share: float, words: list[str]) -> int:
    return max(int(share * len(words) + 1e-9), 1)


def _key(word: str) -> str:
    return "".join(c.lower() if c.isascii() else c for c in word.replace("\u2019", "'"))


def _names(word: str, alphabetic: bool) -> list[str]:
    names = SYNONYMS.get(_key(word), ())
    kept = [n for n in names if "_" not in n and len(word_spans(n)) == 1]
    kept.sort(key=lambda name: not name.isalpha())
    return [n for n in kept if n.isalpha()] if alphabetic else kept


def _like(name: str, word: str) -> str:
    large = len(re.findall("[A-Z]", word))
    if large > 1 and not re.search("[a-z]", word):
        return name.upper()
    return name[0].upper() + name[1:] if re.match("[A-Z]", word) else name


def _edited_once(
    words: list[str],
    gaps: list[str],
    operation: str,
    draws: Draws,
    edits: int,
    stops: set[str],
    any_case: bool,
) -> str:
    new: list[str | None] = list(words)
    walk = draws.walk(list(range(len(words))))
    if operation == "delete":
        for _ in range(min(edits, len(words) - 1)):
            new[next(walk)] = None
    elif operation == "swap" and len(words) > 1:
        moved: set[int] = set()
        for i in walk:
            if i in moved:
                continue
            j = draws.below(len(words) - 1)
            j += j >= i
            new[i], new[j] = new[j], new[i]
            moved |= {i, j}
            edits -= 1
            if not edits:
                break
    elif operation == "insert":
        inserted: list[str] = []
        for i in walk:
            for _ in range(7):
                drawn = [*words, *inserted][draws.below(len(words) + len(inserted))]
                names = _names(drawn, alphabetic=True)
                if names:
                    inserted.append(names[draws.below(len(names))])
                    new[i] = f"{words[i]} {inserted[-1]}"
                    break
            if len(inserted) == edits:
                break
    elif operation == "synonyms":
        for i in walk:
            written = words[i].replace("\u2019", "'")
            if (_key(written) if any_case else written) in stops:
                continue
            names = _names(words[i], alphabetic=False)
            if names:
                new[i] = _like(names[draws.below(len(names))], words[i])
                edits -= 1
                if not edits:
                    break
    out = gaps[0]
    for word, gap in zip(new, gaps[1:], strict=True):
        if word is not None:
            out += word + gap
        elif out.endswith(" ") and not gap.startswith(" "):
            out = out[:-1] + gap
        elif gap.startswith(" ") and (not out or out[-1] in " \n\t([{"):
            out += gap[1:]
        else:
            out += gap
    return out


def edited_original(
    text: str, draws: Draws, operations: Sequence[str], share: float, outputs: int, stops: set[str]
) -> list[str]:
    bare = re.sub("['\u2019]", "", text)
    words = re.findall("[a-z]+", re.sub("[A-Z]", lambda found: found[0].lower(), bare))
    copies = outputs // len(operations) + 1
    return _outputs(
        " ".join(words),
        [] if not words else _dealt(draws, operations, copies, outputs),
        lambda operation: " ".join(_original_once(words, operation, draws, share, stops)),
    )


def _plain_names(word: str) -> list[str]:
    names = [re.sub("[^a-z ]", "", re.sub("[_-]", " ", n.lower())) for n in SYNONYMS.get(word, ())]
    kept = [n for n in dict.fromkeys(names) if n and n != word]
    return sorted(kept, key=lambda name: not name.isalpha())


def _original_once(
    words: list[str], operation: str, draws: Draws, share: float, stops: set[str]
) -> list[str]:
    edits = _edits(share, words)
    if operation == "synonyms":
        new = list(words)
        kinds = [word for word in dict.fromkeys(words) if word not in stops and _plain_names(word)]
        for i in draws.walk(list(range(len(kinds)))):
            names = _plain_names(kinds[i])
            name = names[draws.below(len(names))]
            new = [name if old == kinds[i] else now for old, now in zip(words, new, strict=True)]
            edits -= 1
            if not edits:
                break
        return new
    if operation == "insert":
        new = list(words)
        for _ in range(edits):
            for _ in range(9):
                names = _plain_names(new[draws.below(len(new))])
                if names:
                    name = names[draws.below(len(names))]
                    new.insert(draws.below(len(new)), name)
                    break
        return new
    if operation == "swap":
        new = list(words)
        for _ in range(edits):
            i = draws.below(len(new))
            for _ in range(3):
                j = draws.below(len(new))
                if j != i:
                    new[i], new[j] = new[j], new[i]
                    break
        return new
    if len(words) == 1:
        return words
    kept = [word for word in words if not draws.chance(share)]
    return kept or [words[draws.below(len(words))]]
