"""Clocks, temperature and power of the device while it is timed, read between rounds, where the platform reports
them."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic

from bitgate.runtime.targets import Target

LOOK_SECONDS = 1.0
"""Least seconds between two readings: one takes the time of several samples."""
SMI_SECONDS = 10.0

FIELDS = {"sm_mhz": "clocks.sm", "memory_mhz": "clocks.mem", "celsius": "temperature.gpu", "watts": "power.draw"}
"""Names here, and those of ``nvidia-smi --query-gpu``."""

_AMD_VENDOR = "0x1002"
_HWMON = {
    "sm_mhz": (("freq1_input",), 1e-6),
    "memory_mhz": (("freq2_input",), 1e-6),
    "celsius": (("temp2_input", "temp1_input"), 1e-3),
    "watts": (("power1_average", "power1_input"), 1e-6),
}
"""Files of amdgpu's hwmon folder, of which the first that exists counts, and the factor of its number. temp2: junction.
"""


class Clocks:
    """Readings of a target's device between ``begin`` and ``end``. ``root`` is that of the file system, for tests."""

    def __init__(self, target: Target, root: Path = Path("/")) -> None:
        self._platform, self._root = target.platform, root
        self._found: dict[str, tuple[float, float]] = {}
        self._next = 0.0

    def begin(self) -> None:
        self._found, self._next = {}, 0.0
        self.read()

    def read(self) -> None:
        if monotonic() < self._next:
            return
        for name, value in self._now().items():
            least, most = self._found.get(name, (value, value))
            self._found[name] = min(least, value), max(most, value)
        self._next = monotonic() + LOOK_SECONDS

    def end(self) -> Mapping[str, tuple[float, float]]:
        """Return the least and the most of each quantity by name; empty where the platform reports nothing."""
        self._next = 0.0
        self.read()
        return self._found

    def _now(self) -> Mapping[str, float]:
        if self._platform == "nvidia":
            return _nvidia()
        return amd(self._root) if self._platform == "amd" else host(self._root)


def _nvidia() -> Mapping[str, float]:
    try:
        return _by_library()
    except ImportError:
        return _by_program()


def _first_device() -> str:
    """Return the device as the driver's tools name it: kernels run on the first that the process sees."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0] or "0"


def _by_library() -> Mapping[str, float]:
    """Read the device by nvidia-ml-py; ImportError if it is not installed."""
    import pynvml  # type: ignore[import-not-found, import-untyped, unused-ignore]

    with suppress(pynvml.NVMLError):
        pynvml.nvmlInit()
        named = _first_device()
        by_uuid, by_index = pynvml.nvmlDeviceGetHandleByUUID, pynvml.nvmlDeviceGetHandleByIndex
        device = by_index(int(named)) if named.isdecimal() else by_uuid(named)
        return {
            "sm_mhz": float(pynvml.nvmlDeviceGetClockInfo(device, pynvml.NVML_CLOCK_SM)),
            "memory_mhz": float(pynvml.nvmlDeviceGetClockInfo(device, pynvml.NVML_CLOCK_MEM)),
            "celsius": float(pynvml.nvmlDeviceGetTemperature(device, pynvml.NVML_TEMPERATURE_GPU)),
            "watts": pynvml.nvmlDeviceGetPowerUsage(device) / 1e3,
        }
    return {}


def _by_program() -> Mapping[str, float]:
    query = f"--query-gpu={','.join(FIELDS.values())}"
    command = ["nvidia-smi", query, "--format=csv,noheader,nounits", "-i", _first_device()]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SMI_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return parse_smi(done.stdout) if done.returncode == 0 else {}


def parse_smi(text: str) -> Mapping[str, float]:
    """Parse the answer of nvidia-smi, in the order of FIELDS; ``[N/A]`` is left out."""
    values = [value.strip() for value in (text.strip().splitlines() or [""])[0].split(",")]
    return {
        name: float(value)
        for name, value in zip(FIELDS, values, strict=False)
        if re.fullmatch(r"\d+(\.\d+)?", value) and name
    }


def amd(root: Path) -> Mapping[str, float]:
    """Read the first AMD GPU, from what amdgpu reports in sysfs."""
    for card in sorted((root / "sys/class/drm").glob("card*/device")):
        if _text(card / "vendor") != _AMD_VENDOR:
            continue
        for folder in sorted(card.glob("hwmon/hwmon*")):
            found = {name: _first_of(folder, names, unit) for name, (names, unit) in _HWMON.items()}
            return {name: value for name, value in found.items() if value is not None}
    return {}


def host(root: Path) -> Mapping[str, float]:
    """Read the host: ``cpu_mhz`` is the mean of all cores, ``load`` the threads a core that wanted to run in the last
    minute."""
    cores = root / "sys/devices/system/cpu"
    values = [
        int(text) for path in cores.glob("cpu[0-9]*/cpufreq/scaling_cur_freq") if (text := _text(path)).isdecimal()
    ]
    found = {"cpu_mhz": sum(values) / len(values) / 1e3} if values else {}
    count, wanted = len(list(cores.glob("cpu[0-9]*"))), re.match(r"\d+\.\d+", _text(root / "proc/loadavg"))
    return found | ({"load": round(float(wanted[0]) / count, 3)} if count and wanted else {})


def _first_of(folder: Path, names: tuple[str, ...], unit: float) -> float | None:
    text = next((text for name in names if (text := _text(folder / name)).isdecimal()), "")
    return round(int(text) * unit, 3) if text else None


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
