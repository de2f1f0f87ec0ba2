"""Rules that give verdicts on the options of connectors."""

from dataclasses import dataclass
from typing import Literal

OptionOutcome = Literal["used", "not needed", "changed", "not done"]
UNRESOLVED = "no run resolves this reference: mount the secret as a file, and write ${file:PATH:KEY}, or set a variable"
"""The text of the verdict on a reference to a configuration provider of Connect. This package has no such provider."""
OUTCOMES: tuple[OptionOutcome, ...] = ("used", "changed", "not needed", "not done")


@dataclass(frozen=True)
class OptionVerdict:
    """The verdict on an option: one line of a report. The line never contains the option's value, which may be a
    secret.

    Attributes:
        option: The option's name.
        verdict: ``used``; ``not needed``; ``changed``; or ``not done``, which makes the command fail.
        text: For a used option, the setting that it becomes. Otherwise the reason, the change or the missing part.
    """

    option: str
    verdict: OptionOutcome
    text: str


@dataclass(frozen=True)
class OptionRule:
    """A rule that gives a verdict on a connector's option. The first matching rule applies.

    Attributes:
        option: The name of the option. If it ends with ``*``, the rule applies to all options that begin with the text
            before ``*``.
        verdict: The verdict, as in ``OptionVerdict``.
        text: The text of the verdict, as in ``OptionVerdict``.
        families: The families of connectors; empty for all families.
        values: The values of the option, in lower case; empty for all values.
    """

    option: str
    verdict: OptionOutcome
    text: str
    families: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    def fits(self, option: str, value: str, family: str) -> bool:
        """Returns True if the rule applies to ``option`` with ``value``, for a connector of ``family``."""
        if self.families and family not in self.families:
            return False
        if self.values and value.strip().lower() not in self.values:
            return False
        return self.names(option)

    def names(self, option: str) -> bool:
        """Returns True if the rule applies to options with the name ``option``."""
        if self.option.endswith("*"):
            return option.startswith(self.option[:-1])
        return option == self.option
