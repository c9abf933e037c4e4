"""The page of a run: one HTML file with the matrix, each failure with a picture of its wrong cells, and all cases.

It needs no network, no server and no JavaScript to be read, and shows hostile text as text.
"""
