"""What the steps of a program do."""

CHANGE, FILL, DROP, KEEP, TAKE, PUT, INSERT, INSERT_NUMBER, CHANGE_SPOTS, DROP_SPOTS, READ_KEY = range(11)
"""Steps are rows ``(what, slot, other, act, bit)``:

CHANGE: the act is done to the value later; a text becomes the constant ``other`` at once, unless that is -1.
FILL: the same; a missing value becomes null, which is constant 0.
DROP: the slot is dropped.
KEEP: all but the slots whose bits are in ``other`` are dropped.
TAKE: the value leaves for the slot ``other``, which no record has a name for. PUT: it gets the name of ``other``.
INSERT: the constant ``other`` is put into the slot, or the value of the column of numbers (INSERT_NUMBER); ``act`` 1:
unless something is there.
CHANGE_SPOTS: as CHANGE, for what the paths end at whose last bits are in ``other``; ``act``: the constant.
DROP_SPOTS: the same for DROP.
READ_KEY: the value of the slot, or of what is inside where the path ends whose bit is ``other``, is number ``act`` of
the key; ``bit`` 1: what is in the slot has to be an object or null.

What a stage does to a value is done at the end, to values that were dropped, too: it counts, and may refuse the record.
So a record is odd where another value would take the place of one that acts are noted for.
"""
