"""Past runs: the answers of each case, their machines and builds, and conclusions from many nights together."""
