"""What declarations of kernel families share, beside the families' folders: imported relatively, as in
``from ..channels_last import channels_last``.

The package has no name to be imported by: bitgate/kernel/python_files.py says why.
"""
