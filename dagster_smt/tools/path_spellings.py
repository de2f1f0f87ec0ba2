"""Lists examples of field paths with the fields that each matches. The reference shows the list, and the tests check
it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Spelling:
    """An example of a field path, such as ``a.b``. It shows the value before and after ``MaskField`` has replaced the
    matching fields by ``*``.

    Attributes:
        path: The path.
        reaches: A description of the fields that the path matches.
        before, after: The value before and after masking, as JSON.
        version: The syntax of the path: the option ``field.syntax.version``.
    """

    path: str
    reaches: str
    before: str
    after: str
    version: str = "extended"


@dataclass(frozen=True)
class Situation:
    """A special case of a field path, with the result of a transform: for example, "the field does not exist".

    Attributes:
        what: The special case, in words.
        transform: The name of the transform.
        options: The options of the transform; ``field.syntax.version`` is V2 unless it is set.
        before, after: The value before and after the transform, as JSON. An ``after`` such as
            ``refused: two fields would be named 'c'`` means that the transform fails with this statement.
        schema: The kind of records: ``with`` a schema, ``without`` a schema, or ``both``.
    """

    what: str
    transform: str
    options: dict[str, str]
    before: str
    after: str
    schema: str = "both"

    @property
    def settings(self) -> dict[str, str]:
        """The options of the transform, with ``field.syntax.version`` set to V2 if it is not set."""
        return {"field.syntax.version": "V2", **self.options}


_USERS = '{"users":[{"mail":"a","ids":["x","y"]},{"mail":"b","ids":["z"]}]}'
_DEEP = '{"mail":"a","who":{"mail":"b","pets":[{"mail":"c"}]}}'

SPELLINGS = (
    Spelling("a.b", "the field whose name has a dot", '{"a.b":"x","a":{"b":"y"}}', '{"a.b":"*","a":{"b":"y"}}', "V1"),
    Spelling("a.b", "a field of a struct", '{"a.b":"x","a":{"b":"y"}}', '{"a.b":"x","a":{"b":"*"}}', "V2"),
    Spelling(
        "`a.b`", "backticks: the whole name is literal", '{"a.b":"x","a":{"b":"y"}}', '{"a.b":"*","a":{"b":"y"}}', "V2"
    ),
    Spelling("a.`b.c`.d", "backticks around one step", '{"a":{"b.c":{"d":"x"}}}', '{"a":{"b.c":{"d":"*"}}}', "V2"),
    Spelling("a`b", "a backtick inside a name needs no escape", '{"a`b":"x"}', '{"a`b":"*"}', "V2"),
    Spelling("``a``.b", "a name with a backtick at each end", '{"`a`":{"b":"x"}}', '{"`a`":{"b":"*"}}', "V2"),
    Spelling(r"`a\`.b`", "a backtick and a dot that are both part of the name", '{"a`.b":"x"}', '{"a`.b":"*"}', "V2"),
    Spelling("users[0].mail", "a field of the first element", _USERS, _USERS.replace('"a"', '"*"')),
    Spelling("users[-1].mail", "a field of the last element", _USERS, _USERS.replace('"b"', '"*"')),
    Spelling("users[7].mail", "an element that does not exist, so nothing changes", _USERS, _USERS),
    Spelling("users[*].mail", "a field of every element", _USERS, _USERS.replace('"a"', '"*"').replace('"b"', '"*"')),
    Spelling(
        "users[*].ids[0]",
        "the first element of each inner array",
        _USERS,
        _USERS.replace('"x"', '"*"').replace('"z"', '"*"'),
    ),
    Spelling(
        "attrs['a.b']",
        "the value under a map key, or a field of this name",
        '{"attrs":{"a.b":"x"}}',
        '{"attrs":{"a.b":"*"}}',
    ),
    Spelling(
        'attrs["it\'s"]',
        "single or double quotes; a backslash escapes a quote",
        '{"attrs":{"it\'s":"x"}}',
        '{"attrs":{"it\'s":"*"}}',
    ),
    Spelling(
        "attrs[*]",
        "every value of a map, or every field of a struct",
        '{"attrs":{"a":"x","b":"y"}}',
        '{"attrs":{"a":"*","b":"*"}}',
    ),
    Spelling(
        "*.mail",
        "the field `mail` in each top-level map or struct",
        '{"a":{"mail":"x"},"b":{"mail":"y"}}',
        '{"a":{"mail":"*"},"b":{"mail":"*"}}',
    ),
    Spelling("['a'].b", "brackets as the first step", '{"a":{"b":"x"}}', '{"a":{"b":"*"}}'),
    Spelling(
        "**.mail",
        "every field with the name `mail`, at any depth",
        _DEEP,
        '{"mail":"*","who":{"mail":"*","pets":[{"mail":"*"}]}}',
    ),
    Spelling(
        "who.**.mail",
        "every field with the name `mail` inside the field `who`",
        _DEEP,
        '{"mail":"a","who":{"mail":"*","pets":[{"mail":"*"}]}}',
    ),
    Spelling(
        "who.**[0].mail", "`mail` in the first element of each array in `who`", _DEEP, _DEEP.replace('"c"', '"*"')
    ),
    Spelling(
        "/^(ssn|iban)$/i",
        "fields whose name is `ssn` or `iban`, in upper or lower case",
        '{"SSN":"x","iban":"y","n":"z"}',
        '{"SSN":"*","iban":"*","n":"z"}',
    ),
    Spelling(
        "**./mail$/",
        "fields whose name ends with `mail`, at any depth",
        '{"a":{"mail":"x","work_mail":"y","mailed":"z"}}',
        '{"a":{"mail":"*","work_mail":"*","mailed":"z"}}',
    ),
    Spelling(r"/^a\/b$/", "a slash in a pattern needs a backslash", '{"a/b":"x","a":"y"}', '{"a/b":"*","a":"y"}'),
    Spelling(
        "who.type(string)",
        "the strings in a struct",
        '{"who":{"n":1,"s":"x","t":"y"}}',
        '{"who":{"n":1,"s":"*","t":"*"}}',
    ),
    Spelling("**.type(string)", "all strings", '{"n":1,"a":["x"],"b":{"c":"y"}}', '{"n":1,"a":["*"],"b":{"c":"*"}}'),
    Spelling("`a[0]`", "the brackets are part of the name", '{"a[0]":"x","a":["y"]}', '{"a[0]":"*","a":["y"]}'),
    Spelling("`a*`.`**`", "the stars are part of the names", '{"a*":{"**":"x"}}', '{"a*":{"**":"*"}}'),
    Spelling("`/a/`", "the slashes are part of the name", '{"/a/":"x","a":"y"}', '{"/a/":"*","a":"y"}'),
    Spelling("a/b", "a slash inside a name needs no escape", '{"a/b":"x"}', '{"a/b":"*"}'),
    Spelling(
        "`type(string)`", "a name that looks like a step `type(…)`", '{"type(string)":"x"}', '{"type(string)":"*"}'
    ),
    Spelling(
        "a[0]['b c'].`d.e`",
        "several kinds of steps in one path",
        '{"a":[{"b c":{"d.e":"x"}}]}',
        '{"a":[{"b c":{"d.e":"*"}}]}',
    ),
)

_MASK = {"fields": "a.b", "replacement": "*"}

SITUATIONS = (
    Situation("the field does not exist", "MaskField", _MASK, '{"a":{"c":"x"}}', '{"a":{"c":"x"}}'),
    Situation("a struct on the path does not exist", "MaskField", _MASK, '{"c":"x"}', '{"c":"x"}'),
    Situation(
        "a struct on the path is null", "MaskField", _MASK, '{"a":null,"c":"x"}', '{"a":null,"c":"x"}', "without"
    ),
    Situation("a step leads into a value without fields", "MaskField", _MASK, '{"a":"x"}', '{"a":"x"}'),
    Situation("the field is null", "MaskField", _MASK, '{"a":{"b":null}}', '{"a":{"b":null}}'),
    Situation(
        "a field and one of its inner fields are renamed",
        "ReplaceField",
        {"renames": "a:c,a.b:d"},
        '{"a":{"b":"x"}}',
        '{"c":{"d":"x"}}',
    ),
    Situation(
        "several fields of one struct are cast",
        "Cast",
        {"spec": "a.b:string,a.c:int64"},
        '{"a":{"b":1,"c":"2","d":3}}',
        '{"a":{"b":"1","c":2,"d":3}}',
    ),
    Situation(
        "two fields of a struct swap their names",
        "ReplaceField",
        {"renames": "a.b:c,a.c:b"},
        '{"a":{"b":1,"c":2}}',
        '{"a":{"c":1,"b":2}}',
    ),
    Situation(
        "the new name already exists in the struct",
        "ReplaceField",
        {"renames": "a.b:c"},
        '{"a":{"b":1,"c":2}}',
        "refused: two fields would be named 'c'",
        "with",
    ),
    Situation(
        "the new name already exists in the object",
        "ReplaceField",
        {"renames": "a.b:c"},
        '{"a":{"b":1,"c":2}}',
        '{"a":{"c":1}}',
        "without",
    ),
    Situation("the last field of a struct is dropped", "ReplaceField", {"exclude": "a.b"}, '{"a":{"b":1}}', '{"a":{}}'),
    Situation(
        "a nested field is included",
        "ReplaceField",
        {"include": "a.b,d"},
        '{"a":{"b":1,"c":2},"d":{"e":3},"f":4}',
        '{"a":{"b":1},"d":{"e":3}}',
    ),
    Situation(
        "a struct is included, and one of its fields is excluded",
        "ReplaceField",
        {"include": "a", "exclude": "a.b"},
        '{"a":{"b":1,"c":2}}',
        '{"a":{"c":2}}',
    ),
    Situation(
        "a pattern renames fields at any depth",
        "ReplaceField",
        {"renames": "**./^usr_(.*)$/:user_$1", "field.syntax.version": "extended"},
        '{"usr_id":1,"in":[{"usr_n":2}]}',
        '{"user_id":1,"in":[{"user_n":2}]}',
    ),
    Situation(
        "elements of an array are excluded",
        "ReplaceField",
        {"exclude": "a[0],b[*].c", "field.syntax.version": "extended"},
        '{"a":[1,2,3],"b":[{"c":1,"d":2}]}',
        '{"a":[2,3],"b":[{"d":2}]}',
    ),
    Situation(
        "elements of an array are included",
        "ReplaceField",
        {"include": "b[*].c", "field.syntax.version": "extended"},
        '{"a":1,"b":[{"c":1,"d":2},{"c":3,"d":4}]}',
        '{"b":[{"c":1},{"c":3}]}',
    ),
    Situation(
        "one element would get a different type",
        "Cast",
        {"spec": "a[0]:string", "field.syntax.version": "extended"},
        '{"a":[1,2]}',
        "refused: the elements of array<int64> have one schema: it cannot change for [0] alone",
        "with",
    ),
    Situation(
        "one element gets a different type",
        "Cast",
        {"spec": "a[0]:string", "field.syntax.version": "extended"},
        '{"a":[1,2]}',
        '{"a":["1",2]}',
        "without",
    ),
    Situation(
        "a struct to insert into does not exist",
        "InsertField",
        {"static.field": "a.b.c", "static.value": "x"},
        '{"a":{"d":1}}',
        '{"a":{"d":1,"b":{"c":"x"}}}',
    ),
    Situation(
        "a struct to insert into does not exist, and the option says `ignore`",
        "InsertField",
        {"static.field": "a.b.c", "static.value": "x", "field.on.missing.parent": "ignore"},
        '{"a":{"d":1}}',
        '{"a":{"d":1}}',
    ),
    Situation(
        "a struct to insert into is null",
        "InsertField",
        {"static.field": "a.b", "static.value": "x"},
        '{"a":null}',
        '{"a":null}',
        "without",
    ),
    Situation(
        "the parent of the new field is not a struct",
        "InsertField",
        {"static.field": "a.b", "static.value": "x"},
        '{"a":[1]}',
        '{"a":[1]}',
    ),
    Situation(
        "a field to insert exists",
        "InsertField",
        {"static.field": "a.b", "static.value": "x"},
        '{"a":{"b":1,"c":2}}',
        '{"a":{"b":"x","c":2}}',
    ),
    Situation(
        "a field to insert exists, and the option says `ignore`",
        "InsertField",
        {"static.field": "a.b", "static.value": "x", "field.on.existing.field": "ignore"},
        '{"a":{"b":1,"c":2}}',
        '{"a":{"b":1,"c":2}}',
    ),
    Situation(
        "a nested field is wrapped",
        "HoistField",
        {"hoisted": "a.b", "field": "w"},
        '{"a":{"b":1,"c":2}}',
        '{"a":{"w":{"b":1},"c":2}}',
    ),
    Situation(
        "a field to wrap does not exist",
        "HoistField",
        {"hoisted": "a.b", "field": "w"},
        '{"a":{"c":2}}',
        '{"a":{"c":2}}',
    ),
)
"""The special cases that KIP-821 (nested field paths) does not define, with their results in this package."""
