"""``.properties`` files, read as ``java.util.Properties`` reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_smt.chain.properties import read_properties

READ = [
    ("", {}),
    ("a=1", {"a": "1"}),
    ("a=1\nb=2\r\nc=3\rd=4", {"a": "1", "b": "2", "c": "3", "d": "4"}),
    ("a:1\nb 2\nc\t3\nd = 4\ne : 5\nf", {"a": "1", "b": "2", "c": "3", "d": "4", "e": "5", "f": ""}),
    ("a==1\nb=:2\nc =  = 3", {"a": "=1", "b": ":2", "c": "= 3"}),
    ("# no=1\n ! no=2\n  a=1 # stays\n\n", {"a": "1 # stays"}),
    ("a=1\na=2", {"a": "2"}),
    ("a=x \nb= y\t", {"a": "x ", "b": "y\t"}),
    ("a=one,\\\n   two,\\\n\tthree", {"a": "one,two,three"}),
    ("a=one\\\n# two", {"a": "one# two"}),
    ("a=one\\\n\nb=2", {"a": "one", "b": "2"}),
    ("a=one\\\\\nb=2", {"a": "one\\", "b": "2"}),
    ("a=one\\", {"a": "one"}),
    ("# no \\\na=1", {"a": "1"}),
    ("a\\ b\\=c\\:d=1", {"a b=c:d": "1"}),
    ("a=\\t\\n\\r\\f\\\\\\q", {"a": "\t\n\r\f\\q"}),
    ("a=\\u00e4\\u0041\\u12", {"a": "äAu12"}),
    ("a=ä", {"a": "ä"}),
    ("\fa\f=\f1", {"a": "1"}),
    ("=1", {"": "1"}),
    ("transforms.t.fields = a, b", {"transforms.t.fields": "a, b"}),
]


@pytest.mark.parametrize(("text", "properties"), READ)
def test_read(text, properties):
    assert read_properties(text) == properties


def escaped(text):
    return "".join(f"\\u{ord(c):04x}" if ord(c) < 0x10000 else c for c in text)


@given(st.dictionaries(st.text(), st.text()))
def test_escaped_texts_come_back(properties):
    text = "\n".join(f"{escaped(k)}={escaped(v)}" for k, v in properties.items())
    assert read_properties(text) == properties


@given(st.text())
def test_any_text_can_be_read(text):
    assert all(isinstance(v, str) for v in read_properties(text).values())
