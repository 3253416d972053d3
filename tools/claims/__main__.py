"""`python -m tools.claims DIR...`: judge the claims of the ledger by finished studies, and write the page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tailwright.cli.output import Output
from tailwright.errors import TailwrightError
from tools.claims.page import LEDGER, PAGE, judge_studies


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a verdict for each claim and write the page; the exit code is that of `tailwright`."""
    parser = argparse.ArgumentParser(prog="python -m tools.claims", description=__doc__)
    parser.add_argument("studies", metavar="DIR", nargs="+", type=Path, help="a folder of `tailwright study`")
    parser.add_argument("--ledger", metavar="FILE.toml", type=Path, default=LEDGER, help="the claims")
    parser.add_argument("--out", metavar="FILE", type=Path, default=PAGE, help="the page to write")
    parser.add_argument("--paper", action="append", default=[], help="judge the claims of this paper alone")
    parser.add_argument("--claim", action="append", default=[], help="judge the claim of this id alone")
    parser.add_argument("--anew", action="store_true", help="forget what the page says of other studies")
    parser.add_argument("--json", action="store_true", help="print the result as one line of JSON")
    asked = parser.parse_args(arguments)
    out = Output(asked.json, quiet=True)
    try:
        judgements = judge_studies(
            asked.studies, asked.ledger, asked.out, anew=asked.anew, papers=asked.paper, ids=asked.claim
        )
    except TailwrightError as error:
        print(f"claims: {error}", file=sys.stderr)
        return error.exit_code
    out.table(["claim", "verdict", "why"], [[one.claim.id, one.verdict, one.why] for one in judgements])
    out.text(f"wrote {asked.out}")
    verdicts = [{"claim": one.claim.id, "verdict": one.verdict, "why": one.why} for one in judgements]
    out.result(claims=verdicts, page=str(asked.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
