"""Contains the script for ``spark-submit``. Python adds the folder of a script to its search path. The script has a
folder of its own, so that Python does not find other modules of this package under short names such as ``messages``.
"""
