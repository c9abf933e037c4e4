"""Clocks as platforms report them, read from trees as drivers make them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bitgate.runtime.targets import absent
from bitgate.tools.bench.clocks import Clocks, amd, host, parse_smi


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


MI300X = {
    "sys/class/drm/card0/device/vendor": "0x1a03\n",  # the board's own graphics
    "sys/class/drm/card1/device/vendor": "0x1002\n",
    "sys/class/drm/card1/device/hwmon/hwmon4/name": "amdgpu\n",
    "sys/class/drm/card1/device/hwmon/hwmon4/freq1_input": "2100000000\n",
    "sys/class/drm/card1/device/hwmon/hwmon4/freq2_input": "1300000000\n",
    "sys/class/drm/card1/device/hwmon/hwmon4/temp2_input": "47000\n",
    "sys/class/drm/card1/device/hwmon/hwmon4/temp3_input": "38000\n",
    "sys/class/drm/card1/device/hwmon/hwmon4/power1_input": "141000000\n",
}


def test_an_amd_gpu_by_sysfs(tmp_path: Path) -> None:
    found = amd(tree(tmp_path, MI300X))
    assert found == {"sm_mhz": 2100.0, "memory_mhz": 1300.0, "celsius": 47.0, "watts": 141.0}


def test_an_older_board_has_other_files(tmp_path: Path) -> None:
    folder = "sys/class/drm/card0/device"
    files = {f"{folder}/vendor": "0x1002", f"{folder}/hwmon/hwmon0/temp1_input": "61000"}
    assert amd(tree(tmp_path, files | {f"{folder}/hwmon/hwmon0/power1_average": "250000000"})) == {
        "celsius": 61.0,
        "watts": 250.0,
    }


def test_the_cores_of_a_host(tmp_path: Path) -> None:
    cores = {f"sys/devices/system/cpu/cpu{n}/cpufreq/scaling_cur_freq": f"{2_000_000 + n * 1000}" for n in range(3)}
    assert host(tree(tmp_path, cores)) == {"cpu_mhz": 2001.0}
    load = {"proc/loadavg": "7.50 3.10 2.00 5/310 4711\n"}
    assert host(tree(tmp_path, load)) == {"cpu_mhz": 2001.0, "load": 2.5}


def test_a_line_of_nvidia_smi() -> None:
    assert parse_smi("1980, 3201, 34, 121.53\n") == {
        "sm_mhz": 1980.0,
        "memory_mhz": 3201.0,
        "celsius": 34.0,
        "watts": 121.53,
    }
    assert parse_smi("1980, [N/A], 34, [Not Supported]") == {"sm_mhz": 1980.0, "celsius": 34.0}
    assert parse_smi("") == {}


@pytest.mark.parametrize("target", ["gfx942", "host"])
def test_nobody_tells_anything(tmp_path: Path, target: str) -> None:
    clocks = Clocks(absent(target), tmp_path)
    clocks.begin()
    assert clocks.end() == {}


def test_the_least_and_the_most_of_all_looks(tmp_path: Path) -> None:
    root = tree(tmp_path, MI300X)
    clocks = Clocks(absent("gfx942"), root)
    clocks.begin()
    tree(root, {"sys/class/drm/card1/device/hwmon/hwmon4/freq1_input": "1700000000"})
    assert clocks.end()["sm_mhz"] == (1700.0, 2100.0)
