"""Contains the script for ``spark-submit``. The script has a folder of its own, because Python adds the folder of a
script to its search path.
"""
