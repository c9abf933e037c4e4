"""The targets file says what is promised and who keeps it; the matrix says what runs, and why the rest does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bitgate import rooms
from bitgate.ci.matrix import cells, github_matrix
from bitgate.ci.targets import read_targets
from bitgate.cli.main import run
from bitgate.errors import UsageError

GOOD = """
schema = 1
[target.host]
platform = "host"
gate = "pull_request"
minutes = { smoke = 15, regression = 60 }
[target.gfx942]
platform = "amd"
gate = "nightly"
minutes = { smoke = 15, regression = 60 }
[[pool]]
name = "hosted"
target = "host"
labels = ["ubuntu-24.04"]
state = "up"
[[pool]]
name = "mi300-a"
target = "gfx942"
labels = ["self-hosted", "gfx942"]
state = "drained: new cooling until Friday"
"""
SECOND_POOL = """
[[pool]]
name = "mi300-b"
target = "gfx942"
labels = ["self-hosted", "mi300-b"]
state = "up"
"""


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "targets.toml"
    path.write_text(text)
    return path


def test_our_own_file_promises_the_five_gpus_and_the_host() -> None:
    config = read_targets(rooms.room("ci") / "targets.toml")
    night = {cell.target for cell in cells(config, "regression") if cell.runs}
    assert {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "host"} <= night
    assert {*config.of("host"), *config.of("amd"), *config.of("nvidia")} == {one.name for one in config.targets}
    assert [cell.target for cell in cells(config, "smoke") if cell.runs] == ["host"]


def test_a_drained_pool_is_skipped_with_its_reason(tmp_path: Path) -> None:
    _, gfx942 = cells(read_targets(_file(tmp_path, GOOD)), "regression")
    assert not gfx942.runs
    assert "new cooling until Friday" in gfx942.reason


def test_features_of_a_target_are_read_and_no_file_is_named_with_a_colon(tmp_path: Path) -> None:
    text = (
        (GOOD + SECOND_POOL)
        .replace("target.gfx942", 'target."gfx942:xnack-"')
        .replace('"gfx942"\n', '"gfx942:xnack-"\n')
    )
    matrix = github_matrix(cells(read_targets(_file(tmp_path, text)), "regression"))
    assert [cell["env"] for cell in matrix["include"]] == ["regression-host", "regression-gfx942_xnack-"]


def test_the_first_pool_that_is_up_serves(tmp_path: Path) -> None:
    _, gfx942 = cells(read_targets(_file(tmp_path, GOOD + SECOND_POOL)), "regression")
    assert gfx942.labels == ("self-hosted", "mi300-b")


def test_the_gate_keeps_a_target_out_of_smoke(tmp_path: Path) -> None:
    matrix = github_matrix(cells(read_targets(_file(tmp_path, GOOD + SECOND_POOL)), "smoke"))
    assert [cell["env"] for cell in matrix["include"]] == ["smoke-host"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("gate =", "gates =", "unknown key 'gates': did you mean 'gate'"),
        ("[[pool]]", "[[pools]]", "unknown key 'pools': did you mean 'pool'"),
        ('"pull_request"', '"weekly"', "gate = 'weekly' is none of pull_request, nightly"),
        ('"amd"', '"intel"', "platform = 'intel' is none of"),
        ('"amd"', '"host"', "platform = 'host': gfx942 is of amd"),
        ("target.gfx942", "target.gfx9999", "unknown target 'gfx9999'"),
        ('target = "gfx942"', 'target = "gfx1100"', "target = 'gfx1100' is none of host, gfx942"),
        ("smoke = 15, ", "", "minutes needs one number each"),
        ("smoke = 15", "smoke = 0", "positive"),
        ('"drained: new cooling until Friday"', '"down"', "drained: <reason>"),
        ('labels = ["ubuntu-24.04"]\n', "", "labels missing"),
        ("schema = 1", "schema = 2", "this bitgate reads 1"),
        ("schema = 1", "schema = = 1", "targets.toml"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        read_targets(_file(tmp_path, GOOD.replace(old, new)))
    assert said in str(error.value)
    assert "targets.toml" in str(error.value)


def test_the_command_prints_one_line_of_json_for_the_workflow(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ci", "matrix", "--tier", "regression", "--json"]) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    for cell in json.loads(out)["include"]:
        assert cell["env"] == f"regression-{cell['target']}"
        assert cell["target"] in err


def test_an_empty_matrix_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _file(tmp_path, GOOD.replace('state = "up"', 'state = "drained: moving house"'))
    assert run(["ci", "matrix", "--targets", str(path)]) == 2
    assert "no target runs smoke" in capsys.readouterr().err


def test_an_unknown_tier_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ci", "matrix", "--tier", "smok"]) == 2
    assert "--tier smok: did you mean 'smoke'?" in capsys.readouterr().err


def test_a_target_in_shards_is_a_job_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ci", "matrix", "--tier", "regression", "--shards", "2", "--shards", "gfx942=3", "--json"]) == 0
    jobs = json.loads(capsys.readouterr().out)["include"]
    assert [(job["shard"], job["part"]) for job in jobs if job["target"] == "gfx942"] == [
        ("1/3", "s1of3"),
        ("2/3", "s2of3"),
        ("3/3", "s3of3"),
    ]
    assert sum(job["target"] == "host" for job in jobs) == 2


@pytest.mark.parametrize("text", ["0", "-1", "x", "gfx942=", "gfx942=0", "gfx9=2", "1001", "2;id"])
def test_a_wrong_number_of_shards_is_named(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ci", "matrix", "--tier", "regression", "--shards", text, "--json"]) == 2
    assert f"--shards {text}: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[target.gfx942]", '[target."../x"]'),
        ('name = "mi300-a"', 'name = "$(id)"'),
        ('"ubuntu-24.04"', '"ubuntu\\"; id"'),
        ("regression = 60", "regression = true"),
        ("[[pool]]", "[pool]"),
    ],
)
def test_values_that_a_shell_or_a_path_would_misread_are_refused(tmp_path: Path, old: str, new: str) -> None:
    with pytest.raises(UsageError, match=r"targets\.toml"):
        read_targets(_file(tmp_path, GOOD.replace(old, new)))
