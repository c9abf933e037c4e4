"""Tables of cases, and plans made of them. ``plan`` alone is standard library only: machines that merge results need no
HIP."""
