"""The command line: a shell over the Python API. Nothing heavy is imported here."""

from __future__ import annotations

import sys

import typer

from tailwright import __version__
from tailwright.cli import (
    advise,
    augment,
    compare,
    convert,
    demo,
    evaluate,
    explain,
    explain_mix,
    filter,
    graph,
    inspect,
    labels,
    methods,
    predict,
    quality,
    report,
    serve,
    study,
    tail,
    train,
)
from tailwright.cli.failures import as_one_line
from tailwright.cli.once import Command
from tailwright.cli.options import spelt_out

HELP = """Extreme multi-label text classifiers that get the rare labels right.

Results go to stdout, progress and logs to stderr; `--json` prints one machine-readable last line.
Exit codes: 0 good, 1 a failure of ours, 2 the input is wrong (said in one line).

Start with `tailwright demo`, then `tailwright data inspect PATH` on your own files.
"""

app = typer.Typer(name="tailwright", help=HELP, no_args_is_help=True, rich_markup_mode="markdown")
data = typer.Typer(help="Look at a corpus, and turn one format into another.", no_args_is_help=True)
label_commands = typer.Typer(help="Give a trained run more labels.", no_args_is_help=True)
GROUPS = {"data": data, "labels": label_commands}

app.command("demo", cls=Command)(demo.demo)
app.add_typer(data, name="data")
data.command("inspect", cls=Command)(inspect.inspect)
data.command("convert", cls=Command)(convert.convert)
app.command("augment", cls=Command)(augment.augment)
app.command("filter", cls=Command)(filter.filter_rows)
app.command("quality", cls=Command)(quality.quality)
app.command("train", cls=Command)(train.train)
app.add_typer(label_commands, name="labels")
label_commands.command("add", cls=Command)(labels.add)
app.command("evaluate", cls=Command)(evaluate.evaluate)
app.command("predict", cls=Command)(predict.predict)
app.command("explain", cls=Command)(explain.explain)
app.command("serve", cls=Command)(serve.serve)
app.command("tail", cls=Command)(tail.tail)
app.command("graph", cls=Command)(graph.graph)
app.command("explain-mix", cls=Command)(explain_mix.explain_mix)
app.command("study", cls=Command)(study.study)
app.command("compare", cls=Command)(compare.compare)
app.command("report", cls=Command)(report.report)
app.command("advise", cls=Command)(advise.advise)
app.command("models", cls=Command)(methods.models)
app.command("augmenters", cls=Command)(methods.augmenters)


def command_names() -> list[list[str]]:
    """Every command as words, the bare `tailwright` and its groups, such as `tailwright data`, among them."""
    top = [[command.name] for command in app.registered_commands if command.name]
    below = [
        [group, command.name]
        for group, commands in GROUPS.items()
        for command in commands.registered_commands
        if command.name
    ]
    return [[], *([group] for group in GROUPS), *top, *below]


def _print_version(asked: bool) -> None:
    if asked:
        print(f"tailwright {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Options that stand before a command."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit; every error is one line unless `--debug` is among the arguments."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run one command and give its exit code."""
    try:
        return int(app(spelt_out(arguments), prog_name="tailwright", standalone_mode=False) or 0)
    except typer.Exit as stop:
        return stop.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _say("stopped", 130)
    except typer.TyperException as error:
        return _say(error.format_message(), 2)
    except Exception as error:
        if "--debug" in arguments:
            raise
        known = as_one_line(error)
        if known is not None:
            return _say(str(known), known.exit_code)
        what = str(error).replace("\n", " ")
        return _say(f"{type(error).__name__}: {what} (a bug; --debug shows where)", 1)


def _say(line: str, code: int) -> int:
    print(f"tailwright: {line}", file=sys.stderr)
    return code
