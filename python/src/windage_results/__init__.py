"""Results of Windage as pandas data frames.

``read`` takes what a run concluded (``analysis.json``), ``table`` its raw records. Units are those of
docs/FORMAT.md: microseconds of CPU, nanoseconds in columns that end in ``_ns``, shares as fractions.
"""

import json
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

__all__ = ["Analysis", "ResultsError", "read", "table"]

SCHEMA = 1
TABLES = ("windows", "blocks", "launches")


class ResultsError(Exception):
    """What can't be read, and what to do."""


class Analysis:
    """What was concluded from a run: the document that ``windage report RUN --json`` prints."""

    def __init__(self, document: dict):
        found = document.get("schema") if isinstance(document, dict) else None
        if found != SCHEMA:
            raise ResultsError(f"not an analysis.json of schema {SCHEMA}, but {found}; use windage-results of that Windage")
        self.document = document

    def figures(self) -> pd.DataFrame:
        """A row for each load, arm and metric."""
        rows = []
        for regime, arm in self._arms():
            for metric, figure in arm["metrics"].items():
                row = {"regime": regime, "arm": arm["id"], "role": arm["role"], "metric": metric, "unit": figure["unit"]}
                row |= {"baseline_value": figure["baseline"], "arm_value": figure["arm"]}
                for name in ("difference", "relative"):
                    interval = figure[name] or {}
                    row |= {name: interval.get("estimate")}
                    row |= {f"{name}_{end}": interval.get(end) for end in ("low", "high")}
                row |= {key: figure[key] for key in ("verdict", "holds_in_family", "measured", "rounds")}
                row["validity"] = figure["validity"]["verdict"]
                row["missing"] = figure.get("missing", {}).get("text")
                rows.append(row)
        return pd.DataFrame(rows)

    def telemetry(self) -> pd.DataFrame:
        """A row for each load and arm with telemetry: what was expected, and what arrived."""
        keys = ("of", "expected", "delivered", "lost", "beyond_sampling", "spans", "wire_bytes", "body_bytes", "backend")
        rows = [
            {"regime": regime, "arm": arm["id"]} | {key: arm["fidelity"][key] for key in keys}
            for regime, arm in self._arms()
            if arm["fidelity"]
        ]
        return pd.DataFrame(rows, columns=["regime", "arm", *keys])

    def warnings(self) -> pd.DataFrame:
        """A row for each warning about the run (``arm`` and ``metric`` missing) or about a figure of it."""
        rows = []
        for part in self._parts():
            of_run = [(None, None, part["validity"])]
            of_figures = [
                (arm["id"], metric, figure["validity"])
                for arm in part["arms"]
                for metric, figure in arm["metrics"].items()
            ]
            for arm, metric, validity in of_run + of_figures:
                for reason in validity["reasons"]:
                    row = {"regime": part["regime"], "arm": arm, "metric": metric}
                    rows.append(row | {key: reason[key] for key in ("code", "verdict", "text")})
        return pd.DataFrame(rows, columns=["regime", "arm", "metric", "code", "verdict", "text"])

    def _parts(self) -> list:
        return [self.document, *self.document["other_loads"]]

    def _arms(self):
        return ((part["regime"], arm) for part in self._parts() for arm in part["arms"])


def read(run) -> Analysis:
    """What was concluded from a run, given its directory or its ``analysis.json``."""
    path = Path(run)
    path = path / "analysis.json" if path.is_dir() else path
    try:
        return Analysis(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ResultsError(f"{path}: {error.strerror}; `windage report {run} --json --out {path}` writes it") from error
    except ValueError as error:
        raise ResultsError(f"{path} is not JSON: {error}") from error


def table(run, name: str, windage: str = "windage") -> pd.DataFrame:
    """Raw records of a run, by ``windage report RUN --format NAME``: ``windows``, ``blocks`` or ``launches``."""
    if name not in TABLES:
        raise ResultsError(f"no table {name}; there are {', '.join(TABLES)}")
    has_types = find_spec("pyarrow") is not None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"table.{'parquet' if has_types else 'csv'}"
        command = [str(windage), "report", str(run), "--format", name, "--out", str(file)]
        try:
            ended = subprocess.run(command, capture_output=True, text=True)
        except OSError as error:
            raise ResultsError(f"{windage}: {error.strerror}; install Windage, or give its path as `windage`") from error
        if ended.returncode != 0:
            raise ResultsError(ended.stderr.strip())
        return pd.read_parquet(file) if has_types else pd.read_csv(file)
