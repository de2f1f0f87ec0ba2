"""Records with known personal values, and a judge that looks for them. It knows nothing of the package."""

import json
import re
from random import Random

LETTERS = "bcdfghjklmnpqrstvwxz"


def word(chance, length=10):
    return "".join(chance.choice(LETTERS) for _ in range(length))


def digits(chance, length):
    return "".join(chance.choice("0123456789") for _ in range(length))


def card(chance):
    """Sixteen digits of which the last is Luhn's."""
    body = "4" + digits(chance, 14)
    doubled = [int(c) * (2 if place % 2 == 0 else 1) for place, c in enumerate(reversed(body))]
    return body + str(-sum(number // 10 + number % 10 for number in doubled) % 10)


def account(chance):
    """A German account with valid check digits."""
    body = digits(chance, 18)
    return f"DE{98 - int(body + '131400') % 97:02d}{body}"


def grouped(text, mark=" "):
    return mark.join(text[at : at + 4] for at in range(0, len(text), 4))


class People:
    """Makes records. ``values`` are the personal values so far, without blanks and marks."""

    def __init__(self, seed):
        self.chance = Random(seed)
        self.values = set()

    def _known(self, value):
        self.values.add(re.sub("[^a-z0-9]", "", value.lower()))
        return value

    def word(self):
        """Returns a new personal value of letters."""
        return self._known(word(self.chance))

    def record(self, number):
        chance = self.chance
        name, mail = self._known(word(chance)), word(chance)
        address = f"{self._known(mail)}@{chance.choice(['mail', 'post'])}.example.org"
        number_of_card, bank = self._known(card(chance)), self._known(account(chance))
        phone = "47" + digits(chance, 9)
        self._known(phone)
        ip = ".".join(str(chance.randrange(100, 256)) for _ in range(4))
        self._known(ip)
        value = {
            "id": number,
            "name": name,
            "mail": address,
            "card": chance.choice([number_of_card, grouped(number_of_card), grouped(number_of_card, "-")]),
            "bank": bank,
            "ip": ip,
            "contacts": [{"mail": self._address(), "kind": "work"}],
            "note": self._note(address, number_of_card, bank, phone),
            "amount": chance.randrange(100),
        }
        key = self._known(word(chance))
        return key.encode(), json.dumps(value, ensure_ascii=chance.random() < 0.5).encode()

    def _address(self):
        return f"{self._known(word(self.chance))}@example.com"

    def _note(self, address, number, bank, phone):
        chance = self.chance
        parts = [
            f"mail {address}",
            f"<{self._address()}>",
            f"card {chance.choice([number, grouped(number), grouped(number, '-')])}",
            f"IBAN {chance.choice([bank, grouped(bank), bank.lower()])}",
            f"call +{phone[:2]} {phone[2:5]} {phone[5:8]}-{phone[8:]}",
            "\u00fcber \U0001f600",
            "",
        ]
        chance.shuffle(parts)
        return chance.choice([", ", " ", "; ", "\n"]).join(parts)


def survivors(values, texts):
    """Returns the personal values that are in texts, in whatever spelling: with other case, blanks or marks."""
    sizes = sorted({len(value) for value in values})
    result = set()
    for text in texts:
        lower = text.lower()
        result |= values.intersection(re.findall("[a-z0-9]+", lower))
        for spelled in set(re.findall("[a-z0-9](?:[ .\\-]?[a-z0-9]){11,60}", lower)):
            result |= _inside(re.sub("[ .\\-]", "", spelled), values, sizes)
    return result


def _inside(text, values, sizes):
    return {text[at : at + size] for size in sizes for at in range(len(text) - size + 1)} & values
