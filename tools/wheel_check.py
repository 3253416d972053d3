"""Whether the wheel works in a fresh environment without extras, by the README's example.

    python -m tools.wheel_check [--python python3.13]

It builds the wheel, installs it with the pinned versions into a new environment, which takes the network and
some minutes, and runs the commands of the README's first example on a user's own data.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).resolve().parent.parent
SECTION = "## Your own data"


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout, built into a folder."""
    return Path(next(WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])))


def first_example(page: str) -> str:
    """The commands of the first console block of the section, as a script for bash.

    >>> first_example("## Your own data\\n```console\\n$ cat > a <<'END'\\n> b\\n> END\\nprinted\\n```\\n")
    "cat > a <<'END'\\nb\\nEND\\n"
    """
    block = re.findall(r"^```console\n(.*?)^```$", page.partition(SECTION)[2], re.MULTILINE | re.DOTALL)[0]
    lines = [line[2:] for line in block.splitlines() if line.startswith(("$ ", "> "))]
    return "\n".join(lines) + "\n"


def check(python: str, folder: Path) -> None:
    """Build, install and run; `subprocess.CalledProcessError` at the first command that fails."""
    wheel, environment, work = build_wheel(folder), folder / "environment", folder / "work"
    subprocess.run([python, "-m", "venv", str(environment)], check=True)
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), str(wheel)], check=True)
    work.mkdir()
    path = f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    script = "set -ex\ntailwright --version\n" + first_example(
        (ROOT / "README.md").read_text(encoding="utf-8")
    )
    subprocess.run(["bash", "-c", script], cwd=work, env={**plain, "PATH": path}, check=True)


def main() -> None:
    """Check in a temporary folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the new environment")
    with tempfile.TemporaryDirectory(prefix="wheel-") as folder:
        check(parser.parse_args().python, Path(folder))


if __name__ == "__main__":
    main()
