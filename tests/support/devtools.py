"""A headless Chromium, driven over the pipe of its DevTools protocol; needs no package."""

import base64
import json
import os
import shutil
import subprocess
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 30


def find_browser():
    """The path of a Chromium; None where none is installed."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a browser; a context manager.

    Args:
        profile: a folder for what the browser keeps.
        width, height: of the page, in CSS pixels.
    """

    def __init__(self, profile, width=800, height=900):
        # The browser reads commands from file descriptor 3 and writes answers to 4.
        command_read, self._commands = os.pipe()
        self._answers, answer_write = os.pipe()
        arguments = [
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
            *("--remote-debugging-pipe", "--disable-background-networking", "--disable-component-update"),
            *(f"--user-data-dir={profile}", f"--window-size={width},{height}", "--hide-scrollbars", "about:blank"),
        ]

        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{command_read} 4>&{answer_write}', "bash", find_browser(), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(command_read, answer_write),
        )
        os.close(command_read)
        os.close(answer_write)
        self._number, self._rest, self.events = 0, b"", []
        target = next(one for one in self._call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        attached = self._call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        # Not by a signal: what it has started is to end with it.
        self._call("Browser.close")
        self._process.wait(PATIENCE)
        os.close(self._commands)
        os.close(self._answers)

    def call(self, method, **parameters):
        """The result of a method for the page."""
        return self._call(method, self._session, **parameters)

    def _call(self, method, session=None, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        message |= {"sessionId": session} if session else {}
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _next(self):
        while b"\0" not in self._rest:
            part = os.read(self._answers, 1 << 16)
            assert part, "the browser has ended"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def open(self, address):
        """Shows an address."""
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def evaluate(self, expression):
        """The value of an expression of JavaScript."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, expression):
        """Waits until an expression is true, and returns its value."""
        deadline = time.monotonic() + PATIENCE
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < deadline, expression
            time.sleep(0.05)
        return value

    def press(self, key, modifiers=0):
        """Presses a key; 2 is the modifier of Ctrl."""
        code = {"Enter": 13, "Tab": 9, "ArrowRight": 39, "ArrowLeft": 37, "Home": 36, "End": 35}.get(key, 0)
        about = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="rawKeyDown", **about)
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def write(self, text):
        """Writes into what has the focus."""
        self.call("Input.insertText", text=text)

    def prefer(self, scheme):
        """Shows the page "light" or "dark"."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path):
        """Keeps what is to be seen as a PNG."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def complaints(self):
        """Errors of the page, and addresses that it asked for."""
        self.evaluate("1")
        errors = [
            event for event in self.events if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")
        ]
        requests = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return errors, [event["params"]["request"]["url"] for event in requests]
