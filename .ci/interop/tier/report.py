"""Named rows: run, shown as they end, counted."""

import fnmatch
import threading
import time
import traceback
from pathlib import Path

from .process import Failed

TAIL_LINES = 25


class Report:
    def __init__(self, patterns: list[str], logs: Path):
        self._patterns = patterns
        self.logs = logs
        self.passed = 0
        self.failed: list[str] = []
        self._known = 0
        # Legs run side by side.
        self._lock = threading.Lock()

    @property
    def everything(self) -> bool:
        return not self._patterns

    def wants(self, name: str) -> bool:
        return not self._patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in self._patterns)

    def wants_any(self, section: str) -> bool:
        """May a row of this section be asked for? Decides what has to be started."""
        heads = [pattern.partition("/")[0] for pattern in self._patterns]
        return not heads or any(fnmatch.fnmatchcase(section, head) for head in heads)

    def row(self, name: str, check, always: bool = False) -> None:
        """Runs `check` unless a pattern leaves the row out; whatever it raises is the row's failure. `always`: others
        need what the row waits for, so no pattern leaves it out."""
        if not always and not self.wants(name):
            return
        began = time.monotonic()
        try:
            check()
        except Failed as error:
            self.add(name, str(error), always=always)
        except Exception as error:  # a mistake in the tier fails its row, not the other rows
            traceback.print_exc()
            self.add(name, f"{type(error).__name__}: {error}", always=always)
        else:
            self.add(name, None, time.monotonic() - began, always)

    def add(self, name: str, reason: str | None, seconds: float | None = None, always: bool = False) -> None:
        """A row whose outcome is known; no reason means that it passed. `always` ignores the patterns."""
        if not always and not self.wants(name):
            return
        with self._lock:
            if reason is None:
                self.passed += 1
                print(f"ok    {name}" + (f" ({seconds:.1f} s)" if seconds is not None else ""), flush=True)
            else:
                self.failed.append(f"{name}: {reason}")
                print(f"FAIL  {name}: {reason}", flush=True)

    def known(self, name: str, reason: str) -> None:
        """A row that fails as expected: shown, and counted neither as passed nor as failed."""
        if self.wants(name):
            with self._lock:
                self._known += 1
                print(f"known {name}: {reason}", flush=True)

    def close(self, seconds: float) -> int:
        """Prints what failed, the ends of the logs and the last line; the exit code."""
        if self.failed:
            for log in sorted(self.logs.glob("*.log")):
                self._show(log)
            print("--- failed rows", *self.failed, sep="\n")
        print(f"interop: {seconds:.0f} s, {self._known} known failures, logs in {self.logs}")
        print(f"{self.passed} passed, {len(self.failed)} failed", flush=True)
        return 1 if self.failed or not self.passed else 0

    def _show(self, log: Path) -> None:
        """The gateway's logs always, another one where a reason names it."""
        named = any(str(log) in failure for failure in self.failed)
        lines = log.read_text(errors="replace").splitlines() if named or log.name.startswith("gateway-") else []
        if lines:
            print(f"--- the end of {log}", *lines[-TAIL_LINES:], sep="\n")
