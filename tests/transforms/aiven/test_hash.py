"""Hash: digests of texts. The sources are Aiven's HashTest (one test class for key and value) and class Hash."""

import json

import pytest

from dagster_smt.transforms.aiven.hash import Hash
from tests.transforms.helpers import Case, check, envelope, refusal

AT = "{} transforms.t (Hash$Value): {}"
MAIL = "jerry@big-corp.com"
DIGESTS = {
    "md5": ("10e5756d5d4c9c1cadd5e1b952071378", "d41d8cd98f00b204e9800998ecf8427e"),
    "sha1": ("dd9ab6e93603bf618db0894a82da64f1623a94b6", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    "sha256": (
        "20e85b05e7349963fc64746fbc7f3f4fdf31507921360847ebef333b229cf2d6",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ),
}
MD5 = {"function": "md5"}
FIELD = MD5 | {"field.name": "email"}
SKIP = {"skip.missing.or.null": "true"}


def plain(text, **top):
    return json.dumps({"schema": {"type": "string", "optional": True, **top}, "payload": text})


FIELDS = "email:string? name:string"
CASES = (
    # HashTest: each function on the whole, on a field and on the empty text
    *(Case(f"{f} of a value", {"function": f}, plain(MAIL), plain(d)) for f, (d, _) in DIGESTS.items()),
    *(Case(f"{f} of nothing", {"function": f}, plain(""), plain(d)) for f, (_, d) in DIGESTS.items()),
    *(
        Case(
            f"{f} of a field",
            {"function": f, "field.name": "email"},
            envelope(FIELDS, f'{{"email":"{MAIL}","name":"jerry"}}'),
            envelope(FIELDS, f'{{"email":"{d}","name":"jerry"}}'),
            touches=("email",),
        )
        for f, (d, _) in DIGESTS.items()
    ),
    Case("the key", MD5, plain(MAIL), plain(DIGESTS["md5"][0]), shows="key", side="Key", touches=("(whole)",)),
    Case("an empty field name is none", MD5 | {"field.name": ""}, plain(""), plain(DIGESTS["md5"][1])),
    # Hash: the schema stays, named ones too
    Case("a named string", MD5, plain("", name="x.Mail"), plain(DIGESTS["md5"][1], name="x.Mail")),
    Case("a dot is part of the name", MD5 | {"field.name": "a.b"}, envelope("a.b:string", '{"a.b":""}'),
         envelope("a.b:string", json.dumps({"a.b": DIGESTS["md5"][1]}))),
    # HashTest: nulls and missing fields
    Case("a null, skipped", MD5 | SKIP, plain(None), plain(None), touches=()),
    refusal("a null", MD5, plain(None), AT.format("SMT402", "a null key or value cannot be used for [hash texts]")),
    Case("a null field, skipped", FIELD | SKIP, envelope(FIELDS, '{"email":null,"name":"j"}'),
         envelope(FIELDS, '{"email":null,"name":"j"}'), touches=()),
    refusal("a null field", FIELD, envelope(FIELDS, '{"email":null,"name":"j"}'),
            AT.format("SMT451", "the field 'email' is null")),
    Case("no such field, skipped", FIELD | SKIP, envelope("a:string", '{"a":"x"}'), envelope("a:string", '{"a":"x"}')),
    refusal("no such field", FIELD, envelope("a:string", '{"a":"x"}'),
            AT.format("SMT102", "there is no field 'email'")),
    # Hash: a default does not stand in (getString)
    refusal("a default", FIELD, envelope('email:string?="d"', '{"email":null}'),
            AT.format("SMT451", "the field 'email' is null")),
    # HashTest: skipping does not cover these
    refusal("no schema", MD5 | SKIP, '"x"', AT.format("SMT450", "a key or value without a schema cannot be hashed")),
    refusal("no schema, a field", FIELD | SKIP, '{"email":"x"}',
            AT.format("SMT450", "a key or value without a schema cannot be hashed")),
    refusal("a null without a schema, a field", FIELD | SKIP, "null",
            AT.format("SMT402", "a null key or value cannot be used for [hash texts]")),
    refusal("a null struct", FIELD | SKIP, envelope(FIELDS, "null", optional=True),
            AT.format("SMT402", "a null key or value cannot be used for [hash texts]")),
    refusal("a struct as a whole", MD5 | SKIP, envelope("a:string", '{"a":"x"}'),
            AT.format("SMT452", "only a string can be hashed, but the key or value is struct")),
    refusal("no struct", FIELD | SKIP, '{"schema":{"type":"int8"},"payload":1}',
            AT.format("SMT201", "only a struct can be used for [hash texts], but this is int8")),
    refusal("a struct in the field", FIELD | SKIP, envelope("email:{a:string}", '{"email":{"a":"x"}}'),
            AT.format("SMT452", "only a string can be hashed, but the field 'email' is struct")),
    # ours: a null without a schema passes where it is skipped
    Case("a null without a schema, skipped", MD5 | SKIP, "null", "null"),
    # the configuration
    refusal("no function", {}, "null", "SMT012 transforms.t (Hash$Value): the option 'function' is missing"),
    refusal("another function", {"function": "MD5"}, "null",
            "SMT013 transforms.t (Hash$Value) function: must be one of: md5, sha1, sha256"),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_hash(case):
    check(Hash, case)
