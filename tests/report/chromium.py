"""A headless Chromium driven over its debugging pipe: no driver, no port, no package beyond the browser itself.

The browser reads commands of the Chrome DevTools Protocol from its file descriptor 3 and answers on 4, as JSON messages
that end in a zero byte.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

BROWSER_VARIABLE = "FSGC_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
INSTALLED = Path(__file__).parents[2] / ".browser" / "chromium"
ADVICE = f"no Chromium: run 'make browser', install one, or set {BROWSER_VARIABLE} to its path"
_PATIENCE = 60.0


def find_chromium() -> str | None:
    """The browser that the variable names, that `make browser` has installed, or that is on the path."""
    named = os.environ.get(BROWSER_VARIABLE)
    if named:
        return named
    return str(INSTALLED) if INSTALLED.exists() else next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """A page in a browser of its own, as a context.

    Args:
        browser: the executable.
        profile: a directory for what the browser keeps.
        width: of the window in CSS pixels.
        height: of the window.
        dark: whether the system prefers dark colours.
    """

    def __init__(self, browser: str, profile: Path, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        self._browser, self._profile, self._size, self._dark = browser, profile, (width, height), dark
        self._number = 0
        self._session: str | None = None
        self._buffer = b""
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Page:
        # Both pipes first: they take the lowest free descriptors, so that 3 and 4 are in use before the child begins.
        pipes = (*os.pipe(), *os.pipe())
        commands, self._to, self._from, answers = pipes
        high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (commands, answers)]
        flags = [
            "--headless",
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--no-zygote",
        ]
        libraries = os.pathsep.join(filter(None, [str(INSTALLED.parent / "lib"), os.environ.get("LD_LIBRARY_PATH")]))
        environment = os.environ | ({"LD_LIBRARY_PATH": libraries} if self._browser == str(INSTALLED) else {})
        self._process = subprocess.Popen(
            [self._browser, *flags, f"--user-data-dir={self._profile}", "about:blank"],
            preexec_fn=lambda: [os.dup2(end, place) for place, end in enumerate(high, start=3)] and None,
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        for end in (commands, answers, *high):
            os.close(end)
        try:
            self._prepare()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _prepare(self) -> None:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        width, height = self._size
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if self._dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(_PATIENCE)
        os.close(self._to)
        os.close(self._from)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; what else the browser tells meanwhile is kept in `events`."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session and not method.startswith("Target."):
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _read(self) -> dict[str, Any]:
        deadline = time.monotonic() + _PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))
            content = os.read(self._from, 1 << 16) if ready else b""
            assert content, "the browser does not answer"
            self._buffer += content
        message, _, self._buffer = self._buffer.partition(b"\0")
        result: dict[str, Any] = json.loads(message)
        return result

    def open(self, path: Path) -> None:
        """Load a file and wait until it is there."""
        self.call("Page.navigate", url=path.resolve().as_uri())
        while self.run("document.readyState") != "complete" or self.run("location.protocol") != "file:":
            time.sleep(0.02)

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression; an exception in it fails the test."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press and let go of a key, as a user would."""
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def screenshot(self) -> bytes:
        """The window as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def complaints(self) -> list[str]:
        """Errors and warnings that the browser has logged."""
        self.run("0")  # what was told before this answer has arrived with it
        found = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(str(parameters["exceptionDetails"]))
            elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(str(parameters["args"]))
            elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(str(parameters["entry"]))
        return found

    def requests(self) -> list[str]:
        """The addresses that were asked for; data inside the page is none."""
        sent = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [url for url in sent if not url.startswith("data:")]
