"""A recorded run, read as the program itself reports it.

``WINDAGE`` names the program; without it, that of the tests' own build.
"""

import json
import os
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

import windage_results as wr

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "record/2026-11-26/runs"
WINDAGE = os.environ.get("WINDAGE", str(ROOT / "target/debug/windage"))


def unpacked(folder):
    """The recorded run of the Go server, with telemetry at three sampling rates."""
    with tarfile.open(RECORDED / "go-http.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    (run,) = Path(folder).iterdir()
    return run


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.run_directory = unpacked(cls.folder.name)
        told = subprocess.run([WINDAGE, "report", cls.run_directory, "--json"], capture_output=True, text=True, check=True)
        cls.document = json.loads(told.stdout)
        cls.analysis = wr.Analysis(cls.document)

    def test_figures_are_those_of_the_document(self):
        figures = self.analysis.figures().set_index(["arm", "metric"])
        self.assertEqual(len(figures), sum(len(arm["metrics"]) for arm in self.document["arms"]))
        traced = next(arm for arm in self.document["arms"] if arm["role"] == "treatment")
        told = traced["metrics"]["cpu_per_request"]
        found = figures.loc[(traced["id"], "cpu_per_request")]
        self.assertEqual(found.verdict, "costs")
        self.assertEqual((found.unit, found.arm_value), ("us", told["arm"]))
        for name in ("difference", "relative"):
            ends = [found[name], found[f"{name}_low"], found[f"{name}_high"]]
            self.assertEqual(ends, [told[name][key] for key in ("estimate", "low", "high")])
            self.assertTrue(ends[1] < ends[0] < ends[2])
        baseline = figures.loc[("off", "cpu_per_request")]
        self.assertTrue(baseline.relative != baseline.relative, "the baseline has no effect")

    def test_telemetry_is_what_arrived(self):
        telemetry = self.analysis.telemetry()
        told = {arm["id"]: arm["fidelity"] for arm in self.document["arms"] if arm["fidelity"]}
        self.assertEqual(dict(zip(telemetry.arm, telemetry.delivered)), {arm: of["delivered"] for arm, of in told.items()})
        self.assertGreater(telemetry.delivered.max(), 1000)

    def test_warnings_have_their_codes(self):
        told = [reason["code"] for reason in self.document["validity"]["reasons"]]
        warnings = self.analysis.warnings()
        self.assertEqual(list(warnings[warnings.arm.isna()].code), told)

    def test_tables_have_every_record(self):
        blocks = wr.table(self.run_directory, "blocks", windage=WINDAGE)
        arms = {arm["id"] for arm in self.document["arms"]}
        self.assertEqual(set(blocks.arm), arms)
        self.assertTrue((blocks.groupby("arm").launch.nunique() == self.document["design"]["rounds"]).all())
        launches = wr.table(self.run_directory, "launches", windage=WINDAGE)
        self.assertEqual(len(launches), len(arms) * self.document["design"]["rounds"])

    def test_what_is_not_a_result_is_refused(self):
        other = Path(self.folder.name) / "other.json"
        other.write_text('{"schema": 99}')
        broken = Path(self.folder.name) / "broken.json"
        broken.write_text("{")
        table = [
            (lambda: wr.read(other), "schema 1, but 99"),
            (lambda: wr.read(broken), "is not JSON"),
            (lambda: wr.read(Path(self.folder.name) / "nothing"), "No such file"),
            (lambda: wr.table(self.run_directory, "rows"), "windows, blocks, launches"),
            (lambda: wr.table(self.run_directory, "blocks", windage="/no/windage"), "give its path"),
            (lambda: wr.table("/no/run", "blocks", windage=WINDAGE), "/no/run"),
        ]
        for refused, said in table:
            with self.assertRaises(wr.ResultsError) as caught:
                refused()
            self.assertIn(said, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
