"""Implements FF1, a format-preserving encryption with AES (NIST SP 800-38G, March 2016, algorithms 7 and 8).

For example, ten digits are encrypted to ten digits. The standard calls the digits of a number system numerals. The
number of different numerals is the radix. A string of 16 letters consists of 16 numerals of radix 26. Variables have
the same names as in the standard.
"""

from collections.abc import Callable, Sequence
from typing import Any

from dagster_smt.errors import needs_extras

LEAST_DOMAIN = 1_000_000
"""The smallest permitted number of different strings of the same length (Draft of SP 800-38G, Revision 1). If there
were fewer, an attacker could try all of them.
"""
_ROUNDS = 10
_BLOCK = 16


def least_length(radix: int) -> int:
    """Returns the smallest length at which there are at least ``LEAST_DOMAIN`` (a million) different strings. ``radix``
    is the number of different characters: for the ten digits, the length is 6.
    """
    length = 1
    while radix**length < LEAST_DOMAIN:
        length += 1
    return length


class FF1:
    """The encryption FF1 with a certain key and radix.

    Attributes:
        radix: The number of different numerals, 2 to 65,536.
    """

    def __init__(self, key: bytes, radix: int):
        with needs_extras():
            from cryptography.hazmat.primitives.ciphers import Cipher
            from cryptography.hazmat.primitives.ciphers.algorithms import AES
            from cryptography.hazmat.primitives.ciphers.modes import ECB

        self.radix = radix
        # FF1 needs AES for single blocks, and chains the blocks itself (``_cbc_mac``)
        self._aes = Cipher(AES(key), ECB())

    def encrypt(self, numerals: Sequence[int], tweak: bytes) -> list[int]:
        """Encrypts ``numerals``, and returns the same number of numerals. The result also depends on ``tweak``."""
        u, v, round_number = self._prepared(len(numerals), tweak)
        a, b = self._number(numerals[:u]), self._number(numerals[u:])
        for i in range(_ROUNDS):
            m = v if i % 2 else u
            a, b = b, (a + round_number(i, b)) % self.radix**m
        return self._numerals(a, u) + self._numerals(b, v)

    def decrypt(self, numerals: Sequence[int], tweak: bytes) -> list[int]:
        """Decrypts ``numerals``, which ``encrypt`` has returned for the same ``tweak``. Returns the original
        numerals.
        """
        u, v, round_number = self._prepared(len(numerals), tweak)
        a, b = self._number(numerals[:u]), self._number(numerals[u:])
        for i in reversed(range(_ROUNDS)):
            m = v if i % 2 else u
            a, b = (b - round_number(i, a)) % self.radix**m, a
        return self._numerals(a, u) + self._numerals(b, v)

    def _prepared(self, n: int, tweak: bytes) -> tuple[int, int, Callable[[int, int], int]]:
        """Prepares the encryption of ``n`` numerals, which are split into two halves. Returns the lengths of the
        halves, and the function that each round of the encryption calls.

        The returned function has two arguments: the number of the round, and one half of the numerals, read as a
        number. Its result is the number that the standard calls ``y``.
        """
        u = n // 2
        v = n - u
        width = ((self.radix**v - 1).bit_length() + 7) // 8  # the number b in the standard: ⌈⌈v · log2(radix)⌉ / 8⌉
        d = 4 * ((width + 3) // 4) + 4
        aes = self._aes.encryptor().update
        head = b"\1\2\1" + self.radix.to_bytes(3, "big") + bytes((_ROUNDS, u % 256))
        head += n.to_bytes(4, "big") + len(tweak).to_bytes(4, "big")
        q = tweak + bytes((-len(tweak) - width - 1) % _BLOCK)
        same = len(q) // _BLOCK * _BLOCK  # the blocks that all rounds have in common
        start = _cbc_mac(aes, 0, head + q[:same])
        rest, size = int.from_bytes(q[same:], "big") << 8 * (width + 1), len(q) - same + width + 1

        def round_number(i: int, half: int) -> int:
            r = _cbc_mac(aes, start, (rest | i << 8 * width | half).to_bytes(size, "big"))
            s = r.to_bytes(_BLOCK, "big")
            for j in range(1, (d + _BLOCK - 1) // _BLOCK):
                s += aes((r ^ j).to_bytes(_BLOCK, "big"))
            return int.from_bytes(s[:d], "big")

        return u, v, round_number

    def _number(self, numerals: Sequence[int]) -> int:
        number = 0
        for numeral in numerals:
            number = number * self.radix + numeral
        return number

    def _numerals(self, number: int, length: int) -> list[int]:
        numerals = [0] * length
        for place in reversed(range(length)):
            number, numerals[place] = divmod(number, self.radix)
        return numerals


def _cbc_mac(aes: Callable[[bytes], Any], state: int, data: bytes) -> int:
    for at in range(0, len(data), _BLOCK):
        block = state ^ int.from_bytes(data[at : at + _BLOCK], "big")
        state = int.from_bytes(aes(block.to_bytes(_BLOCK, "big")), "big")
    return state
