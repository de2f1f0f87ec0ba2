"""AES-GCM and AES-SIV: vectors of NIST and of RFC 5297."""

import sys

import pytest

from dagster_smt.errors import UnsupportedError
from dagster_smt.model.key_references import SecretKey
from dagster_smt.values.privacy.sealed import opened, sealed

RFC_5297 = (
    "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
    "101112131415161718191a1b1c1d1e1f2021222324252627",
    "112233445566778899aabbccddee",
    "85632d07c6e8f37f950acd320a2ecc9340c02b9690c4dc04daef7f6afe5c",
)
"""A.1, deterministic authenticated encryption: key, associated data, plain text, and the vector with the cipher text.

A.2 has three associated texts. An encrypted string of ours has one.
"""


def test_the_vector_of_rfc_5297():
    data, associated, plain, want = map(bytes.fromhex, RFC_5297)
    key = SecretKey(data)
    assert sealed(key, "siv", plain, associated) == want
    assert opened(key, "siv", want, associated) == plain


def test_the_vector_of_gcm():
    """Test case 4 of the submission to NIST (SP 800-38D), which has associated data and a part of a block."""
    key = SecretKey(bytes.fromhex("feffe9928665731c6d6a8f9467308308"))
    nonce = bytes.fromhex("cafebabefacedbaddecaf888")
    plain = bytes.fromhex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
    )
    text = bytes.fromhex(
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
        "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091"
    )
    tag = bytes.fromhex("5bc94fbc3221a5db94fae95ae7121a47")
    associated = bytes.fromhex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
    assert opened(key, "gcm", nonce + text + tag, associated) == plain
    with pytest.raises(ValueError, match=r"^$"):
        opened(key, "gcm", nonce + text + tag[:-1] + b"\0", associated)


@pytest.mark.parametrize("mode", ["gcm", "siv"])
def test_a_key_of_a_size_for_the_other_mode_opens_nothing(mode):
    size = {"gcm": 48, "siv": 16}[mode]
    with pytest.raises(ValueError, match=r"^$"):
        opened(SecretKey(b"k" * size), mode, b"x" * 40, b"")


@pytest.mark.parametrize("mode", ["gcm", "siv"])
@pytest.mark.parametrize("use", [sealed, opened])
def test_where_cryptography_is_not_installed_the_error_names_the_extra(use, mode, monkeypatch):
    for name in tuple(sys.modules):
        if name.partition(".")[0] == "cryptography":
            monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UnsupportedError, match="SMT650 cryptography") as error:
        use(SecretKey(b"k" * 32), mode, b"x" * 40, b"")
    assert "dagster_smt[privacy]" in str(error.value)
