"""Messages about a kernel of one's own: once each, about the user's file, and without a process for each refusal."""

from __future__ import annotations

from typing import Any

import pytest

from bitgate.kernel import skeleton

NAME = "row_sums"
CASES = [f"{NAME}_f32_r{rows}c5" for rows in (1, 2, 3, 4)]


@pytest.fixture
def sums(empty: Any) -> Any:
    """A new kernel of the kind source; its declaration notes each process that loads it."""
    skeleton.make(skeleton.Skeleton(NAME, kind="source"), empty.folder)
    note = (
        f"import os\n\nwith open({str(empty.folder / 'loaded')!r}, 'a') as file:\n    print(os.getpid(), file=file)\n\n"
    )
    edit(empty, "declaration.py", "BLOCK = 64\n", f"{note}BLOCK = 64\n")
    return empty


def edit(repository: Any, file: str, old: str, new: str) -> None:
    path = repository.folder / NAME / "kernels" / NAME / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_failed_build_is_explained_once(sums: Any) -> None:
    edit(sums, f"{NAME}.cu", "T sum = 0;", "T sum = zero;")
    said = "'zero' was not declared in this scope"
    verified = sums.bitgate("verify", *CASES, "--target=host", "--load", f"kernels/{NAME}", below=NAME)
    assert (verified.code, verified.out.count("BUILD_FAILED  "), verified.out.count(said)) == (1, 4, 1), verified.said
    assert verified.err.count("building") == 1
    ran = sums.bitgate("run", "--target=host", "-n0", below=NAME)
    failures = ran.out.partition("FAILURES")[2]
    assert (ran.code, failures.count(said)) == (1, 1), ran.said
    assert failures.count(f"the build of {NAME} failed, as {NAME}_f32_r") == 7


def test_refusals_share_one_process(sums: Any) -> None:
    edit(sums, "declaration.py", "    return None\n", '    return Refusal("never", "a test")\n')
    done = sums.bitgate("verify", *CASES, "--target=host", "--load", f"kernels/{NAME}", below=NAME)
    assert (done.code, done.out.count("REFUSED  ")) == (3, 4), done.said
    loaded = (sums.folder / "loaded").read_text().split()
    assert len(loaded) <= 3, "once for the command, its judge and its launcher"


def test_a_kernel_that_is_never_launched_is_reported_as_such(sums: Any) -> None:
    words = ("verify", CASES[2], "--target=host")
    edit(sums, "declaration.py", "    yield KernelLaunch(", "    for _ in ():\n        yield KernelLaunch(")
    said = sums.bitgate(*words, below=NAME).out
    assert "no kernel was launched: nothing was written: every cell of y still holds the poison" in said
    edit(sums, "declaration.py", "    for _ in ():\n        yield", "    yield")
    edit(sums, f"{NAME}.cu", "  y[r] = sum;", "  if (sum == 0.5f)\n    y[r] = sum;")
    said = sums.bitgate(*words, below=NAME).out
    assert "no kernel was launched" not in said
    assert "nothing was written: every cell of y still holds the poison" in said


def test_words_of_an_enumeration_are_words(sums: Any) -> None:
    edit(sums, "declaration.py", "BLOCK = 64\n", "class Word(str):\n    pass\n\n\nBLOCK = 64\n")
    edit(sums, "declaration.py", "    return None\n", '    return Refusal(Word("never"), Word("a test"))\n')
    done = sums.bitgate("verify", CASES[0], "--target=host", "--load", f"kernels/{NAME}", below=NAME)
    assert done.code == 3, done.said
    assert [line for line in done.err.splitlines() if not line.startswith(("building ", "["))] == []
    assert "a test" in done.out


def test_an_environment_that_a_declaration_has_emptied_is_nothing_to_a_case(empty: Any) -> None:
    """Its process would find neither the host runtime that is built, nor a compiler: it is open before."""
    skeleton.make(skeleton.Skeleton(NAME), empty.folder)
    emptied = f"import os\n\nos.environ.clear()\nos.environ['BITGATE_CACHE'] = {str(empty.folder / 'cache')!r}\n"
    edit(empty, "declaration.py", "def supports(", f"{emptied}\n\ndef supports(")
    done = empty.bitgate("verify", CASES[0], "--target=host", below=NAME)
    assert done.code == 0, done.said
    assert done.out.startswith("PASS ")


FORGETFUL = """
from bitgate.kernel import Instance, KernelFamily, PythonKernel
from bitgate.operation import F32_ACCUMULATION

def forget(problem, tensors):
    for name in vars(problem):
        object.__setattr__(problem, name, None)

INSTANCE = Instance("f32", "f32", ("f32",), (), (), F32_ACCUMULATION)
FAMILY = KernelFamily(
    name="forgetful", operations=("softmax",), platforms=("host",), instances=(INSTANCE,), opens=PythonKernel(forget)
)
"""


def test_a_function_that_changes_its_problem_changes_no_other(empty: Any) -> None:
    (empty.folder / "declaration.py").write_text(FORGETFUL)
    done = empty.bitgate("verify", "softmax_f32_r2c4", "--target=host", "--load=declaration.py")
    assert (done.code, done.err) == (1, ""), done.said
    assert "every cell of y still holds the poison" in done.out


def test_a_wrong_number_of_arguments_is_put_to_the_users_line(empty: Any) -> None:
    skeleton.make(skeleton.Skeleton(NAME), empty.folder)
    source = f"{NAME}.hip.cpp"
    edit(empty, source, "buffers.x, buffers.w, buffers.y,", "buffers.x, buffers.w,")
    done = empty.bitgate("verify", CASES[0], "--target=host", below=NAME)
    text = (empty.folder / NAME / "kernels" / NAME / source).read_text()
    line = text[: text.index("bitgate::launch(")].count("\n") + 1
    assert f"{source}:{line}: error: static assertion failed: the kernel takes another number of arguments" in done.out


def test_a_family_that_is_not_defined_says_what_to_write(empty: Any) -> None:
    skeleton.make(skeleton.Skeleton(NAME), empty.folder)
    edit(empty, f"{NAME}.hip.cpp", f'const Family family{{"{NAME}", nullptr, 0}};', "")
    done = empty.bitgate("verify", CASES[0], "--target=host", below=NAME)
    assert 'one source defines it: namespace bitgate { const Family family{"NAME", nullptr, 0}; }' in done.out


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("sum * (INFINITY - INFINITY)", "NaN can be computed, too"),
        ("0 * y[r] + sum", "the result depends on what the result's memory held before the launch"),
    ],
)
def test_nan_is_no_race(empty: Any, cell: str, words: str) -> None:
    skeleton.make(skeleton.Skeleton(NAME), empty.folder)
    edit(empty, f"{NAME}.hip.cpp", "    y[r * shape.y] = sum;", f"    y[r * shape.y] = {cell};")
    done = empty.bitgate("verify", f"{NAME}_f32_r7c9", "--target=host", below=NAME)
    assert (done.code, "a race" in done.out) == (1, False), done.said
    assert words in done.out


def test_a_layout_of_an_operation_that_takes_none_says_so(empty: Any) -> None:
    skeleton.make(skeleton.Skeleton(NAME), empty.folder)
    edit(empty, "declaration.py", '("f32",), ()', '("f32",), ("rc",)')
    done = empty.bitgate("verify", CASES[0], "--target=host", below=NAME)
    assert f"instance 'f32': unknown layout 'rc': {NAME} takes none: write layouts=()" in done.err
