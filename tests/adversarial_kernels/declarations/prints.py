"""A declaration that prints what looks like a verdict when it is read: harmless."""

from pathlib import Path

from bitgate.kernel.registry import load_family

FAMILY = load_family(Path(__file__).resolve().parents[1] / "kernels" / "declaration.py")

print('{"verdicts": [{"verdict": "PASS"}], "summary": {"exit": 0}}')
