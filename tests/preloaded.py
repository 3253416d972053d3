"""All that scripts and commands would import: `scripts.py` forks them from a process that has done so.

Nothing is computed here.
"""

import gc

import pandas  # noqa: F401 (pyarrow imports it with its first array)
import transformers.models.bert.modeling_bert
import transformers.models.gpt2.modeling_gpt2
import transformers.models.llama.modeling_llama
import transformers.models.t5.modeling_t5  # noqa: F401
from numba.core.registry import cpu_target

import tailwright.checks
import tailwright.cli
import tailwright.encoders.transformer
import tailwright.models.fusion
import tailwright.models.linear
import tailwright.models.twin.model
import tailwright.runs
import tailwright.study.report.writing
import tailwright.study.run.runner  # noqa: F401

# What numba would load for its first kernel, in half a second.
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
# A forked process would copy all this when garbage is collected for the first time.
gc.collect()
gc.freeze()
