"""Child processes with a time limit, in process groups of their own that are stopped whole."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import threading
import time

TAIL_CHARACTERS = 2000

_live = set()
_lock = threading.Lock()
_stopping = False


@dataclasses.dataclass(frozen=True)
class Ended:
    """A process that has ended or was stopped."""

    command: list
    exit_code: int | None
    """None if it was stopped at its limit; negative for a signal."""
    out: str
    errors: str
    seconds: float

    @property
    def is_ok(self):
        return self.exit_code == 0

    def tail(self):
        """The end of what it printed, errors last."""
        return (self.out.strip()[-TAIL_CHARACTERS // 4:] + "\n" + self.errors.strip()[-TAIL_CHARACTERS:]).strip()

    def json(self):
        """The JSON that it printed; None if it is none."""
        try:
            return json.loads(self.out)
        except ValueError:
            return None


def run(command, limit, environment=None, folder=None):
    """Runs a command for at most `limit` seconds; its whole process group is stopped then."""
    command = [str(word) for word in command]
    start = time.monotonic()
    with _lock:
        if _stopping:
            return Ended(command, None, "", "the lab is stopping", 0.0)
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
            env={**os.environ, **(environment or {})}, cwd=folder, start_new_session=True)
        _live.add(child)
    code = None
    try:
        out, errors = child.communicate(timeout=max(limit, 0.01))
        code = child.returncode
    except subprocess.TimeoutExpired:
        _stop(child)
        out, errors = child.communicate()
    finally:
        with _lock:
            _live.discard(child)
    if _stopping:
        code = None
    return Ended(command, code, out, errors, time.monotonic() - start)


def _stop(child):
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # It has ended meanwhile.


def stop_all():
    """Stops every child that is alive; none is started until `allow`."""
    global _stopping
    with _lock:
        _stopping = True
        children = list(_live)
    for child in children:
        _stop(child)


def allow():
    """Children may be started again."""
    global _stopping
    with _lock:
        _stopping = False
