"""Types of arguments that several commands take."""

import argparse


def count(text: str) -> int:
    """Returns a number of records, at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("a number from 1 on")
    return int(text)


def count_or_zero(text: str) -> int:
    """Returns a number of records; 0 stands for none at all."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("a number")
    return int(text)
