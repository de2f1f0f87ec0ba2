"""Finds the names of people and places in free text, with Microsoft's Presidio.

A pattern can only match values of a fixed form. Names have no fixed form, so Presidio uses a language model from spaCy.
The model takes milliseconds for each text. Therefore only ``dagster-smt scan --presidio`` uses Presidio, and only for
texts in which no pattern has a match.
"""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from dagster_smt.errors import ConfigError, Problem, needs_extras
from dagster_smt.privacy.patterns import LONGEST

LANGUAGE = "en"
_MODELS = ("en_core_web_trf", "en_core_web_lg", "en_core_web_md", "en_core_web_sm")
"""The names of spaCy's models for English, the best model first."""
_KINDS = {"PERSON": "person", "LOCATION": "place"}
"""Maps Presidio's types of entities, such as ``PERSON``, to our kinds of personal values, such as ``person``."""
_LEAST_SCORE = 0.6
"""The lowest score of a match that is accepted. With lower scores, Presidio's own patterns match almost any number.
Matches from a language model have the score 0.85.
"""

Finder = Callable[[str], Iterator[str]]
"""A function that yields the kinds of personal values in a text."""


def presidio_finder() -> Finder:
    """Returns a function that finds personal values with Presidio.

    Raises:
        UnsupportedError: SMT650 if Presidio is not installed.
        ConfigError: SMT774 if no spaCy model is installed.
    """
    with needs_extras():
        analyzer, engines, spacy = (
            import_module("presidio_analyzer"),
            import_module("presidio_analyzer.nlp_engine"),
            import_module("spacy.util"),
        )
    model = _installed(_MODELS, spacy)
    settings = {"nlp_engine_name": "spacy", "models": [{"lang_code": LANGUAGE, "model_name": model}]}
    engine = engines.NlpEngineProvider(nlp_configuration=settings).create_engine()
    recognizer = analyzer.AnalyzerEngine(nlp_engine=engine, supported_languages=[LANGUAGE])

    def kinds(text: str) -> Iterator[str]:
        # the model takes milliseconds for each text, and a text without letters contains no name
        if not any(map(str.isalpha, text)):
            return
        results = recognizer.analyze(
            text=text[:LONGEST], language=LANGUAGE, entities=list(_KINDS), score_threshold=_LEAST_SCORE
        )
        yield from sorted({_KINDS[result.entity_type] for result in results})

    return kinds


def _installed(models: Sequence[str], spacy: Any) -> str:
    """Returns the first of ``models`` that is installed. This check is needed because Presidio would download a missing
    model.
    """
    for model in models:
        if spacy.is_package(model):
            return model
    hint = f"python -m spacy download {models[-1]}"
    raise ConfigError(Problem("SMT774", "presidio", "no model of spaCy for English is installed", hint))
