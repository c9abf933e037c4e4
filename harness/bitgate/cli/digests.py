"""``bitgate cases --update-digests`` and ``--check-digests``: stored digests, over plans for every kind of target."""

from __future__ import annotations

import json

import typer

from bitgate.core.progress import print_progress
from bitgate.core.project import Project

TARGETS = ("host", "gfx942", "gfx1100", "sm_90")
"""One of each kind for which a plan differs: the host, and GPUs by wave size and platform."""


def go_over(tier: str, kernel: str, project: Project, *, store: bool, reason: str, as_json: bool) -> int:
    """Update or check digests and return the exit code.

    It is 1 if a check found a digest that is not current, or if two references disagree, else 0. UsageError for a bad
    table or kernel, and for a change without a reason.
    """
    from bitgate.kernel import registry
    from bitgate.kernel.loading import loaded_names
    from bitgate.runtime import targets
    from bitgate.suite import digesting
    from bitgate.suite.planning import Setting, check_setting
    from bitgate.suite.suites import with_tables

    # What a command loads on top must not drop the digests of everything else.
    families, own = registry.families(project), loaded_names(project.load)

    def settings(kernel: str) -> list[Setting]:
        return [Setting(name, targets.platform_of(name), families, kernel, loaded=own) for name in TARGETS]

    check_setting(with_tables(settings(kernel)[0], project.tables()))

    changes = digesting.Changes(0)
    for folder in project.suites:
        tables = [table for table in project.tables() if table.is_relative_to(folder)]
        every = list(digesting.wishes(settings(""), tables))
        chosen = list(digesting.wishes(settings(kernel), tables, tier))
        if store:
            changes += digesting.update(every, chosen, folder, print_progress, reason)
        else:
            changes += digesting.check(every, chosen, folder, print_progress)
    lists = {"added": changes.added, "wrong": changes.wrong, "dropped": changes.dropped}
    if changes.disputed:
        lists["disputed"] = changes.disputed
    if as_json:
        typer.echo(json.dumps({"stored": changes.stored, **{name: list(keys) for name, keys in lists.items()}}))
    else:
        disputed = "exact and ordered reference disagree, nothing is written"
        words = {"added": "new", "wrong": "changed", "dropped": "dropped", "disputed": disputed}
        if not store:
            words |= {"added": "not stored", "wrong": "wrong", "dropped": "planned by no suite"}
        for name, keys in lists.items():
            for key in keys if not store or name in ("wrong", "disputed") else ():
                typer.echo(f"{words[name]}: {key}")
        counts = ", ".join(f"{len(keys)} {words[name]}" for name, keys in lists.items())
        typer.echo(f"{changes.stored} digests: {counts}")
    return int(bool(changes.disputed) or (not store and any(lists.values())))
