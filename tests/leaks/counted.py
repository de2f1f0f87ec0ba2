"""Records whose personal values come from a counter, so that one regular expression finds any of them.

The records have the shape of ``tests.run.personal``, and cost some microseconds each.
"""

import re

from tests.run.personal import grouped

_LETTERS = "bcdfghjklmnpqrstvwxz"
_GAP = r"[ .\-]?"


def _spread(text):
    """Returns a pattern for a text with blanks or marks between its characters."""
    return _GAP.join(text)


_WORD = _spread("zqxvkj") + f"(?:{_GAP}[{_LETTERS}]){{7}}"
_CARD = _spread("49997000") + rf"(?:{_GAP}\d){{8}}"
_BANK = _spread("77770000") + rf"(?:{_GAP}\d){{10}}"
_PHONE = _spread("4799900") + rf"(?:{_GAP}\d){{7}}"
_IP = r"247\.\d{1,3}\.\d{1,3}\.[1-9]\d{0,2}"
PATTERN = re.compile("|".join((_WORD, _CARD, _BANK, _PHONE, _IP)), re.IGNORECASE)


def word(number):
    """Returns a word that no other number has."""
    letters = []
    for _ in range(7):
        number, rest = divmod(number, 20)
        letters.append(_LETTERS[rest])
    return "zqxvkj" + "".join(letters)


def card(number):
    """Returns sixteen digits of which the last is Luhn's."""
    body = f"49997000{number % 10**7:07}"
    total = 0
    for place, digit in enumerate(reversed(body)):
        doubled = int(digit) * (1 if place % 2 else 2)
        total += doubled // 10 + doubled % 10
    return body + str(-total % 10)


def account(number):
    """Returns a German account with valid check digits."""
    body = f"77770000{number % 10**10:010}"
    return f"DE{98 - int(body + '131400') % 97:02}{body}"


class CountedPeople:
    """Makes records like ``People``, but holds no list of values: ``values`` is a pattern."""

    values = PATTERN

    def __init__(self, first=0):
        self.count = first

    def word(self):
        self.count += 1
        return word(self.count)

    def record(self, number):
        mail, other, third = f"{self.word()}@mail.example.org", f"{self.word()}@example.com", f"{self.word()}@b.example"
        n = self.count
        plain, bank, phone = card(n), account(n), f"{n % 10**7:07}"
        shown = (plain, grouped(plain), grouped(plain, "-"))[n % 3]
        ip = f"247.{n >> 16 & 255}.{n >> 8 & 255}.{n % 255 + 1}"
        note = (
            f"mail {mail}, <{third}>; card {shown}, IBAN {(bank, grouped(bank), bank.lower())[n % 3]} "
            f"call +47 999 00{phone[0]} {phone[1:4]}-{phone[4:]}"
        )
        value = (
            f'{{"id": {number}, "name": "{self.word()}", "mail": "{mail}", "card": "{shown}", "bank": "{bank}", '
            f'"ip": "{ip}", "contacts": [{{"mail": "{other}", "kind": "work"}}], "note": "{note}", '
            f'"amount": {n % 100}}}'
        )
        return self.word().encode(), value.encode()
