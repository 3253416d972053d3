"""Data: `Dataset`, `LabelSpace`, `Corpus`, readers and writers, text to features, the demo corpus."""

from tailwright.data.corpus import Corpus, LabelSpace, corpus_from_lists
from tailwright.data.dataset import Dataset, Origin

__all__ = ["Corpus", "Dataset", "LabelSpace", "Origin", "corpus_from_lists"]
