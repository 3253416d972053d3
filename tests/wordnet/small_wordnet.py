"""A WordNet of eleven synsets, written into a folder in the format of the real one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tailwright.data.wordnet import PARTS

LICENCE = "  1 This stands where the licence stands.  \n  2   \n"


@dataclass(frozen=True)
class Synset:
    """One synset as a test writes it: `pointers` are symbol and id, or symbol, id and the words linked."""

    id: str
    lemmas: str
    gloss: str
    pointers: tuple[str, ...] = ()
    kind: str = ""

    def line(self) -> str:
        words = self.lemmas.split()
        kind = self.kind or self.id[0]
        fields = [self.id[1:], "03", kind, f"{len(words):02x}", *(f"{word} 0" for word in words)]
        fields.append(f"{len(self.pointers):03d}")
        for pointer in self.pointers:
            symbol, target, *words_linked = pointer.split()
            fields.append(f"{symbol} {target[1:]} {target[0]} {words_linked[0] if words_linked else '0000'}")
        if kind == "v":
            fields.append("02 + 02 00 + 08 00")
        return f"{' '.join(fields)} | {self.gloss}  \n"


# One of each: a noun, a verb, a head and a satellite adjective, an adverb; a shared first lemma (dog); an
# adjective with a marker; a relation between two words of one synset; one that is related to nothing.
SYNSETS = (
    Synset("n00000001", "animal beast", "a living thing", ("~ n00000002", "~ n00000003")),
    Synset("n00000002", "dog domestic_dog Canis_familiaris", 'it barks; "the dog barked"', ("@ n00000001",)),
    Synset("n00000003", "cat true_cat", "it purrs", ("@ n00000001",)),
    Synset("n00000004", "dog frank hot_dog", "a sausage", ("+ v00000001 0101",)),
    Synset("n00000005", "isle islet", "a small island", ("+ n00000005 0102",)),
    Synset("n00000006", "void", "nothing at all"),
    Synset("v00000001", "dog chase", "go after", ("+ n00000004 0101",)),
    Synset("a00000001", "big large", "above average", ("& a00000002", "! a00000003 0101")),
    Synset("a00000002", "huge(p) Big", "very big", ("& a00000001",), kind="s"),
    Synset("a00000003", "small", "below average", ("! a00000001 0101",)),
    Synset("r00000001", "hugely", "very", ("\\ a00000002 0101",)),
)
# The commonest sense comes first in an index, whatever its offset.
SENSES = {("n", "dog"): ["n00000004", "n00000002"]}


def write_wordnet(folder: Path, synsets: tuple[Synset, ...] = SYNSETS) -> Path:
    """The eight files in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for letter, part in PARTS.items():
        ours = [synset for synset in synsets if synset.id[0] == letter]
        senses: dict[str, list[str]] = {}
        for synset in ours:
            for word in synset.lemmas.split():
                ids = senses.setdefault(word.lower().partition("(")[0], [])
                ids += [synset.id] if synset.id not in ids else []
        senses |= {word: ids for (place, word), ids in SENSES.items() if place == letter and word in senses}
        index = "".join(
            f"{word} {letter} {len(ids)} 1 @ {len(ids)} 0 {' '.join(i[1:] for i in ids)}  \n"
            for word, ids in sorted(senses.items())
        )
        (folder / f"data.{part}").write_text(LICENCE + "".join(synset.line() for synset in ours))
        (folder / f"index.{part}").write_text(LICENCE + index)
    return folder
