"""Tensors of several types, an optional one, two layouts, two outputs, on a kernel that is no library: every command
serves them in an owner's repository."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from bitgate.results.record import Outcome, read


def test_several_types_optional_tensors_and_layouts_pass_a_run(scaled_rows: Any) -> None:
    """Decimals are expected not to run: the operation states no bound."""
    done = scaled_rows.bitgate("run", "--target=host", "-n0", "--json")
    assert done.code == 0, done.said
    assert done.document["summary"]["outcomes"] == {"PASS": 3, "NOT_RUN": 3}
    verdicts = {verdict.key.case: verdict for verdict in read(scaled_rows.folder / "out" / "host" / "results.jsonl")}
    reasons = {verdict.reason for verdict in verdicts.values() if verdict.outcome is Outcome.NOT_RUN}
    assert reasons <= {"no bound stated: scaled_rows has no fill of real numbers and no bound for them"}
    junit = ET.parse(scaled_rows.folder / "out" / "host" / "junit.xml")
    assert len(list(junit.iter("skipped"))) == 3


def test_so_do_digests_fuzz_and_coverage(scaled_rows: Any) -> None:
    done = scaled_rows.bitgate("cases", "--update-digests", "--json")
    assert (done.code, len(done.document["added"])) == (0, 3), done.said
    case = "scaled_rows_f16_f32_bf16_f16_r5c33_columns_biased"
    (verdict,) = scaled_rows.bitgate("verify", case, "--target=host", "--json").document["verdicts"]
    assert (verdict["verdict"], verdict["reference"]) == ("PASS", "stored")
    done = scaled_rows.fuzz("--target=host", "--json")
    assert (done.code, done.document["failures"]) == (0, []), done.said
    assert scaled_rows.bitgate("coverage", "--json").code == 0


def test_the_command_line_reports_real_numbers_without_a_bound(scaled_rows: Any) -> None:
    case = "scaled_rows_f16_f32_f16_r5c33_rows"
    done = scaled_rows.bitgate("verify", case, "--fill=decimal", "--target=host", "--json")
    (verdict,) = done.document["verdicts"]
    assert (done.code, verdict["verdict"], verdict["expected"]) == (3, "NOT_RUN", True)
