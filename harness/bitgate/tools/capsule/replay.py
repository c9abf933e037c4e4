"""Replay of a capsule on a device of this machine: the code object on the GPU it is for, the library's kernels
elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bitgate.core import emulation
from bitgate.core.errors import UsageError
from bitgate.core.project import Project
from bitgate.core.targets import runs_on
from bitgate.kernel.declaration import wave_sizes
from bitgate.kernel.resolved import kernel_called
from bitgate.kernel.runner import LibraryState
from bitgate.runtime.targets import Target, named, present
from bitgate.tools.capsule.expectation import expectation_of, images_of
from bitgate.tools.capsule.folder import Capsule
from bitgate.tools.capsule.library_symbols import LibrarySymbols
from bitgate.tools.capsule.manifest import Manifest
from bitgate.tools.capsule.modules import ModulePlayer
from bitgate.tools.capsule.playing import LibraryPlayer, Playback, Player, play
from bitgate.verify.compare_outputs import Judgement
from bitgate.verify.session import Session
from bitgate.worker.mapped import mapped_runtimes


@dataclass(frozen=True)
class ReplayResult:
    """The target of a replay and its judgement."""

    target: Target
    answer: Judgement


def replay(capsule: Capsule, target: str | None = None, project: Project | None = None) -> ReplayResult:
    """Replay a capsule on a target; by default the one it is for if present, else the host.

    Raises UsageError if the target is not present, has other waves, or the library no longer has the kernels.
    """
    manifest = capsule.manifest
    where = _target(manifest, target)
    if manifest.wave_size not in wave_sizes(where.name):
        raise UsageError(
            f"{where.name} has no waves of {manifest.wave_size} lanes, as the capsule's kernels need: replay it on host"
        )
    expectation = expectation_of(capsule)
    images = images_of(capsule)
    session = Session(where, project=project)
    kernel = kernel_called(session.families, manifest.family, manifest.instance)
    expectation = replace(expectation, tile=kernel.instance.tile, rules=session.rules)

    def played(player: Player, conduct: LibraryState) -> ReplayResult:
        playback = Playback(session.opened.device, player, manifest.steps, kernel.family, conduct)
        return ReplayResult(where, play(playback, manifest.buffers, images, expectation))

    if where.platform == "amd":
        _ = session.opened.device  # loads the runtime that loads modules
        with ModulePlayer(mapped_runtimes()[0], capsule.folder) as modules:
            return played(modules, LibraryState())
    library = session.opened.library(manifest.family)
    return played(LibraryPlayer(LibrarySymbols(library.path)), library.conduct)


def _target(manifest: Manifest, name: str | None) -> Target:
    """Choose the target: an AMD code object runs only where its target id allows."""
    if name is None and emulation.launcher():
        return named(manifest.target)
    if name is None:
        here = [target for target in present() if not target.obstacle and runs_on(manifest.target, target.name)]
        return replace(here[0], name=manifest.target) if here else named("host")
    target = named(name)
    if target.platform == "amd" and not runs_on(manifest.target, target.name):
        raise UsageError(f"the capsule's code is for {manifest.target}, not {name}: write one for {name}")
    return target
