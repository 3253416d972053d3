"""Drives a headless Chromium through chromedriver: as much of WebDriver as these tests need."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SWITCHES = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


def missing() -> str:
    """Why no browser can be driven here; empty if one can."""
    lacking = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"not installed: {', '.join(lacking)}" if lacking else ""


class Browser:
    """One window. Script runs in the page; logs are what the page said and asked for since the last look."""

    def __init__(self, address: str, capabilities: dict[str, Any]) -> None:
        self._session = f"{address}/session"
        made = self._ask("POST", "", {"capabilities": {"alwaysMatch": capabilities}})
        self._session += f"/{made['sessionId']}"

    def open(self, path: Path) -> None:
        self.visit(path.resolve().as_uri())

    def visit(self, address: str) -> None:
        for forget in (self.errors, self.requests):  # what the page before said
            forget()
        self._ask("POST", "/url", {"url": address})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value that `script` returns; it finds its arguments in `arguments`."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def press(self, key: str) -> None:
        """A key pressed and let go, wherever the focus is."""
        actions = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        self._ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def resize(self, width: int, height: int, *, dark: bool = False, phone: bool = False) -> None:
        """The page's own size in pixels, whatever the window around it takes."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.devtools("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.devtools("Emulation.setEmulatedMedia", features=[scheme])

    def devtools(self, command: str, **parameters: Any) -> Any:
        return self._ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def screenshot(self, path: Path, height: int) -> None:
        """The page from its top down to `height`, as a PNG."""
        width = self.run("return innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        taken = self.devtools("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(taken["data"]))

    def errors(self) -> list[str]:
        """What the console holds of warnings and errors."""
        said = self._ask("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in said if entry["level"] in {"SEVERE", "WARNING"}]

    def requests(self) -> list[str]:
        """Every address that the page asked for."""
        messages = [
            json.loads(e["message"])["message"] for e in self._ask("POST", "/se/log", {"type": "performance"})
        ]
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]

    def close(self) -> None:
        self._ask("DELETE", "", None)

    def _ask(self, method: str, path: str, values: Any) -> Any:
        body = None if values is None else json.dumps(values).encode()
        request = urllib.request.Request(self._session + path, data=body, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from error


@contextmanager
def browsing(folder: Path) -> Iterator[Browser]:
    """A browser with an empty profile in `folder`, and its driver; both are gone afterwards."""
    driver = subprocess.Popen(
        ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert driver.stdout is not None
        started = next(line for line in driver.stdout if "started successfully on port" in line)
        port = int(started.rstrip().rstrip(".").rsplit(" ", 1)[1])
        browser = Browser(
            f"http://127.0.0.1:{port}",
            {
                "browserName": "chrome",
                "goog:chromeOptions": {
                    "binary": shutil.which("chromium"),
                    "args": [*SWITCHES, f"--user-data-dir={folder / 'profile'}"],
                },
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            },
        )
        try:
            yield browser
        finally:
            browser.close()
    finally:
        driver.terminate()
        driver.communicate()
