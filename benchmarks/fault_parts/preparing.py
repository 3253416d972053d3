"""Makes what all parts need in a process that ends; this one only imports, and others fork from it."""

from __future__ import annotations

import importlib
from multiprocessing import get_context
from pathlib import Path

from fault_parts.places import prepare
from tailwright.augmentation import augmenters
from tailwright.models import models


def prepared(place: Path, light: bool) -> None:
    """Import every method, or with `light` those that need no torch, and fill the folder unless it is."""
    names = [name for name in models.names() if not (light and models.card(name).extra)]
    for name in names:
        models.get(name)
    if not light:
        for name in augmenters.names():
            augmenters.get(name)
        importlib.import_module("transformers.models.bert.modeling_bert")  # of the tiny encoder
    done = place / "prepared"
    if done.exists():
        return
    process = get_context("fork").Process(target=prepare, args=(place, names))
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError("the corpora and runs could not be made; the lines above say why")
    done.touch()
