"""Split reductions, split batches and main loops: the right bits, by the way that the table states."""

from bitgate.plugin import cases


def took_the_stated_way(verdict, row):
    assert {name: verdict.dispatch[name] for name in row.dispatch} == row.dispatch


@cases("conv_bwd_data#split_k")
def test_split_k(planned, row, gate):
    took_the_stated_way(gate(planned), row)


@cases("conv_bwd_data#split_n")
def test_split_n(planned, row, gate):
    took_the_stated_way(gate(planned), row)


@cases("conv_bwd_data#main_loop")
def test_main_loop(planned, row, gate):
    took_the_stated_way(gate(planned), row)
