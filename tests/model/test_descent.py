"""Going down, with numbers: the first step that keeps it is taken, and a change that lost it waits."""

from __future__ import annotations

from bitgate.model.descent import descend


def divided(number: int) -> list[int]:
    return [number // divisor for divisor in (5, 3, 2) if number % divisor == 0]


def test_the_end_is_minimal():
    found = descend(2 * 2 * 3 * 5, divided, lambda number: number % 4 == 0)
    assert (found.best, found.minimal) == (4, True)


def test_a_change_that_lost_waits_until_no_other_is_left():
    asked: list[int] = []

    def keeps(number: int) -> bool:
        asked.append(number)
        return number % 5 == 0

    found = descend(5 * 27, divided, keeps, change=lambda before, after: before // after)
    assert (found.best, found.minimal) == (5, True)
    assert asked == [27, 45, 15, 5, 1]  # by five once at first, and once more at the end


def test_time_that_is_up_ends_it():
    over = iter([False, False, True, True])
    found = descend(64, divided, lambda number: True, is_over=lambda: next(over))
    assert (found.best, found.minimal) == (16, False)
