"""Files in which teams keep their convolutions."""

from bitgate.operation.space.table import TableReader
from bitgate.operations.convolution.space.tables.csv_table import likeness, read_csv
from bitgate.operations.convolution.space.tables.gtest import SUFFIXES, read_gtest

READERS = (TableReader((".csv",), read_csv, likeness), TableReader(SUFFIXES, read_gtest))
