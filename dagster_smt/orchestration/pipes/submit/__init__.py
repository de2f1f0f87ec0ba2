"""The script that ``spark-submit`` runs. It has a folder of its own, which Python puts in front of its search path."""
