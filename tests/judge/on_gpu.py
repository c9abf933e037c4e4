"""Judge submissions on an NVIDIA GPU: ``python tests/judge/on_gpu.py --out FOLDER``. About 8 minutes with 16 cores;
``--only A,B --seconds S`` for less. ``--probe`` only prints, in a minute, with which measures of the sandbox the GPU's
driver starts.

Right ones (torch, Triton, load_inline, device functions, a cubin) have to be right, attacks wrong, and times of the
kind that they can be of; ``--many`` makes a table of six, broken off and resumed. Then PyTorch's own operations run on
the smoke suites (examples/torch). Prints a line each and a table at the end, keeps every report in FOLDER, and ends
with 1 if one is not as it has to be, else with 3 if --seconds left some out.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LONG_MS = 40.0
"""The least time of a submission that keeps the GPU busy for 50 ms."""

HOSTS_CONSTRUCTOR = """
#include <stdlib.h>
struct EndsItsProcess {
  EndsItsProcess() { _Exit(0); }
};
static EndsItsProcess ends_its_process;
"""
COUNTED = "  __shared__ int calls;\n  if (threadIdx.x == 0)\n    calls = atomicAdd(&launched, 1);\n  __syncthreads();\n"


@dataclass(frozen=True)
class Judged:
    """A submission, its task and further words of the command, and what has to be found."""

    name: str
    submission: Path
    task: str
    verdict: str
    words: tuple[str, ...] = ("--problems", "4", "--samples", "0")
    kind: str = ""
    """The kind of its time; empty: it is not timed."""
    least_ms: float = 0.0

    def mistakes(self, report: dict[str, Any]) -> Iterator[str]:
        """Yield what is not as it has to be."""
        if report.get("verdict") != self.verdict:
            yield f"it is {report.get('verdict')} instead of {self.verdict}: {report.get('diagnosis')}"
        elif "does not load" in (report.get("diagnosis") or ""):
            yield "it never ran: nothing was found out about it"
        elif self.kind:
            found = report["time"] or {}
            if found.get("kind") != self.kind or not found.get("ms"):
                yield f"its time is {found}"
            elif found["ms"] < self.least_ms:
                yield f"it took {found['ms']} ms, at least {self.least_ms} are true"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "judge_on_gpu")
    parser.add_argument("--target", default="", help="default: the GPU of this machine")
    parser.add_argument("--only", default="", help="A,B,...: names, or parts of names; 'many'; 'vendors'")
    parser.add_argument("--at-once", type=int, default=7, help="this number of submissions")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="judge no longer, those named first first")
    parser.add_argument("--vendors-seconds", type=float, default=240.0)
    parser.add_argument("--probe", action="store_true", help="start the driver with each measure of the sandbox")
    asked = parser.parse_args()
    if asked.probe:
        sys.path.insert(0, str(ROOT / "harness"))
        os.environ["PYTHONPATH"] = f"{ROOT / 'harness'}:{os.environ.get('PYTHONPATH', '')}"
        return import_module("gpu_probe").probe()
    out = asked.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    (out / "made").mkdir(parents=True)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'harness'}:{os.environ.get('PYTHONPATH', '')}"}
    environment |= {"BITGATE_OUT": str(out / "runs")}
    target = asked.target or _target(environment)
    begun, failed = time.monotonic(), []
    left_out: list[str] = []

    def judge(one: Judged) -> list[str]:
        at = time.monotonic()
        words = [sys.executable, "-m", "bitgate", "judge", str(one.submission), "--task", one.task]
        words += ["--target", target, "--seed", "11", "--json", "--time-limit", "60", *one.words]
        left = asked.seconds - (at - begun)
        try:
            code, said, errors = _ended(words, environment, left)
        except subprocess.TimeoutExpired:
            left_out.append(one.name)
            return []
        (out / f"{one.name}.json").write_text(said)
        (out / f"{one.name}.err").write_text(errors)
        try:
            report: dict[str, Any] = json.loads(said)
            found = list(one.mistakes(report))
        except ValueError:
            report, found = {}, [f"no report, exit code {code}: {errors[-2000:]}"]
        clock = (report.get("time") or {}).get("rows") or [{}]
        times = " ".join(f"{key}={clock[0][key]}" for key in ("ms", "low", "floor", "claimed") if key in clock[0])
        kind = (report.get("time") or {}).get("kind", "")
        lines = [
            f"{'BAD' if found else 'ok '} {one.name:24} {report.get('verdict', '?'):6} {kind:8} {times}"
            f"  [{time.monotonic() - at:.0f} s]  {(report.get('diagnosis') or '')[:160]}"
        ]
        print("\n    ".join([*lines, *found]), flush=True)
        return [one.name] if found else []

    every = chosen(list(submissions(out / "made", target)), asked.only)
    alone = [one for one in every if one.name.endswith("_large")]
    together = [one for one in every if one not in alone]
    print(f"target {target}; sandboxed judge; {len(every)} submissions", flush=True)
    has_vendors, has_many = (not asked.only or name in asked.only.split(",") for name in ("vendors", "many"))
    failed += [name for one in together[:1] for name in judge(one)]  # builds bitgate's tools for the rest
    with ThreadPoolExecutor(asked.at_once) as pool:
        bits = pool.submit(vendors, target, environment, asked.vendors_seconds) if has_vendors else None
        failed += [name for names in pool.map(judge, together[1:]) for name in names]
        if bits is not None:
            failed += own_kernels(target, environment)
            print(bits.result(), flush=True)
    if has_many:
        failed += many(out, target, environment)
    failed += [name for one in alone for name in judge(one)]  # times want a GPU for themselves
    boxes = (json.loads(one.read_text())["sandbox"] for one in out.glob("*.json") if one.stat().st_size)
    print(f"sandbox: {', '.join(next(boxes, []))}", flush=True)
    print(f"not judged within {asked.seconds:g} s: {', '.join(left_out) or 'none'}")
    print(f"{len(every)} submissions in {time.monotonic() - begun:.0f} s; not as they have to be: {failed or 'none'}")
    return 1 if failed else 3 if left_out else 0


def chosen(every: Sequence[Judged], only: str) -> list[Judged]:
    """Return those that ``only`` names, whole or in part, in its order."""
    if not only:
        return list(every)
    names = {one.name: one for one in every}
    found = (name for word in only.split(",") for name in ([word] if word in names else names) if word in name)
    return [names[name] for name in dict.fromkeys(found)]


def _ended(words: Sequence[str], environment: dict[str, str], seconds: float) -> tuple[int, str, str]:
    """Return the exit code and the output of a command that runs this long at most, with all that it starts."""
    if seconds <= 0:
        raise subprocess.TimeoutExpired(words, seconds)
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as running:
        try:
            said, errors = running.communicate(timeout=None if seconds == float("inf") else seconds)
        except BaseException:
            os.killpg(running.pid, signal.SIGKILL)
            raise
        return running.returncode, said, errors


def _target(environment: dict[str, str]) -> str:
    words = [sys.executable, "-c", "from bitgate.runtime.targets import best; print(best().name)"]
    return subprocess.run(words, capture_output=True, text=True, env=environment, check=True).stdout.strip()


def submissions(made: Path, target: str) -> Iterator[Judged]:
    """Yield all submissions; files that are made of others are written to ``made``."""
    sys.path.insert(0, str(ROOT / "harness"))
    softmax, matmul = (str(HERE / "gpu" / "tasks" / name) for name in ("softmax.py", "matmul_f16.py"))
    large = ("--own", "--samples", "20", "--input", "rows=512", "--input", "columns=1024")
    product = ("--own", "--samples", "20", "--input", "m=512", "--input", "n=512", "--input", "k=512")
    gpu, timed = HERE / "gpu", ("--problems", "6", "--samples", "5")
    plain = Path(shutil.copytree(HERE / "softmax_source", made / "plain"))
    text = (plain / "softmax.cu").read_text()
    yield Judged("torch", gpu / "right_torch.py", softmax, "right", timed, "bounded")
    yield Judged("source", plain, softmax, "right", timed, "trusted")
    yield Judged("torch_large", gpu / "right_torch.py", softmax, "right", large, "bounded")
    yield Judged("source_large", plain, softmax, "right", large, "trusted")
    example = ROOT / "examples" / "tiled_gemm"
    yield Judged("tiled_gemm", example, "gemm_f32_m64n64k64", "right", timed, "trusted")
    if find_spec("triton"):
        yield Judged("triton", gpu / "triton_softmax.py", softmax, "right", timed, "bounded")
        yield Judged("triton_large", gpu / "triton_softmax.py", softmax, "right", large, "bounded")
        yield Judged("triton_matmul", gpu / "triton_matmul.py", matmul, "right", timed, "bounded")
        yield Judged("triton_matmul_large", gpu / "triton_matmul.py", matmul, "right", product, "bounded")
        yield Judged("triton_unmasked", gpu / "triton_unmasked.py", softmax, "wrong")
    else:
        print("not run: Triton, which is not installed")
    if find_spec("ninja") or shutil.which("ninja"):
        yield Judged("load_inline", gpu / "inline_softmax.py", softmax, "right")
    else:
        print("not run: load_inline, which needs ninja")
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if nvcc and target.startswith("sm_"):
        module = Path(shutil.copytree(gpu / "module", made / "module"))
        subprocess.run(
            [nvcc, "-cubin", f"-arch={target}", "--fmad=false", str(plain / "softmax.cu"), "-o", "softmax.cubin"],
            cwd=module,
            check=True,
        )
        yield Judged("module", module, softmax, "right", timed, "trusted")
    constructor = Path(shutil.copytree(plain, made / "constructor"))
    (constructor / "softmax.cu").write_text(f"{text}\n{HOSTS_CONSTRUCTOR}")
    yield Judged("source_with_host_code", constructor, softmax, "right", timed, "trusted")
    counted = Path(shutil.copytree(plain, made / "counted"))
    kernel = "__device__ int launched;\n\n__global__"
    body = text.replace("__global__", kernel, 1).replace("columns) {\n", f"columns) {{\n{COUNTED}", 1)
    (counted / "softmax.cu").write_text(body.replace("float sum = 0;", "float sum = calls > 5 ? 1 : 0;"))
    yield Judged("source_right_five_times", counted, softmax, "wrong")
    yield from attacks(made, softmax)


def attacks(made: Path, task: str) -> Iterator[Judged]:
    text = (HERE / "gpu" / "attacks.py").read_text()
    names = text.partition("WRONG = (")[2]
    wrong, _, slow = names.partition("SLOW = (")
    for listed, verdict in ((wrong, "wrong"), (slow, "right")):
        for name in (one.strip(" ,") for one in listed.partition(")")[0].replace(",", "\n").splitlines()):
            if name:
                file = made / f"{name}.py"
                file.write_text(f"{text}\n\ncustom_kernel = {name}\n")
                is_slow = verdict == "right"
                more = (("--own", "--samples", "3"), "bounded", LONG_MS) if is_slow else ()
                yield Judged(name, file, task, verdict, *more)


def many(out: Path, target: str, environment: dict[str, str]) -> list[str]:
    """Judge a folder of six with a budget for a part of them, go on with ``--resume``, and hold the table to what the
    six are."""
    folder, due = out / "made" / "many", {"right": ["right_torch", "declaration"], "wrong": ["computes_in_f16"]}
    shutil.copytree(HERE / "softmax_source", folder / "source")
    shutil.copy(HERE / "gpu" / "right_torch.py", folder)
    due["wrong"] += ["zeroes_its_input"]
    for name in due["wrong"]:
        shutil.copy(out / "made" / f"{name}.py", folder)
    if find_spec("triton"):
        for name, verdict in (("triton_softmax", "right"), ("triton_unmasked", "wrong")):
            shutil.copy(HERE / "gpu" / f"{name}.py", folder)
            due[verdict].append(name)
    words = [sys.executable, "-m", "bitgate", "judge", "--many", str(folder), "--out", str(out / "many"), "--resume"]
    words += ["--task", str(HERE / "gpu" / "tasks" / "softmax.py"), "--target", target, "--seed", "11", "--json"]
    words += ["--problems", "4", "--samples", "3", "--budget"]
    parts = [_ended([*words, budget], environment, 400.0) for budget in ("15", "300")]
    codes = [code for code, _, _ in parts]
    first, whole = (json.loads(said) for _, said, _ in parts)
    found: dict[str, list[str]] = {"right": [], "wrong": []}
    for task in whole["tasks"]:
        for row in task["rows"]:
            found.setdefault(row["verdict"], []).append(Path(row["submission"]).stem)
            print(
                f"many: {row['place']} {row['verdict']} {row['ms']} ms ({task['time']}) {row['submission']}", flush=True
            )
    is_whole = {verdict: sorted(names) for verdict, names in found.items()} == {
        verdict: sorted(names) for verdict, names in due.items()
    }
    is_resumed = codes[0] in (1, 3) and any("--resume" in note for note in first["notes"])
    print(f"many: first {first['verdicts']} {first['notes']}, then {whole['verdicts']}, exit codes {codes}")
    return [] if is_whole and is_resumed and codes[1] == 1 else ["many"]


def own_kernels(target: str, environment: dict[str, str]) -> list[str]:
    """Verify a kernel of one's own that gets device tensors, of torch and by ``__cuda_array_interface__``."""
    words = [sys.executable, "-m", "bitgate", "verify", "gemm_f32_b2m33n17k40", "--target", target]
    code, said = _run([*words, "--load", str(HERE / "gpu" / "device")], environment)
    print(said, flush=True)
    return [] if code == 0 else ["device tensors"]


def vendors(target: str, environment: dict[str, str], seconds: float) -> str:
    """Run PyTorch's operations on the smoke suites; return the table of verdicts. What is red there is a finding."""
    words = [sys.executable, "-m", "bitgate", "run", "--load", str(ROOT / "examples" / "torch"), "--tier", "smoke"]
    _, said = _run([*words, "--target", target], environment, seconds)
    table = [sys.executable, str(ROOT / "benchmarks" / "vendors.py"), str(Path(environment["BITGATE_OUT"]) / target)]
    return f"{said[-1500:]}\n{_run(table, environment)[1]}"


def _run(words: Sequence[str], environment: dict[str, str], seconds: float = 300.0) -> tuple[int, str]:
    """Return the exit code of a command, and what it printed."""
    begun = time.monotonic()
    begin = f"$ {' '.join(words[1:])}\n"
    try:
        done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False, timeout=seconds)
    except subprocess.TimeoutExpired as ended:
        said = ended.stdout or b""
        text = said.decode(errors="replace") if isinstance(said, bytes) else said
        return 1, f"{begin}{text[-1500:]}\nbroken off after {seconds:g} s"
    end = f"exit code {done.returncode}, {time.monotonic() - begun:.0f} s"
    return done.returncode, f"{begin}{done.stdout[-20000:]}{done.stderr[-1000:]}{end}"


if __name__ == "__main__":
    sys.exit(main())
