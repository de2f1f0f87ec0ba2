"""FF1: the nine samples of NIST, and the same results as Bouncy Castle."""

import random
import subprocess
from pathlib import Path

import pytest

from dagster_smt.values.privacy.ff1 import FF1, least_length

KEY = bytes.fromhex("2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94")
NUMERALS = "0123456789abcdefghijklmnopqrstuvwxyz"
DIGITS, LETTERS = "0123456789", "0123456789abcdefghi"
TWEAK, OTHER_TWEAK = "39383736353433323130", "3737373770717273373737"
SAMPLES = (
    (16, 10, "", DIGITS, "2433477484"),
    (16, 10, TWEAK, DIGITS, "6124200773"),
    (16, 36, OTHER_TWEAK, LETTERS, "a9tv40mll9kdu509eum"),
    (24, 10, "", DIGITS, "2830668132"),
    (24, 10, TWEAK, DIGITS, "2496655549"),
    (24, 36, OTHER_TWEAK, LETTERS, "xbj3kv35jrawxv32ysr"),
    (32, 10, "", DIGITS, "6657667009"),
    (32, 10, TWEAK, DIGITS, "1001623463"),
    (32, 36, OTHER_TWEAK, LETTERS, "xs8a0azh2avyalyzuwd"),
)
"""The samples of NIST for FF1: bytes of the key, radix, tweak, plain text, encrypted text."""


def numerals(text):
    return [NUMERALS.index(character) for character in text]


@pytest.mark.parametrize("sample", SAMPLES, ids=range(1, 10))
def test_the_samples_of_nist(sample):
    size, radix, tweak, plain, encrypted = sample
    cipher, tweak = FF1(KEY[:size], radix), bytes.fromhex(tweak)
    assert cipher.encrypt(numerals(plain), tweak) == numerals(encrypted)
    assert cipher.decrypt(numerals(encrypted), tweak) == numerals(plain)


@pytest.mark.parametrize(("radix", "length"), [(10, 6), (16, 5), (26, 5), (36, 4), (52, 4), (62, 4), (1000, 2)])
def test_the_least_length_has_a_million_texts(radix, length):
    assert least_length(radix) == length


def test_small_domains_are_permuted():
    cipher = FF1(KEY, 3)
    texts = [[a, b, c, d] for a in range(3) for b in range(3) for c in range(3) for d in range(3)]
    assert sorted(cipher.encrypt(text, b"t") for text in texts) == texts


@pytest.mark.long
def test_bouncy_castle_gives_the_same():
    """Its engine (FPEFF1Engine) is the reference for lengths, radixes and tweaks that NIST's samples do not have."""
    import pyspark

    jar = next(Path(pyspark.__file__).parent.glob("jars/bcprov-*.jar"))
    chance, lines = random.Random(39), []
    for _ in range(1500):
        radix = chance.choice((2, 3, 10, 16, 26, 36, 52, 62, 255))
        length = chance.randrange(20 if radix == 2 else 13, 400) if chance.random() < 0.3 else chance.randrange(20, 40)
        tweak, key = chance.randbytes(chance.randrange(40)), chance.randbytes(chance.choice((16, 24, 32)))
        text = bytes(chance.randrange(radix) for _ in range(length))
        lines.append(f"{key.hex()} {radix} {tweak.hex() or '-'} {text.hex()}")
    command = ["java", "-cp", str(jar), str(Path(__file__).with_name("BouncyCastle.java"))]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, timeout=120, check=True)
    for line, answer in zip(lines, done.stdout.split(), strict=True):
        key, radix, tweak, text = line.split()
        cipher = FF1(bytes.fromhex(key), int(radix))
        encrypted = cipher.encrypt(list(bytes.fromhex(text)), bytes.fromhex(tweak.strip("-")))
        assert bytes(encrypted).hex() == answer, line
        assert cipher.decrypt(encrypted, bytes.fromhex(tweak.strip("-"))) == list(bytes.fromhex(text))
