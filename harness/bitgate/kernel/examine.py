"""The examination of a shared library before it is loaded: its file, what a probe reports, what its family declares."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bitgate.core.errors import UsageError
from bitgate.core.targets import runs_on
from bitgate.core.untrusted import shown
from bitgate.kernel import abi
from bitgate.kernel.cache import Cache
from bitgate.kernel.cache.content import Contents, remembered, sha256
from bitgate.kernel.declaration import Instance, KernelFamily, Option
from bitgate.kernel.errors import LibraryError
from bitgate.kernel.introspection import ENTRY, LOAD
from bitgate.worker.child import signal_name
from bitgate.worker.worker import Worker, WorkerDied

_PROBE_SECONDS = 60
_MOST_REMEMBERED = 512
_REBUILD = "it was built with another ROCm; build it with the hipcc of the one that is here"
_NO_RUNTIME = "needs the HIP runtime that it was built for: open the device before the library is loaded"


def examine(path: Path, family: KernelFamily, runtime: Path | None, target: str | None, cache: Cache) -> None:
    """Raise LibraryError with the first defect. A sound library's report is remembered by its content."""
    _check_file(path)
    facts = _facts(path, runtime, cache)
    _check_abi(path, facts)
    _check_identity(path, family, target, facts)
    _check_instances(path, family, facts["instances"])
    _check_options(path, family, facts["options"])


def _check_file(path: Path) -> None:
    try:
        with path.open("rb") as file:
            header = file.read(20)
    except OSError as error:
        raise LibraryError(f"{path}: cannot be read: {error.strerror}") from None
    if header[:4] != b"\x7fELF" or len(header) < 20:
        raise LibraryError(f"{path}: not a shared library (no ELF header)")
    kind, machine = struct.unpack("<HH", header[16:20])
    if kind != 3:
        raise LibraryError(f"{path}: not a shared library (ELF type {kind}, not 3): link it with -shared")
    if machine != 62:
        raise LibraryError(f"{path}: built for another CPU (ELF machine {machine}, not 62, x86-64)")


def _facts(path: Path, runtime: Path | None, cache: Cache) -> dict[str, Any]:
    contents = Contents(cache)
    own_rules = Path(__file__).with_name("introspection.py")
    parts = (path, runtime, own_rules)
    key = sha256(*(contents.of(str(part.resolve())) or "" for part in parts if part), str(abi.SIZES))
    memo = cache.folder / "probes.json"
    known = remembered(cache, memo)
    if isinstance(known.get(key), dict):
        return dict(known[key])
    facts = _probe(path, runtime)
    with suppress(UsageError):  # a sandbox lets nothing be written there: the next process probes again
        with cache.lock("probes"):
            known = cache.read_json(memo)
            if len(known) >= _MOST_REMEMBERED:
                known = {}
            cache.write_json(memo, {**known, key: facts})
        contents.save()
    return facts


def _probe(path: Path, runtime: Path | None) -> dict[str, Any]:
    """Run the probe. Only what a sound process reported is returned; any other end is a LibraryError."""
    steps = [""]
    printed = bytearray()
    try:
        with Worker(ENTRY, printed.extend, bare=True) as child:
            question = {"path": str(path.resolve()), "runtime": str(runtime or "")}
            facts: dict[str, Any] = child.ask(question, _PROBE_SECONDS, steps.append)
    except WorkerDied as ended:
        limit = f" (over {_PROBE_SECONDS} s)" if ended.hung else ""
        raise LibraryError(
            f"{path}: {_format_end(ended)} while {_format_step(steps[-1])}{limit}{_last_line(printed)}"
        ) from None
    except RuntimeError as error:  # what it lists is not of abi.h
        last = str(error).strip().rpartition("\n")[2]
        raise LibraryError(f"{path}: {shown(last)} after {_format_step(steps[-1])}") from None
    if "error" in facts:
        raise LibraryError(f"{path}: {_explain_dlopen(facts['error'], path, runtime)}")
    if "second_runtime" in facts:
        raise LibraryError(f"{path}: brings {facts['second_runtime']} along, beside {runtime}: {_REBUILD}")
    if "missing" in facts:
        raise LibraryError(f"{path}: does not export {', '.join(facts['missing'])} (see bitgate/abi.h)")
    return facts


def _format_end(ended: WorkerDied) -> str:
    if ended.status is None:
        return "hangs" if ended.hung else ended.reason
    if ended.status < 0:
        return f"crashes with {signal_name(-ended.status)}"
    return f"ends the process (exit code {ended.status})"


def _format_step(step: str) -> str:
    if not step:
        return "the HIP runtime is being loaded before it"
    return step if step == LOAD else f"{step} is called"


def _last_line(printed: bytearray) -> str:
    last = printed.decode(errors="replace").strip().rpartition("\n")[2]
    return f": {last}" if last else ""


def _explain_dlopen(error: str, path: Path, runtime: Path | None) -> str:
    text = error.removeprefix(f"{path.resolve()}: ")
    if runtime is not None and (theirs := _of_another_rocm(text)):
        return f"needs {theirs}, which {runtime} is not or has not: {_REBUILD}"
    if symbol := re.search(r"undefined symbol: (\S+)", text):
        if symbol[1].startswith(("__bitgate", "bitgateHost")):
            return _NO_RUNTIME
        return f"needs the symbol {symbol[1]}, which neither it nor the HIP runtime has"
    if "libamdhip64" in text and "cannot open shared object" in text:
        return _NO_RUNTIME
    if needed := re.search(r"(\S+): cannot open shared object file", text):
        return f"needs {needed[1]}, which is not installed"
    return f"cannot be loaded: {text}"


def _of_another_rocm(text: str) -> str:
    """Return what a library needs of another HIP runtime than this one; empty if it needs nothing."""
    if version := re.search(r"libamdhip64\S*: version [`'](\S+)' not found", text):
        return f"symbols of version {version[1]}"
    if missing := re.search(r"symbol (\S+), version (hip_\S+) not defined", text):
        return f"{missing[1]} of version {missing[2]}"
    if name := re.search(r"(libamdhip64\.so\S*): cannot open shared object", text):
        return name[1]
    return ""


def _check_abi(path: Path, facts: Mapping[str, Any]) -> None:
    if facts.get("overrun"):
        raise LibraryError(f"{path}: {facts['overrun']} writes past the memory it was given")
    if facts["status"] != 0:
        raise LibraryError(f"{path}: bitgate_abi returns {facts['status']}, not 0")
    if facts["version"] != abi.ABI_VERSION:
        raise LibraryError(
            f"{path}: ABI {facts['version']}: rebuild it with this abi.h, which is ABI {abi.ABI_VERSION}"
        )
    differing = [
        f"{field.removeprefix('sizeof_')} {facts['sizes'][field]}, not {size}"
        for field, size in abi.SIZES.items()
        if facts["sizes"][field] != size
    ]
    if differing:
        raise LibraryError(f"{path}: structure sizes differ: {'; '.join(differing)}: build it with this abi.h")
    for key in ("instances", "options"):
        if not isinstance(facts[key], list):
            raise LibraryError(f"{path}: bitgate_list_{key} returns {facts[key]}")


def _check_identity(path: Path, family: KernelFamily, target: str | None, facts: Mapping[str, Any]) -> None:
    if facts["family"] != family.name:
        raise LibraryError(f"{path}: holds the family '{facts['family']}', the declaration is of '{family.name}'")
    if target is not None and not runs_on(facts["target"], target):
        raise LibraryError(f"{path}: built for {facts['target']}, the target is {target}")


def _check_instances(path: Path, family: KernelFamily, listed: list[dict[str, Any]]) -> None:
    theirs = {entry["name"]: entry for entry in listed}
    if len(theirs) < len(listed):
        raise LibraryError(f"{path}: lists an instance twice")
    _check_names(path, "instance", set(theirs), {instance.name for instance in family.instances})
    for instance in family.instances:
        _check_equal(path, f"instance {instance.name}", _listed(theirs[instance.name]), _declared(family, instance))


def _listed(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that the library states about an instance; its lists of names as sets."""
    stated: dict[str, Any] = {"operation": entry["operation"]}
    for name, value in entry["facts"].items():
        stated[name] = tuple(value) if isinstance(value, (list, tuple)) else value
    for name in ("dtypes", "layouts"):
        if name in stated:
            stated[name] = _parse_list(str(stated[name]))
    return stated


def _declared(family: KernelFamily, instance: Instance) -> dict[str, Any]:
    """Return the facts that the declaration states, by the names of abi.h."""
    stated = {"tile": instance.tile, "vector": instance.vector, "fragment": instance.fragment}
    return {
        "operation": tuple(map(str, family.operations_of(instance))),
        "dtypes": frozenset(instance.dtypes),
        "layouts": frozenset(instance.layouts),
        "block_size": instance.block_size,
        "wave_size": instance.wave_size,
        **{name: value for name, value in stated.items() if value is not None},
    }


def _check_options(path: Path, family: KernelFamily, listed: list[dict[str, Any]]) -> None:
    for entry in listed:
        for name, text in entry.items():
            if isinstance(text, str) and len(text.encode()) > (longest := abi.longest_text(abi.COptionInfo, name)):
                what = f"option {entry['name']:.40}: {name} is cut at '{text[-20:]}'"
                raise LibraryError(f"{path}: {what}: abi.h has room for {longest} bytes: shorten it")
    theirs = {entry["name"]: entry for entry in listed}
    _check_names(path, "option", set(theirs), {option.name for option in family.options})
    for option in family.options:
        entry = theirs[option.name]
        _check_equal(
            path,
            f"option {option.name}",
            {"values": _parse_list(entry["values"]), "production": entry["production"]},
            _declared_option(option),
        )


def _declared_option(option: Option) -> dict[str, Any]:
    return {"values": frozenset(option.values), "production": option.production}


def _check_names(path: Path, what: str, theirs: set[str], declared: set[str]) -> None:
    if extra := sorted(theirs - declared):
        raise LibraryError(f"{path}: has {what}s that the declaration lacks: {', '.join(extra)}")
    if lacking := sorted(declared - theirs):
        raise LibraryError(f"{path}: lacks {what}s that the declaration names: {', '.join(lacking)}")


def _check_equal(path: Path, what: str, theirs: Mapping[str, Any], declared: Mapping[str, Any]) -> None:
    """Compare the facts that both sides state."""
    for field in (name for name in declared if name in theirs):
        value, found = declared[field], theirs[field]
        same = found in value if field == "operation" else found == value
        if not same:
            raise LibraryError(f"{path}: {what}: {field} is {_show(found)} in it, {_show(value)} in the declaration")


def _parse_list(text: str) -> frozenset[str]:
    return frozenset(word.strip() for word in text.split(",") if word.strip())


def _show(value: Any) -> str:
    if isinstance(value, frozenset):
        return ",".join(sorted(value)) or "nothing"
    if isinstance(value, tuple):
        return "x".join(map(str, value))
    return str(value)
