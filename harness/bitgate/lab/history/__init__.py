"""Past runs: what each case answered, where and from which build, and what follows from many nights together."""
