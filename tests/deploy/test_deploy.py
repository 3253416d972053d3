"""The files of deploy/ fit each other, the command line and the routes of the server."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from serve_words import served

ROOT = Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile with their arguments, continued lines as one."""
    text = re.sub(r"\\\n\s*", "", (DEPLOY / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines]


def values_of(name: str) -> list[str]:
    return [value for found, value in instructions() if found == name]


def read_yaml(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text())


def image_command() -> list[str]:
    return json.loads(values_of("CMD")[0])


def unit() -> configparser.SectionProxy:
    """The [Service] of the unit; of a setting that is given twice, the last."""
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read(DEPLOY / "tailwright.service")
    return parser["Service"]


def container() -> dict[str, Any]:
    (found,) = read_yaml("kserve.yaml")["spec"]["predictor"]["containers"]
    return found


def test_the_image_serves_the_mounted_run_on_its_port():
    assert json.loads(values_of("ENTRYPOINT")[0]) == ["tailwright"]
    told = served(image_command())
    assert told["host"] == "0.0.0.0"
    assert values_of("EXPOSE") == [str(told["port"])]
    assert f"127.0.0.1:{told['port']}/health/ready" in values_of("HEALTHCHECK")[0]
    assert "/runs/run" in image_command()
    assert "/runs" in values_of("WORKDIR")


def test_the_image_runs_as_nobody_in_particular_and_without_torch():
    names = [name for name, _ in instructions()]
    assert int(values_of("USER")[0]) > 0
    assert names.index("USER") < names.index("CMD")
    assert values_of("ARG") == ["EXTRAS=serve"]
    (pip,) = [step for step in values_of("RUN") if " pip install " in step]
    assert pip.endswith('-c constraints.txt ".[${EXTRAS}]"')


def test_what_the_image_copies_is_there_and_is_let_through():
    copied = [source for value in values_of("COPY") for source in value.split()[:-1]]
    assert [source for source in copied if not (ROOT / source).exists()] == []
    ignore = (DEPLOY / "Dockerfile.dockerignore").read_text().split("\n")
    assert sorted(line[1:] for line in ignore if line.startswith("!")) == sorted(copied)


def test_the_services_of_compose_fit_the_image_and_each_other():
    services = read_yaml("compose.yaml")["services"]
    server, prometheus = services["tailwright"], services["prometheus"]
    assert server["build"] == {"context": "..", "dockerfile": "deploy/Dockerfile"}
    assert served(server["command"]) == served(image_command())
    port = served(server["command"])["port"]
    assert server["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert server["volumes"] == ["./runs:/runs:ro"]
    (volume,) = prometheus["volumes"]
    assert (DEPLOY / volume.split(":")[0]).is_file()
    (job,) = read_yaml("prometheus.yml")["scrape_configs"]
    assert job["static_configs"] == [{"targets": [f"tailwright:{port}"]}]
    assert job["metrics_path"] == "/metrics"


def test_kserve_asks_where_the_server_answers():
    told = served(container()["args"])
    assert container()["ports"] == [{"containerPort": told["port"], "protocol": "TCP"}]
    assert told["host"] == "0.0.0.0"
    for probe, path in (("readinessProbe", "/v2/health/ready"), ("livenessProbe", "/v2/health/live")):
        asked = container()[probe]["httpGet"]
        assert asked == {"path": path, "port": told["port"]}
    assert container()["securityContext"]["runAsUser"] == int(values_of("USER")[0])
    assert "tailwright=/mnt/models" in container()["args"]  # the name in the path of its example
    assert "/v2/models/tailwright/infer" in (DEPLOY / "kserve.yaml").read_text()


def test_the_unit_starts_the_server_on_this_machine_alone():
    program, *words = shlex.split(unit()["ExecStart"])
    assert program == "/opt/tailwright/bin/tailwright"
    assert served(words)["host"] == "127.0.0.1"
    assert unit()["DynamicUser"] == "yes"
    assert unit()["ProtectSystem"] == "strict"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_finds_nothing_wrong_with_the_unit_and_little_that_is_open(tmp_path):
    path = tmp_path / "tailwright.service"
    text = (DEPLOY / "tailwright.service").read_text()
    path.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE))
    for check in (["verify"], ["security", "--offline=true", "--threshold=15", "--no-pager"]):
        done = subprocess.run(
            ["systemd-analyze", *check, str(path)], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_the_check_runs_the_steps_of_the_dockerfile():
    script = DEPLOY / "check.sh"
    assert os.access(script, os.X_OK)
    listed = re.search(r"^steps\(\) \{\n(.*?)^\}", script.read_text(), re.MULTILINE | re.DOTALL)
    assert listed is not None
    environment = {**os.environ, "dockerfile": str(DEPLOY / "Dockerfile")}
    done = subprocess.run(
        ["bash", "-euc", listed[1]], capture_output=True, text=True, check=True, env=environment
    )
    steps = [step for step in values_of("RUN") if not step.startswith("useradd")]
    assert [line.split() for line in done.stdout.splitlines()] == [step.split() for step in steps]
    assert subprocess.run(["bash", "-n", str(script)], check=False).returncode == 0


@pytest.mark.slow
def test_the_image_or_its_steps_answer_and_stop_when_they_are_told_to():
    subprocess.run([str(DEPLOY / "check.sh")], check=True)
