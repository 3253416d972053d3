"""Crowds: two or eight processes at one command and one folder; what is left is what one alone leaves."""

from __future__ import annotations

from pathlib import Path

from fault_parts import Outcome, Trial
from fault_parts.children import Command
from fault_parts.jobs import Job, difference, jobs
from fault_parts.references import LONGEST, reference

SIZES = (2, 8)
QUICK = ("train popularity", "train label-matcher", "train linear", "train twin", "train linear+twin")


class Crowds:
    """The light jobs in turn, plain, with what lets them go on, and over shared work."""

    name, share, patience = "crowds", 0.04, 3 * LONGEST

    def count(self, place: Path) -> int | None:
        return None

    def trial(self, trial: Trial) -> Outcome:
        every = quick_jobs(trial.place)
        job, draw = every[trial.number % len(every)], trial.draw()
        known = reference(job, trial.place)
        size = SIZES[draw.integers(len(SIZES))]
        how = ("plain", "again", "shared")[draw.integers(3)]
        # Over shared work each has a folder of its own; else all have the same one.
        outs = [trial.scratch / (f"out{number}" if how == "shared" else "out") for number in range(size)]
        for out in outs:
            out.mkdir(exist_ok=True)
        again = job.again if how == "again" else ()
        environment = {"TAILWRIGHT_SHARED": str(trial.scratch / "shared")} if how == "shared" else {}
        crowd = [
            Command(
                [*job.words_for(trial.place, out), *again], trial.scratch / f"said{number}", **environment
            )
            for number, out in enumerate(outs)
        ]
        done = f"{job.name}, {size} processes, {how}"
        ended = [command.wait_for(LONGEST) for command in crowd]
        if None in ended:
            return Outcome(done, "does not end", f"does not end within {LONGEST:g} s")
        good = sum(one.code == 0 for one in ended if one is not None)
        problems = [one.problem(0, 2) for one in ended if one is not None]
        problems += [difference(known.content, job.content(out)) for out in outs]
        problems += ["" if good and (how != "shared" or good == size) else f"{good} of {size} ended well"]
        return Outcome(done, f"{good} of {size} ended well", next(filter(None, problems), ""))


def quick_jobs(place: Path) -> list[Job]:
    """Jobs that are over within a second or two, so that many trials fit into the time."""
    return [
        job
        for job in jobs(place)
        if job.name in QUICK or (not job.name.startswith("train ") and job.name != "study")
    ]
