"""TextAttack's own EDA and WordNet augmenters, in an environment of their own.

    python textattack_eda.py TEXTS.json NLTK_DATA SECONDS

TEXTS.json holds lists of texts by name, and words. NLTK_DATA is a folder of NLTK's data with `wordnet` and
`stopwords`. Prints JSON: for each list, for `wordnet` and for `eda`, the texts edited within about SECONDS
and the time that took, and what became of the last one; and the synonyms of the words.

TextAttack imports all of its attacks, and with them a score of large packages, before it edits a word. Those
that no augmenter here calls are stood in for by modules that do nothing. The one call that gets through, of
version 0.2 for `torch.tensor` of a list of positions, is given NumPy's array, which is quicker than torch's.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import json
import random
import sys
import time
import types
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

NOT_CALLED = {
    *("OpenHowNet", "bert_score", "datasets", "editdistance", "filelock", "flair", "google", "jieba"),
    *("langdetect", "language_tool_python", "lemminflect", "nlp", "num2words", "pandas", "pinyin", "pycld2"),
    *("requests", "scipy", "sentence_transformers", "stanza", "tensorflow", "tensorflow_hub"),
    *("terminaltables", "tokenizers", "torch", "torchfile", "transformers", "visdom", "wandb", "word2number"),
}


class _AnyAttribute(type):
    def __getattr__(cls, name: str) -> Any:
        return _nothing(name)


class _Nothing(metaclass=_AnyAttribute):
    """What a stand-in module has under every name: a class to derive from, to call, to look things up in."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        return _nothing(name)


def _nothing(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (_Nothing,), {})


class _Module(types.ModuleType):
    __path__: Sequence[str] = []

    def __getattr__(self, name: str) -> Any:
        return _nothing(name)


class _StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of `NOT_CALLED`, before any that are installed."""

    def find_spec(self, fullname: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in NOT_CALLED:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        if module.__name__ == "torch":
            import numpy as np

            module.tensor, module.Tensor = np.array, np.ndarray  # type: ignore[attr-defined]


def augmenters() -> dict[str, Callable[[str], list[str]]]:
    """Each with one output a text, and else as it comes: a tenth of the words."""
    from textattack.augmentation import EasyDataAugmenter, WordNetAugmenter

    return {
        "wordnet": WordNetAugmenter(transformations_per_example=1).augment,
        "eda": EasyDataAugmenter(transformations_per_example=1).augment,
    }


def main() -> None:
    texts_file, data, seconds = sys.argv[1:]
    import nltk

    nltk.data.path[:] = [data]
    # Its data is there already; a download that is refused costs time and says so on stdout.
    nltk.download = lambda *_, **__: True
    sys.meta_path.insert(0, _StandIns())
    with contextlib.redirect_stdout(sys.stderr):
        methods = augmenters()
        for edit in methods.values():
            edit("A red car for the big city")  # NLTK reads its files when it is first asked
    from nltk.corpus import wordnet

    asked = json.loads(Path(texts_file).read_text(encoding="utf-8"))
    speeds: dict[str, dict[str, dict[str, float]]] = {}
    examples: dict[str, dict[str, str]] = {}
    for name, texts in asked["texts"].items():
        for method, edit in methods.items():
            random.seed(0)
            start, done, made = time.perf_counter(), 0, [""]
            while done < len(texts) and time.perf_counter() - start < float(seconds):
                made = edit(texts[done])
                done += 1
            taken = time.perf_counter() - start
            speeds.setdefault(name, {})[method] = {"texts": done, "seconds": taken}
            examples.setdefault(name, {})[method] = made[0]
    synonyms = {
        word: sorted({n for synset in wordnet.synsets(word) for n in synset.lemma_names() if n != word})
        for word in asked["words"]
    }
    versions = {package: version(package) for package in ("textattack", "nltk")}
    print(json.dumps({"versions": versions, "speeds": speeds, "last": examples, "synonyms": synonyms}))


if __name__ == "__main__":
    main()
