"""Kills: a long command is ended at a random moment, goes on, and leaves what an undisturbed one does."""

from __future__ import annotations

import shutil
from pathlib import Path

from fault_parts import Outcome, Trial
from fault_parts.children import Command
from fault_parts.jobs import difference, jobs
from fault_parts.references import LONGEST, reference

TIMES = 2  # the most kills of a trial


class Kills:
    """The jobs in turn; one in four is killed again while it goes on."""

    name, share, patience = "kills", 0.13, 4 * LONGEST

    def count(self, place: Path) -> int | None:
        return None

    def trial(self, trial: Trial) -> Outcome:
        every = jobs(trial.place)
        job, draw = every[trial.number % len(every)], trial.draw()
        known = reference(job, trial.place)
        out, said = trial.scratch / "out", trial.scratch / "said"
        out.mkdir()
        words = job.words_for(trial.place, out)
        moments = draw.uniform(0, 1.05 * known.seconds, TIMES)[: 1 if draw.random() < 0.75 else TIMES]
        done = f"{job.name}, killed after {', '.join(f'{moment:.3f} s' for moment in moments)}"
        kills = 0
        for moment in moments.tolist():
            ended = Command(words, said).wait_for(moment)
            words = [*job.words_for(trial.place, out), *job.again]
            if ended is not None and (problem := ended.problem(0)):
                return Outcome(done, "failed before it was killed", problem)
            kills += ended is None
        ended = Command(words, said).wait_for(LONGEST)
        if ended is None:
            return Outcome(done, "does not end", f"does not end within {LONGEST:g} s after the kill")
        problem = ended.problem(0) or difference(known.content, job.content(out))
        shutil.rmtree(out)
        return Outcome(done, ("not killed", "killed once", "killed twice")[kills], problem)
