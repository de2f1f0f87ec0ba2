"""Protobuf as a registry gives it: serialized descriptors, or text alone, of which ``protoc`` makes descriptors.

Confluent's registry serializes when it is asked to (``ProtobufSchema.formattedString``), others give the text that
Java's producers have registered. ``protoc`` comes with the package grpcio-tools, the project's extra ``protoc``.
"""

import base64
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError

from dagster_smt.formats.protobuf.files import META, refused, well_known
from dagster_smt.formats.registry.client import no_protoc

_IMPORT = re.compile(r"""\bimport\s+(?:public\s+|weak\s+)?["']([^"']+)["']""")
_NAME = re.compile(r"(?!/)(?:(?!\.{0,2}/)[^/\\\0]+/)*(?!\.{0,2}$)[^/\\\0]+")
"""Names that stay below a folder."""
_PLACE = re.compile(r":\d+:\d+: ")
_SECONDS = 60
_META_TEXT = """\
syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; repeated Rule rules = 4; }
message Rule { string name = 1; string doc = 2; string expr = 3; string sql = 4; }
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
"""
"""What Confluent's texts say about fields is said in these options; ``protoc`` takes none that it does not know."""


def proto_files(text: str, references: Sequence[tuple[str, str]] = (), place: str = "protobuf") -> list[bytes]:
    """The files of a registry's schema.

    Args:
        text: The file with the messages: its serialized ``FileDescriptorProto`` in base64, or the text itself.
        references: (name that imports have, file) of those that it refers to, each after those that it refers to.
        place: How messages call it.

    Returns:
        Serialized ``FileDescriptorProto``, each after those that it imports. References have the names that they are
        imported by: Confluent's registry calls every file ``default`` (``ProtobufSchema.DEFAULT_NAME``).

    Raises:
        ConfigError: SMT273, the text is no Protobuf.
        EngineError: SMT637, there is text and no ``protoc``.
    """
    known = {name: file for name, found in references if (file := _serialized(found, name)) is not None}
    texts = {}
    for name, found in references:
        if name not in known:
            texts[name] = found
    names, own = [name for name, _ in references], _serialized(text, "")
    main = _free(names, "schema.proto" if own is None else own.name)
    if own is None:
        texts[main] = text
    else:
        own.name = main
        known[main] = own
    if texts:
        made = _compiled(tuple(texts.items()), tuple(map(_raw, known.values())), place)
    else:
        made = {}
    results = []
    for name in (*names, main):
        results.append(made[name] if name in texts else _raw(known[name]))
    return results


def _serialized(text: str, name: str) -> FileDescriptorProto | None:
    """The file in a text of base64, under a name if there is one; None if the text is no base64, as ``proto`` is."""
    try:
        file = FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (ValueError, DecodeError):
        return None
    if name:
        file.name = name
    return file


def _raw(file: FileDescriptorProto) -> bytes:
    raw: bytes = file.SerializeToString(deterministic=True)
    return raw


def _free(taken: Sequence[str], name: str) -> str:
    while name in taken:
        name = f"_{name}"
    return name


@lru_cache(maxsize=256)
def _compiled(texts: tuple[tuple[str, str], ...], known: tuple[bytes, ...], place: str) -> Mapping[str, bytes]:
    """The descriptors of texts; a process makes them once.

    Args:
        texts: (name, text) of each file.
        known: Descriptors of other files that they may import.
        place: How messages call it.
    """
    if find_spec("grpc_tools") is None:
        raise no_protoc()
    for name, _ in texts:
        if not _NAME.fullmatch(name):
            raise refused(place, f"a reference has the name '{name}', which no file can have", "register it again")
    with tempfile.TemporaryDirectory() as folder:
        made = _protoc(Path(folder), dict(texts), known, place)
    found = FileDescriptorSet.FromString(made).file
    return {file.name: _raw(file) for file in found}


def _protoc(folder: Path, texts: Mapping[str, str], known: Sequence[bytes], place: str) -> bytes:
    """Run it. Nothing that a registry says lies where Python looks for modules, or can be taken for an option."""
    root, there, out = folder / "files", folder / "known.desc", folder / "made.desc"
    paths = [root / name for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        _write(path, text, place)
    if META not in texts:
        _write(root / META, _META_TEXT, place)
    there.write_bytes(
        FileDescriptorSet(file=[*map(FileDescriptorProto.FromString, known), *_imported(texts)]).SerializeToString()
    )
    options = [f"-I{root}", f"--descriptor_set_in={there}", f"--descriptor_set_out={out}"]
    command = [sys.executable, "-m", "grpc_tools.protoc", *options, *map(str, paths)]
    try:
        done = subprocess.run(command, capture_output=True, cwd=folder, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise refused(place, f"protoc is not done with it after {_SECONDS} seconds") from None
    if done.returncode or not out.is_file():
        said = _first_mistake(done.stderr.decode(errors="replace").replace(f"{root}/", ""))
        raise refused(place, f"it is no Protobuf schema: {said}", "correct it where it comes from")
    return out.read_bytes()


def _write(path: Path, text: str, place: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except (OSError, UnicodeEncodeError):  # a name too long, or a folder that is a file, too
        raise refused(place, "its files cannot be laid out in a folder", "register references again") from None


def _imported(texts: Mapping[str, str]) -> Iterable[FileDescriptorProto]:
    """Published files that are imported; what lies in the folder comes first, and ``protoc`` has what they import."""
    names = dict.fromkeys(name for text in texts.values() for name in _IMPORT.findall(text))
    return [file for name in names if (file := well_known(name)) is not None]


def _first_mistake(said: str) -> str:
    """What ``protoc`` says of a place; it may warn before, and its libraries log."""
    lines = []
    for line in said.splitlines():
        if line.strip() and "warning:" not in line:
            lines.append(line.strip())
    placed = [line for line in lines if _PLACE.search(line)]
    return (placed or lines or ["protoc does not say why"])[0]
