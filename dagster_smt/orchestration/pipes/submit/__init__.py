"""Contains the script that ``spark-submit`` runs. The script has its own folder, because Python puts the script's
folder at the front of its search path.
"""
