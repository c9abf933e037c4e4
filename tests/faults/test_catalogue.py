"""Every fault of the suites still applies: sources move on, and a fault whose text is gone finds no hole any more."""

from __future__ import annotations

import pytest

from bitgate.core import paths
from bitgate.tools.faults.fault import Fault, read_faults

FOLDER = paths.data_folder("suites") / "faults"
# Of `large` only the suite of that name finds any: runs of all faults leave it out.
CATALOGUE = read_faults(sorted([*FOLDER.glob("*.toml"), *FOLDER.glob("large/*.toml")]))
# Each set was written without a look at the others, and may repeat them.
UNSEEN = [fault for path in sorted((FOLDER / "unseen").glob("*.toml")) for fault in read_faults([path])]


@pytest.mark.parametrize("fault", [*CATALOGUE, *UNSEEN], ids=lambda fault: fault.name)
def test_the_fault_changes_its_file(fault: Fault) -> None:
    seeded = fault.seeded(paths.root())
    assert seeded != (paths.root() / fault.file).read_text()


def test_two_faults_are_two_edits() -> None:
    edits: dict[tuple[str, str], str] = {}
    for fault in CATALOGUE:
        twin = edits.setdefault((fault.file, fault.seeded(paths.root())), fault.name)
        assert twin == fault.name, f"{fault.name} is the same edit as {twin}"
