"""Parts that declarations of kernel families share; they are imported relatively, as in
``from ..channels_last import channels_last``.

The package has no absolute name to be imported by: bitgate/kernel/python_files.py says why.
"""
