"""Callbacks: what is told of a training while it goes on.

    >>> import tailwright as tw
    >>> told = []
    >>> rows = ["red shoes", "wool hat"], [["shoes"], ["hats"]]
    >>> run = tw.train(*rows, model="popularity", callbacks=[told.append])
    >>> [event["event"] for event in told][:2]
    ['training', 'start']
    >>> tw.train("shop.csv", callbacks=[print, TensorBoard("logs")])    # doctest: +SKIP

A callback is a function of one event, which is a dict. `event` says what happened and `time` when, in seconds
since 1970; the rest depends on the event:

| event | tells |
|---|---|
| `training` | `model`, `settings`, `augment` with the settings of each, `seed`: the first event |
| `start` | `phase`, and facts such as `rows` |
| `epoch` | `phase`, `epoch`, `loss`, `seconds`; `valid` and `watched`, where there are such rows |
| `validation` | `phase`, `step`, `epoch`, `valid`, where a phase is validated between epochs |
| `end` | `phase`, `seconds`, `peak_rss_mb` |
| `metrics` | `of` (test or held-out), `rows`, `metrics` with `slices`, `watch_seconds` |
| `finished`, `failed` | the last event; `problem`, if it failed |

All but the first and the last are lines of log.jsonl too; a model may tell more. A callback that raises costs
no training: one warning says so, and it is not called again. Callbacks see copies, so they change nothing.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tailwright.errors import InputError, quoted, require_extra

log = logging.getLogger(__name__)

Event: TypeAlias = dict[str, Any]
Callback: TypeAlias = Callable[[Event], Any]

# Numbers of an event that say where it stands, not how things are.
_PLACES = {"time", "epoch", "step", "batch"}
_NAMED_ANEW = {("end", "seconds"): "phase_seconds", ("epoch", "seconds"): "epoch_seconds"}
_NO_CURVES = {"training", "start", "resume", "finished", "failed"}


class Callbacks:
    """Several callbacks as one, without those that have raised."""

    def __init__(self, callbacks: Sequence[Callback] = ()) -> None:
        for callback in callbacks:
            if not callable(callback):
                expected = "a function of an event, TensorBoard(...) or MLflow(...)"
                raise InputError(f"found the callback {quoted(callback)}", expected=expected)
        self._called = list(callbacks)

    def __bool__(self) -> bool:
        return bool(self._called)

    def tell(self, line: str) -> None:
        """Tell each of an event, given as a line of the log; each gets a dict of its own."""
        self._called = [callback for callback in self._called if _bears(callback, json.loads(line))]


def _bears(callback: Callback, event: Event) -> bool:
    """Call it; False, with a warning, if it raised."""
    try:
        callback(event)
    except Exception as error:
        name = getattr(callback, "__name__", type(callback).__name__)
        problem = " ".join(f"{type(error).__name__}: {error}".split())
        log.warning("training goes on without the callback %s: %s", name, problem)
        return False
    return True


class TensorBoard:
    """Writes curves into a folder that `tensorboard --logdir FOLDER` shows; extra `tensorboard`.

    >>> TensorBoard("logs/first")            # doctest: +SKIP
    """

    def __init__(self, folder: str | Path) -> None:
        require_extra("tensorboard", "TensorBoard")
        self.folder = Path(folder)
        self._writer: Any = None

    def __call__(self, event: Event) -> None:
        if self._writer is None:
            from tensorboardX import SummaryWriter

            self._writer = SummaryWriter(str(self.folder))
        if event["event"] == "training":
            self._writer.add_text("training", json.dumps(event, indent=2), walltime=event["time"])
        for name, value in curves(event).items():
            self._writer.add_scalar(name, value, step_of(event), walltime=event["time"])
        if event["event"] in {"finished", "failed"}:
            self._writer.close()
            self._writer = None
        else:
            self._writer.flush()


class MLflow:
    """Logs parameters and curves as a run of an MLflow experiment; extra `mlflow`.

    Where the experiments are is MLflow's own setting, `$MLFLOW_TRACKING_URI`. It is asked for the experiment
    at once, so that a server which does not answer is found before the training begins.

    >>> MLflow(experiment="tags of tickets")            # doctest: +SKIP
    """

    def __init__(self, experiment: str = "tailwright") -> None:
        require_extra("mlflow", "MLflow")
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient

        self.experiment = experiment
        self._run = ""
        try:
            self._client = MlflowClient()
            self._known = self._client.get_experiment_by_name(experiment)
        except (MlflowException, OSError) as error:
            problem = " ".join(str(error).split())
            expected = "MLFLOW_TRACKING_URI to name a server that answers"
            raise InputError(f"MLflow cannot be used ({problem})", expected=expected) from error

    def __call__(self, event: Event) -> None:
        if not self._run:
            known = self._known
            number = self._client.create_experiment(self.experiment) if known is None else known.experiment_id
            self._run = self._client.create_run(number, run_name=event.get("model")).info.run_id
        if event["event"] == "training":
            for name, value in _flat(event).items():
                if name not in {"time", "event"}:
                    self._client.log_param(self._run, _clean(name), value)
        milliseconds = int(1000 * event["time"])
        for name, value in curves(event).items():
            self._client.log_metric(self._run, name, value, milliseconds, step_of(event))
        if event["event"] in {"finished", "failed"}:
            self._client.set_terminated(self._run, event["event"].upper())
            self._run = ""


def curves(event: Event) -> dict[str, float]:
    """The numbers of an event by the names of their curves.

    >>> curves({"event": "epoch", "time": 1.5, "phase": "fit", "loss": 0.25, "watched": {"test": 50.0}})
    {'fit/loss': 0.25, 'fit/watched/test': 50.0}
    >>> curves({"event": "metrics", "time": 1.5, "of": "test", "rows": 8, "metrics": {"P@1": 62.5}})
    {'test/rows': 8.0, 'test/P_at_1': 62.5}
    """
    kind = event["event"]
    if kind in _NO_CURVES:
        return {}
    first = event.get("of") or event.get("phase") or kind
    facts = {key: value for key, value in event.items() if key not in _PLACES}
    if kind == "metrics":
        metrics = dict(facts.pop("metrics"))
        facts |= metrics.pop("slices", {}) | metrics
    return {
        _clean(f"{first}/{_NAMED_ANEW.get((kind, name), name)}"): float(value)
        for name, value in _flat(facts).items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def step_of(event: Event) -> int:
    """Where an event stands on its curves: at a step or an epoch, or at the only place of its curve."""
    return int(event.get("step") or event.get("epoch") or 0)


def _flat(facts: Event, above: str = "") -> Event:
    """Nested facts as one dict, the keys joined by slashes.

    >>> _flat({"model": "twin", "settings": {"width": 16}})
    {'model': 'twin', 'settings/width': 16}
    """
    flat: Event = {}
    for key, value in facts.items():
        flat |= _flat(value, f"{above}{key}/") if isinstance(value, dict) else {above + key: value}
    return flat


def _clean(name: str) -> str:
    """A name that both TensorBoard and MLflow take as it is."""
    return re.sub(r"[^\w./-]", "_", name.replace("@", "_at_"), flags=re.ASCII)
