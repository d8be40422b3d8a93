"""Rows `mcpcheck/…`: another project's checks of a server of 2026-07-28, some of which the suite does not have."""

from pathlib import Path

from .process import Failed, run
from .report import Report

SECONDS = 60.0


def mcpcheck(report: Report, installed: Path, name: str, url: str) -> None:
    report.row(f"mcpcheck/{name}", lambda: _check(report.logs / f"mcpcheck-{name}", installed, url))


def _check(path: Path, installed: Path, url: str) -> None:
    code, out = run([str(installed / "modern/bin/python"), "-m", "mcpcheck", url], path.with_suffix(".log"), SECONDS)
    path.with_suffix(".txt").write_text(out)
    if code != 0:
        failed = [line.strip() for line in out.splitlines() if "FAIL" in line.upper()]
        raise Failed(f"exit code {code}: {'; '.join(failed)[:400]} (see {path.with_suffix('.txt')})")
