"""AttentionXML (You et al. 2019): a BiLSTM over word vectors, and for each label an attention of its own.

Each label attends to the words of a text; what it gathers goes through layers that all labels share and
becomes its score. Binary cross-entropy, Adam, adaptive clipping and averaged weights; where there are
validation rows, the weights of best nDCG@5 are kept.

| form | for | what is trained |
|---|---|---|
| flat | up to some thousand labels | one network over all labels |
| tree | more | clusters of labels, a network a level, from the top down |

In the tree a level starts from the words, LSTM and layers of the level above; its attention is new. A row
learns the children of its true clusters and of those that the level above ranks highest; the chance of a
label is the product of the chances on its path. A cluster's target is the largest of its labels' targets.

`_attentionxml_settings` has the arithmetic by which the form is chosen. The papers' own sizes are in
`configs/attentionxml-official.toml` and `configs/attentionxml-tailmix.toml`; the defaults are half as wide
and read 128 words. Forward and backward, a label and a text of 96 words took 46 microseconds of one core with
the official sizes, 12 with the defaults.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tailwright.data.corpus import Corpus
from tailwright.models import Model, models
from tailwright.models.attentionxml.forms import FlatAttention, TreeAttention
from tailwright.models.attentionxml.settings import CARD, AttentionXmlSettings
from tailwright.store import FolderReader, FolderWriter
from tailwright.training.workplace import Workplace

if TYPE_CHECKING:
    import pyarrow as pa

    from tailwright.evaluation.ranking import TopK


@models.register
class AttentionXml(Model):
    """Label attention over a BiLSTM, flat or as a tree by the number of labels."""

    card = CARD
    Settings = AttentionXmlSettings
    settings: AttentionXmlSettings
    form: FlatAttention | TreeAttention

    def learn(self, corpus: Corpus, *, seed: int, work: Workplace) -> None:
        form = self._form(len(corpus.labels))
        form.watch, form.device = self.watch, self.device
        form.learn(corpus, seed=seed, work=work)
        self.form = form

    def _form(self, labels: int) -> FlatAttention | TreeAttention:
        return TreeAttention(self.settings) if self.settings.as_tree(labels) else FlatAttention(self.settings)

    def predict(self, texts: pa.LargeStringArray | Sequence[str], k: int) -> TopK:
        return self.form.predict(texts, k)

    def save(self, folder: FolderWriter) -> None:
        self.form.save(folder)

    def load(self, folder: FolderReader, labels: int) -> None:
        self.form = self._form(labels)
        self.form.load(folder, labels)
