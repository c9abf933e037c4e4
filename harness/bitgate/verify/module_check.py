"""Compiled device code on the host, which cannot run it: what its launches pass is held to what its files say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import prod
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.targets import architecture_of
from bitgate.kernel.build.code_object import KernelCode
from bitgate.kernel.build.device_module import DeviceModule, modules_of
from bitgate.kernel.launch_list import LaunchMistake, kernels_of, launch_list
from bitgate.kernel.resolved import Kernel
from bitgate.kernel.source import is_module
from bitgate.model import Problem
from bitgate.results.record import Outcome, Verdict
from bitgate.verify.evidence import Evidence, verdict_of

RUNS_NOWHERE = "compiled device code runs on no host"


def needs_gpu(kernel: Kernel, platform: str) -> bool:
    """Return whether a kernel is compiled device code, and the platform is the host."""
    return platform == "host" and is_module(kernel.family.sources)


def module_verdict(evidence: Evidence) -> Verdict:
    """Return NOT_RUN, with what was looked at; CRASHED or BUILD_FAILED for what no GPU would run either."""
    planned = evidence.planned
    if planned.declined is not None:
        return verdict_of(evidence, Outcome.NOT_RUN, f"{RUNS_NOWHERE}; its declaration refuses: {planned.declined}")
    try:
        held = _held(planned.kernel, planned.problem)
    except LaunchMistake as mistake:
        return verdict_of(evidence, Outcome.CRASHED, f"no GPU was needed to see: {mistake}")
    except UsageError as error:
        return verdict_of(evidence, Outcome.BUILD_FAILED, str(error))
    return verdict_of(evidence, Outcome.NOT_RUN, f"{RUNS_NOWHERE}; what its launches pass fits {'; '.join(held)}")


def _held(kernel: Kernel, problem: Problem) -> list[str]:
    """Return a text for each of the files. LaunchMistake for launches that one does not take; UsageError for files."""
    family, instance = kernel.family, kernel.instance
    assert family.source is not None
    modules = list(modules_of(family))
    listed = ["\n".join(f"{name}\t{one.described(name)}" for name in family.source.kernels) for one in modules]
    try:
        plan = family.source.plan(problem, instance, kernel.settings)
    except UsageError as error:
        raise LaunchMistake(str(error)) from None
    texts = []
    for module, lines in zip(modules, listed, strict=True):
        row = architecture_of(module.target)
        try:
            launch_list(plan, kernels_of(lines), problem, row.lds_bytes)
        except LaunchMistake as mistake:
            raise LaunchMistake(f"{mistake} ({module.file.name})") from None
        for step in plan["steps"]:
            if (code := module.code.get(step.get("kernel", ""))) and (wrong := _beyond(code, step, row, kernel)):
                raise LaunchMistake(f"{step['where']}: {code.symbol}: {wrong} ({module.file.name})")
        texts.append(f"{module.file.name} ({_facts(module, plan)})")
    return texts


def _beyond(code: KernelCode, step: Mapping[str, Any], row: Any, kernel: Kernel) -> str:
    """Return what a launch asks of a kernel that its code object rules out."""
    if (threads := prod(step["block"])) > code.max_workgroup:
        return f"a block of {threads} threads is launched, it is compiled for at most {code.max_workgroup}"
    if code.lds + step["lds"] > row.lds_bytes:
        return f"a block has {code.lds} bytes of LDS and gets {step['lds']} more: {row.lds_bytes} are there"
    if kernel.instance.wave_size not in (0, code.wavefront):
        return f"it is compiled for waves of {code.wavefront}, the instance states {kernel.instance.wave_size}"
    return ""


def _facts(module: DeviceModule, plan: Mapping[str, Any]) -> str:
    launched = Counter(step["kernel"] for step in plan["steps"] if "kernel" in step)
    used = [module.code[name] for name in launched if name in module.code]
    spills = sum(one.vgpr_spills for one in used)
    facts = [module.target, f"launches: {sum(launched.values())}"]
    facts += [f"LDS: {max(one.lds for one in used)} bytes", f"spilled registers: {spills}"] if used else []
    return ", ".join(facts)
