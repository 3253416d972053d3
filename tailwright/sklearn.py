"""`TailwrightClassifier`: a run behind scikit-learn's `fit`, `predict`, `predict_proba` and `score`.

It works in pipelines, grid searches and cross-validation. `predict` answers in the form that `y` had:

| `y` | `classes_` | `predict` |
|---|---|---|
| the labels of each text: lists of names or ids, dicts of soft values | all labels | lists of labels |
| an indicator matrix (texts, labels), sparse or not | 0, 1, 2, ... | such a matrix |
| one label a text | all labels | an array of labels: the best of each text |

scikit-learn itself refuses lists of labels where it may split rows by class: with those, give `GridSearchCV`
and `cross_val_score` a splitter such as `KFold(3)`. The latter also refuses a sparse matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
from scipy import sparse

from tailwright.data.corpus import Corpus
from tailwright.data.inputs import ReadArguments
from tailwright.errors import InputError, MissingExtraError
from tailwright.evaluation.ranking import TopK
from tailwright.runs.asked import corpus_of
from tailwright.runs.judged_rows import columns_in, over_columns
from tailwright.runs.training import train

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted
except ModuleNotFoundError as error:
    raise MissingExtraError("scikit-learn", "sklearn") from error

Form = Literal["lists", "sparse", "dense", "one"]


class TailwrightClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A multi-label classifier of texts.

    | parameter | |
    |---|---|
    | `model`, `augment`, `settings`, `augment_settings` | as in `tailwright.train` |
    | `label_texts` | what models read of a label, by its name; of a matrix, by its column |
    | `threshold` | labels of at least this probability are predicted; None for any |
    | `k` | at most so many labels are predicted for a text; None for any number |
    | `depth` | how many labels of a text are looked at; `predict_proba` has no others |
    | `random_state` | the seed |

    Fitted, it has `classes_` and `run_`, which can be saved: `classifier.run_.save("run/")`.

    >>> texts = ["red shoes", "wool hat", "leather shoes", "winter hat of wool"]
    >>> labels = [["shoes"], ["hats"], ["shoes"], ["hats", "winter"]]
    >>> classifier = TailwrightClassifier("linear", settings={"trees": 1}, threshold=None, k=1)
    >>> classifier.fit(texts, labels).predict(["blue shoes", "a hat"])
    [['shoes'], ['hats']]
    >>> classifier.classes_.tolist(), classifier.predict_proba(["blue shoes"]).shape
    (['hats', 'shoes', 'winter'], (1, 3))
    """

    def __init__(
        self,
        model: str = "auto",
        *,
        augment: str | Sequence[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        augment_settings: Mapping[str, Mapping[str, Any]] | None = None,
        label_texts: Mapping[Any, str] | None = None,
        threshold: float | None = 0.5,
        k: int | None = None,
        depth: int = 100,
        random_state: Any = 0,
    ) -> None:
        self.model = model
        self.augment = augment
        self.settings = settings
        self.augment_settings = augment_settings
        self.label_texts = label_texts
        self.threshold = threshold
        self.k = k
        self.depth = depth
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Sequence[str], y: Any, sample_weight: Sequence[float] | None = None) -> Any:
        """Train on texts and their labels; a row's weight multiplies its loss."""
        self.form_: Form = _form_of(y)
        corpus = self._corpus(X, y, self.label_texts)
        if sample_weight is not None:
            weights = _weights(sample_weight, len(corpus.train))
            corpus = corpus.with_train(replace(corpus.train, weights=weights))
        seed = self.random_state
        if not isinstance(seed, Integral):
            seed = check_random_state(seed).randint(np.iinfo(np.int32).max)
        self.run_ = train(
            corpus,
            model=self.model,
            augment=self.augment,
            settings=self.settings,
            augment_settings=self.augment_settings,
            seed=int(seed),
        )
        self.classes_ = self._classes(y)
        return self

    def predict(self, X: Sequence[str]) -> Any:
        """The labels of each text, in the form of `y`; where that is one label, the best or the commonest."""
        check_is_fitted(self, "run_")
        if self.form_ == "one":
            return self.classes_[self._best(X)]
        chosen = self._chosen(X)
        if self.form_ == "lists":
            return [
                self.classes_[labels].tolist() for labels in np.split(chosen.indices, chosen.indptr[1:-1])
            ]
        return chosen if self.form_ == "sparse" else chosen.toarray()

    def predict_proba(self, X: Sequence[str]) -> sparse.csr_array:
        """(texts, labels) sparse: the probability of each label, 0 for those beyond the `depth` best.

        Where `y` has one label a text, the probabilities of a text sum to 1.
        """
        check_is_fitted(self, "run_")
        top = self._top(X, self.depth)
        said = self._probabilities(top)
        if self.form_ == "one":
            said /= np.maximum(said.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        return self._matrix(top.ids, said, top.ids >= 0)

    def score(self, X: Sequence[str], y: Any, sample_weight: Sequence[float] | None = None) -> float:
        """Micro-averaged F1 of `predict`, which is the accuracy if `y` has one label a text.

        Soft values count as they are; labels that were not there in training count as missed.
        """
        check_is_fitted(self, "run_")
        rows = self._corpus(X, y, None)
        weights = (
            np.ones(len(rows.train)) if sample_weight is None else _weights(sample_weight, len(rows.train))
        )
        columns = columns_in(self.run_.labels, rows.labels)
        truth = over_columns(rows.train.targets, columns, len(self.run_.labels))
        if self.form_ != "one":
            chosen = self._chosen(X)
        else:
            best = self._best(X)[:, None]
            chosen = self._matrix(best, np.ones(best.shape), best >= 0)
        hits = float(weights @ truth.multiply(chosen).sum(axis=1))
        named = float(weights @ (rows.train.targets.sum(axis=1) + chosen.sum(axis=1)))
        return 2 * hits / named if named else 0.0

    def _corpus(self, X: Sequence[str], y: Any, label_texts: Mapping[Any, str] | None) -> Corpus:
        """Texts and labels as a corpus; a label that is a number has no text."""
        form = _form_of(y)
        if form != self.form_ and {form, self.form_} != {"sparse", "dense"}:
            raise InputError(f"found y in the form {form}", expected=f"{self.form_}, as in fit")
        if form != "one":
            return corpus_of(X, 0, {"labels": y, "label_texts": label_texts})
        check_classification_targets(y)
        values = np.unique(np.asarray(y)).tolist()
        silent = {_name(value): "" for value in values if not isinstance(value, str)}
        reading: ReadArguments = {
            "labels": [[_name(value)] for value in np.asarray(y).tolist()],
            "label_names": [_name(value) for value in values],
            "label_texts": silent | dict(label_texts or {}),
        }
        return corpus_of(X, 0, reading)

    def _classes(self, y: Any) -> np.ndarray:
        """(labels,) what `predict` calls each label."""
        if self.form_ in ("sparse", "dense"):
            return np.arange(len(self.run_.labels))
        if self.form_ == "one":
            return np.unique(np.asarray(y))
        by_id = {str(label): label for row in y if np.iterable(row) for label in row}
        return np.array([by_id.get(label, label) for label in self.run_.labels.ids.to_pylist()])

    def _top(self, X: Sequence[str], k: int) -> TopK:
        texts = corpus_of(X, 0, {"labels": [[]] * len(X)}).train.texts
        return self.run_.top(texts, min(k, len(self.run_.labels)))

    def _best(self, X: Sequence[str]) -> np.ndarray:
        """(texts,) the best label of each, or the commonest where none fits."""
        best = self._top(X, 1).ids[:, 0]
        return np.where(best < 0, int(np.argmax(self.run_.labels.counts)), best)

    def _probabilities(self, top: TopK) -> np.ndarray:
        """(texts, k) float64"""
        if not self.run_.gives_probabilities:
            found = f"the model {self.run_.name}, which gives no probabilities"
            raise InputError(f"found {found}", expected="another, or threshold=None and a number of labels k")
        return self.run_.probabilities(top)

    def _chosen(self, X: Sequence[str]) -> sparse.csr_array:
        """(texts, labels) of ones at the labels that `threshold` and `k` leave."""
        if self.threshold is None and self.k is None:
            raise InputError("found neither threshold nor k", expected="at least one of them")
        if (self.k is not None and self.k < 1) or not 0 <= (self.threshold or 0) <= 1:
            found = f"found threshold {self.threshold} and k {self.k}"
            raise InputError(found, expected="a threshold in [0, 1], and k of at least 1")
        top = self._top(X, self.depth if self.k is None else self.k)
        kept = top.ids >= 0
        if self.threshold is not None:
            kept &= self._probabilities(top) >= self.threshold
        return self._matrix(top.ids, np.ones(top.ids.shape, dtype=np.int64), kept)

    def _matrix(self, ids: np.ndarray, values: np.ndarray, kept: np.ndarray) -> sparse.csr_array:
        """(texts, labels): the values of the labels that are kept, all three (texts, k)."""
        shape = (len(ids), len(self.run_.labels))
        matrix = sparse.csr_array((values[kept], (np.nonzero(kept)[0], ids[kept])), shape=shape)
        matrix.sort_indices()
        return matrix


def _form_of(y: Any) -> Form:
    """How labels were given."""
    if y is None:
        raise ValueError("TailwrightClassifier requires y to be passed, but the target y is None")
    if hasattr(y, "columns"):
        raise InputError(f"found a {type(y).__name__} for y", expected="its matrix, as y.to_numpy() gives it")
    if sparse.issparse(y):
        return "sparse"
    if isinstance(y, np.ndarray) and y.ndim == 2:
        return "dense"
    first = next((row for row in y if row is not None), None)
    return "one" if isinstance(first, str) or np.isscalar(first) else "lists"


def _name(value: Any) -> str:
    """A label as text: 2 and 2.0 are the same.

    >>> _name("shoes"), _name(2), _name(2.0), _name(2.5)
    ('shoes', '2', '2', '2.5')
    """
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _weights(given: Sequence[float], rows: int) -> np.ndarray:
    """(rows,) float32; what is wrong is a ValueError, which scikit-learn expects here."""
    weights = np.asarray(given, dtype=np.float32)
    if weights.shape != (rows,) or not bool(np.all(np.isfinite(weights) & (weights >= 0))):
        raise ValueError(f"sample_weight of shape {weights.shape}, expected {rows:,} numbers of at least 0")
    if not weights.any():
        raise ValueError("sample_weight is all zero, expected at least one row that counts")
    return weights
