"""What a kernel prints is passed on, to a limit."""

from __future__ import annotations

from bitgate.verify.output_limit import MOST, OutputLimit


def test_one_that_prints_without_end_does_not_fill_a_disk() -> None:
    heard = bytearray()
    printed = OutputLimit(heard.extend)
    printed(b"hello\n")
    assert heard == b"hello\n"
    for _ in range(40):
        printed(b"x" * (MOST // 10))
    assert MOST < len(heard) < MOST + 200
    assert heard.count(b"the rest is left out") == 1
    printed.next_case()
    printed(b"of the next case")
    assert heard.endswith(b"of the next case")


def test_what_just_fits_is_whole() -> None:
    heard = bytearray()
    OutputLimit(heard.extend)(b"x" * (MOST - 1))
    assert len(heard) == MOST - 1
