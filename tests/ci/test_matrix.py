"""The targets file says what is promised and who keeps it; the matrix says what runs, and why the rest does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitgate.cli.main import run
from bitgate.core import paths
from bitgate.core.errors import UsageError
from bitgate.core.targets import canonical, target_id
from bitgate.lab.ci.matrix import BACKENDS, Cell, SkipReason, cells, jobs
from bitgate.results.targets_file import GATES, CiTarget, CiTargets, Pool, read_targets

GOOD = """
schema = 2
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
backend = "github"
labels = ["ubuntu-24.04"]
state = "up"
[[pool]]
name = "mi300-a"
target = "gfx942"
backend = "github"
labels = ["self-hosted", "gfx942"]
state = "drained: new cooling until Friday"
"""
SECOND_POOL = """
[[pool]]
name = "mi300-b"
target = "gfx942"
backend = "github"
labels = ["self-hosted", "mi300-b"]
state = "up"
"""


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "targets.toml"
    path.write_text(text)
    return path


def _envs(found: tuple[Cell, ...]) -> list[str]:
    return [job.env for job in jobs(found)]


def test_our_own_file_promises_the_five_gpus_and_the_host() -> None:
    config = read_targets(paths.data_folder("ci") / "targets.toml")
    night = {cell.target for cell in cells(config, "regression") if cell.runs}
    assert {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "host"} <= night
    assert {*config.of("host"), *config.of("amd"), *config.of("nvidia")} == {one.name for one in config.targets}
    assert [cell.target for cell in cells(config, "smoke") if cell.runs] == ["host"]


def test_a_drained_pool_is_skipped_with_its_reason(tmp_path: Path) -> None:
    _, gfx942 = cells(read_targets(_file(tmp_path, GOOD)), "regression")
    assert not gfx942.runs
    assert "new cooling until Friday" in gfx942.reason


def test_a_targets_features_are_read_and_no_file_has_a_colon(tmp_path: Path) -> None:
    text = (
        (GOOD + SECOND_POOL)
        .replace("target.gfx942", 'target."gfx942:xnack-"')
        .replace('"gfx942"\n', '"gfx942:xnack-"\n')
    )
    found = cells(read_targets(_file(tmp_path, text)), "regression")
    assert _envs(found) == ["regression-host", "regression-gfx942_xnack-"]


def test_the_first_pool_that_is_up_serves(tmp_path: Path) -> None:
    _, gfx942 = cells(read_targets(_file(tmp_path, GOOD + SECOND_POOL)), "regression")
    assert gfx942.pool is not None
    assert gfx942.pool.name == "mi300-b"
    assert gfx942.reason == "gate nightly, pool mi300-b; pool mi300-a drained: new cooling until Friday"


def test_a_schema_1_file_is_read_and_its_pools_are_githubs(tmp_path: Path) -> None:
    text = GOOD.replace("schema = 2", "schema = 1").replace('backend = "github"\n', "")
    assert {pool.backend for pool in read_targets(_file(tmp_path, text)).pools} == {"github"}


GENERIC = """
[target."gfx9-4-generic"]
platform = "amd"
gate = "nightly"
minutes = { smoke = 15, regression = 60 }
"""


@pytest.mark.parametrize(
    ("target", "device", "serves"),
    [
        ("gfx9-4-generic", "gfx942", True),
        ("gfx9-4-generic", "gfx950:xnack-", True),
        ("gfx942", "gfx9-4-generic", False),
        ("gfx942:xnack-", "gfx942", True),
        ("gfx942:xnack-", "gfx942:xnack+", False),
        ("gfx942", "gfx942:sramecc+:xnack-", True),
    ],
)
def test_a_pool_serves_every_target_that_its_devices_run(
    tmp_path: Path, target: str, device: str, serves: bool
) -> None:
    text = (GOOD + SECOND_POOL).replace("[target.gfx942]", f'[target."{target}"]')
    text = text.replace('target = "gfx942"', f'target = ["{device}", "host"]')
    (pool,) = [pool for pool in read_targets(_file(tmp_path, text)).pools if pool.name == "mi300-b"]
    assert pool.serves(target) == serves


@pytest.mark.parametrize(("device", "serves"), [("host", True), ("host_for_gfx942", True), ("host_for_gfx1201", False)])
def test_what_takes_the_place_of_one_target_takes_no_other(device: str, serves: bool) -> None:
    assert Pool("lab", (device,), "up").serves("host_for_gfx942") is serves


def test_a_generic_target_runs_on_a_member_of_its_family(tmp_path: Path) -> None:
    found = cells(read_targets(_file(tmp_path, GOOD + SECOND_POOL + GENERIC)), "regression")
    assert [(cell.target, cell.pool.name if cell.pool else "") for cell in found] == [
        ("host", "hosted"),
        ("gfx942", "mi300-b"),
        ("gfx9-4-generic", "mi300-b"),
    ]


DEVICES = ("host", "gfx942", "gfx942:xnack-", "gfx950", "gfx9-4-generic", "gfx1100")


@given(
    st.lists(st.sampled_from(DEVICES), min_size=1, unique=True),
    st.lists(st.tuples(st.sampled_from(DEVICES), st.sampled_from(BACKENDS), st.booleans())),
    st.sampled_from(["pull_request", "nightly"]),
    st.sampled_from(["smoke", "regression"]),
    st.sets(st.sampled_from(BACKENDS), min_size=1),
)
def test_a_cell_runs_on_a_pool_that_is_up_or_says_why_not(
    targets: list[str], devices: list[tuple[str, str, bool]], gate: str, tier: str, asked: set[str]
) -> None:
    minutes = {"smoke": 1, "regression": 2}
    pools = tuple(
        Pool(f"p{n}", (canonical(device),), "up" if up else "drained: moved", backend)
        for n, (device, backend, up) in enumerate(devices)
    )
    promised = tuple(CiTarget(canonical(name), target_id(name).platform, gate, minutes) for name in targets)
    found = cells(CiTargets(promised, pools), tier, asked)
    assert [cell.target for cell in found] == [canonical(name) for name in targets]
    for cell in found:
        serving = [pool for pool in pools if pool.serves(cell.target)]
        able = [pool for pool in serving if pool.up and pool.backend in asked]
        assert cell.reason
        assert cell.runs == (cell.why is None) == bool(able and tier in GATES[gate])
        assert cell.pool is None or cell.pool == able[0]
        # Whatever is drained is named where it would have run.
        if cell.why is not SkipReason.GATE:
            assert all(pool.name in cell.reason for pool in serving if not pool.up and pool.backend in asked)


ON_SLURM = SECOND_POOL.replace('backend = "github"\nlabels = ["self-hosted", "mi300-b"]', 'backend = "slurm"')


def test_every_cell_has_one_reason_and_says_of_what_kind(tmp_path: Path) -> None:
    config = read_targets(_file(tmp_path, GOOD + ON_SLURM + GENERIC.replace("gfx9-4", "gfx11")))
    told = {
        (tier, cell.target): (cell.why, cell.reason)
        for tier in ("smoke", "regression")
        for cell in cells(config, tier, ["github"])
    }
    assert len(told) == 6
    assert told["smoke", "host"] == (None, "gate pull_request, pool hosted")
    assert told["smoke", "gfx942"] == (SkipReason.GATE, "gate nightly runs regression only")
    assert told["regression", "gfx942"] == (
        SkipReason.ELSEWHERE,
        "pool mi300-a drained: new cooling until Friday; pool mi300-b is of slurm",
    )
    assert told["regression", "gfx11-generic"] == (SkipReason.NO_POOL, "no pool serves it")
    (_, on_any, _) = cells(config, "regression")
    assert on_any.pool is not None
    assert on_any.pool.backend == "slurm"


def test_the_gate_keeps_a_target_out_of_smoke(tmp_path: Path) -> None:
    assert _envs(cells(read_targets(_file(tmp_path, GOOD + SECOND_POOL)), "smoke")) == ["smoke-host"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("gate =", "gates =", "[target.host]: gates: no such field; did you mean 'gate'?"),
        ("[[pool]]", "[[pools]]", "pools: no such field; did you mean 'pool'?"),
        ('"pull_request"', '"weekly"', "gate: 'weekly' is not one of pull_request, nightly"),
        ('"amd"', '"intel"', "platform: 'intel' is not one of host, amd, nvidia"),
        ('"amd"', '"host"', "platform: 'host' is not that of gfx942: amd"),
        ("target.gfx942", "target.gfx9999", "unknown target 'gfx9999'"),
        ('target = "gfx942"', 'target = "gfx1100"', "target: 'gfx1100' serves none of host, gfx942"),
        ('target = "gfx942"', 'target = "gfx94"', "unknown target 'gfx94'; did you mean 'gfx942'?"),
        ('target = "gfx942"\n', "", "[[pool]] 2: target: is missing; a target, or a list"),
        ('backend = "github"\n', "", "[[pool]] 1: backend: is missing; github, gitlab"),
        (
            'backend = "github"',
            'backend = "slrm"',
            f"backend: 'slrm' is not one of {', '.join(BACKENDS)}; did you mean 'slurm'?",
        ),
        ('backend = "github"', 'backend = "slurm"', "labels: are for github, gitlab, jenkins"),
        ('backend = "github"', 'backend = "github"\nconstraint = "gfx942"', "constraint: is for slurm"),
        ('backend = "github"', 'backend = "github"\nimage = "a image"', "image: 'a image' is not like NAME:TAG"),
        ('backend = "github"', 'backend = "github"\ngpus = -1', "gpus: -1 is not a number from 0 to 1024"),
        ('backend = "github"', 'backend = "github"\ngpus = "two"', "gpus: 'two' is not a number from 0 to 1024"),
        ('"mi300-a"', '"hosted"', "pool hosted appears twice"),
        (
            'gate = "nightly"',
            'gate = "nightly"\nfeatures = ["fp8_ocp"]',
            "features: gfx942 has no 'fp8_ocp'; did you mean",
        ),
        ("smoke = 15, ", "", "minutes: give one number each for smoke, regression"),
        ("smoke = 15", "smoke = 0", "minutes: 0 is not a number from 1 to 8640"),
        ('"drained: new cooling until Friday"', '"down"', "drained: <reason>"),
        ('labels = ["ubuntu-24.04"]\n', "", "labels: give a list of one or more words"),
        ("schema = 2", "schema = 3", "this bitgate reads 1 and 2"),
        ("schema = 2", "schema = = 2", "targets.toml"),
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
    assert run(["ci", "matrix", "--for", "jenkins", "--targets", str(_file(tmp_path, GOOD))]) == 2
    assert "no target runs smoke on a pool of jenkins" in capsys.readouterr().err


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
def test_values_that_a_shell_would_misread_are_refused(tmp_path: Path, old: str, new: str) -> None:
    with pytest.raises(UsageError, match=r"targets\.toml"):
        read_targets(_file(tmp_path, GOOD.replace(old, new)))
