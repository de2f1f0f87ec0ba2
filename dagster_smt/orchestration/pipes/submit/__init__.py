"""Contains the script for ``spark-submit``. The script has a separate folder, because Python puts the folder of a
script at the front of its search path.
"""
