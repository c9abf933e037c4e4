"""From case tables to plans. ``plan`` alone is standard library only: machines that merge results need no HIP."""
