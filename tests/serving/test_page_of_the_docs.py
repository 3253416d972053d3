"""docs/serving.md: the command line takes its commands, and its requests get the answers that it shows."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from asking_server import Client, loaded
from serve_words import options, served

from tailwright.serving.settings import Limits

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "serving.md").read_text(encoding="utf-8")
COMMANDS = [
    shlex.split(command)
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for command in re.findall(r"^(?:\\\n|'[^']*'|[^\n'])+", block, re.MULTILINE)
]
CURLS = [words for words in COMMANDS if words[0] == "curl"]


@pytest.fixture(scope="module")
def client(matcher_folder) -> Iterator[Client]:
    service = loaded(f"run={matcher_folder}")
    yield Client(service)
    service.close()


def test_the_page_has_the_commands_that_these_tests_look_for():
    assert [words[0] for words in COMMANDS].count("tailwright") == 3
    assert len(CURLS) == 3


@pytest.mark.parametrize("words", [words for words in COMMANDS if words[0] == "tailwright"], ids=shlex.join)
def test_a_command_is_one_that_the_command_line_takes(words):
    assert served(words[1:])["runs"]


def test_every_option_is_there_and_its_default_is_the_one_that_is_said():
    assert set(re.findall(r"`(--[a-z-]+)", PAGE)) - options() == {"--build-arg"}
    limits = Limits()
    assert f"{limits.texts} texts a request" in PAGE
    assert f"{limits.characters:,} characters a text" in PAGE
    assert f"{limits.queue:,} texts that wait" in PAGE
    assert f"{limits.connections:,} connections" in PAGE
    assert f"at most {limits.stop_seconds:g} seconds" in PAGE
    assert limits.body == 1 << 20
    assert limits.header_seconds == limits.body_seconds == 10


@pytest.mark.parametrize("words", CURLS, ids=lambda words: words[1])
def test_a_request_gets_an_answer(client, words):
    data = [words[place + 1] for place, word in enumerate(words) if word == "-d"]
    kind = "application/json" if "-H" in words else "application/x-www-form-urlencoded"
    path = words[1].removeprefix("http://127.0.0.1:8000")
    answer = client.post(path, content="&".join(data), headers={"Content-Type": kind})
    assert answer.status_code == 200, answer.text


def test_the_answer_that_is_shown_has_the_fields_of_a_real_one(client):
    (shown,) = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
    real = client.post("/v1/predict", {"text": "old bridge", "k": 1}).json()
    assert shown.keys() == real.keys()
    (prediction,) = real["predictions"]
    assert shown["predictions"][0].keys() == prediction.keys()
    (label,) = prediction["labels"]
    assert all(given.keys() == label.keys() for given in shown["predictions"][0]["labels"])


@pytest.mark.parametrize("path", re.findall(r"`GET (/[^` ]+)`", PAGE))
def test_a_path_answers(client, path):
    assert client.get(path.replace("ID", "0")).status_code == 200
