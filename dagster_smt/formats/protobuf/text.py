"""Reads Protobuf schemas from a registry. A schema is a serialized descriptor, or text that ``protoc`` compiles.

Confluent's registry returns descriptors on request (``ProtobufSchema.formattedString``). Other registries return the
source text that Java's producers have registered. The compiler ``protoc`` comes with the Python package
``grpcio-tools``. Users get this package with ``pip install dagster_smt[protoc]``.
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
"""Matches a relative file name such as ``shop/order.proto``. No part of the name is ``.`` or ``..``, so the file stays
inside its folder.
"""
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
"""A Protobuf file with the field options that Confluent's schemas use. It is needed because ``protoc`` rejects unknown
options.
"""


def proto_files(text: str, references: Sequence[tuple[str, str]] = (), place: str = "protobuf") -> list[bytes]:
    """Returns the files that a registry's Protobuf schema consists of.

    Args:
        text: The file with the messages: its serialized ``FileDescriptorProto`` in base64, or the source text itself.
        references: The imported files, each as a pair: the name in import statements, and the file itself. Each file
            comes after the files to which it refers.
        place: The schema's name in messages.

    Returns:
        The files, each as a serialized ``FileDescriptorProto``. Each file comes after the files that it imports. Each
        file of ``references`` gets the name that import statements use for the file, because Confluent's registry calls
        every file ``default`` (``ProtobufSchema.DEFAULT_NAME``).

    Raises:
        ConfigError: SMT273 if the text is not Protobuf.
        EngineError: SMT637 if the schema is source text, and ``protoc`` is not installed.
    """
    known, texts = {}, {}
    for name, reference in references:
        file = _serialized(reference, name)
        if file is None:
            texts[name] = reference
        else:
            known[name] = file
    names, own = [name for name, _ in references], _serialized(text, "")
    main = _free(names, "schema.proto" if own is None else own.name)
    if own is None:
        texts[main] = text
    else:
        own.name = main
        known[main] = own
    if texts:
        compiled = _compiled(tuple(texts.items()), tuple(map(_raw, known.values())), place)
    else:
        compiled = {}
    results = []
    for name in (*names, main):
        results.append(compiled[name] if name in texts else _raw(known[name]))
    return results


def _serialized(text: str, name: str) -> FileDescriptorProto | None:
    """Returns the Protobuf file in ``text``, a serialized descriptor in base64. If ``name`` is not empty, the file gets
    this name. Returns None if ``text`` is the source text of a file instead of a descriptor.
    """
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


def _free(names: Sequence[str], name: str) -> str:
    # an imported file may already have this name
    while name in names:
        name = f"_{name}"
    return name


@lru_cache(maxsize=256)
def _compiled(texts: tuple[tuple[str, str], ...], known: tuple[bytes, ...], place: str) -> Mapping[str, bytes]:
    """Compiles Protobuf source files, and returns a dict from file name to serialized descriptor. A process compiles
    the same files only once.

    Args:
        texts: (name, source text) of each file.
        known: The serialized descriptors of further files that ``texts`` import.
        place: The schema's name in messages.
    """
    if find_spec("grpc_tools") is None:
        raise no_protoc()
    for name, _ in texts:
        if not _NAME.fullmatch(name):
            statement = f"a reference has the name '{name}', which is not a file's name"
            raise refused(place, statement, "register the reference with another name")
    with tempfile.TemporaryDirectory() as folder:
        raw = _protoc(Path(folder), dict(texts), known, place)
    files = FileDescriptorSet.FromString(raw).file
    return {file.name: _raw(file) for file in files}


def _protoc(folder: Path, texts: Mapping[str, str], known: Sequence[bytes], place: str) -> bytes:
    """Runs ``protoc`` on ``texts`` (a dict from file name to source text) in ``folder``. Returns the descriptor set
    that ``protoc`` writes.

    The file names come from a registry, so a name could be an attack. The files are therefore in a separate folder in
    which Python does not search for modules. ``protoc`` gets absolute paths, which cannot be mistaken for options.
    """
    root, imports, out = folder / "files", folder / "known.desc", folder / "out.desc"
    paths = [root / name for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        _write(path, text, place)
    if META not in texts:
        _write(root / META, _META_TEXT, place)
    imports.write_bytes(
        FileDescriptorSet(file=[*map(FileDescriptorProto.FromString, known), *_imported(texts)]).SerializeToString()
    )
    options = [f"-I{root}", f"--descriptor_set_in={imports}", f"--descriptor_set_out={out}"]
    command = [sys.executable, "-m", "grpc_tools.protoc", *options, *map(str, paths)]
    try:
        done = subprocess.run(command, capture_output=True, cwd=folder, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise refused(place, f"protoc needs more than {_SECONDS} seconds for it") from None
    if done.returncode or not out.is_file():
        # the message names the file without the temporary folder
        mistake = _first_mistake(done.stderr.decode(errors="replace").replace(f"{root}/", ""))
        raise refused(place, f"it is not a Protobuf schema: {mistake}", "fix the schema at its source")
    return out.read_bytes()


def _write(path: Path, text: str, place: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except (OSError, UnicodeEncodeError):  # the name is too long, or the same name is used for a folder and a file
        raise refused(
            place, "its files cannot be stored in a folder", "register its references with other names"
        ) from None


def _imported(texts: Mapping[str, str]) -> Iterable[FileDescriptorProto]:
    """Returns the published files that the files in ``texts`` import. Google and Confluent have published such files,
    for example ``google/protobuf/timestamp.proto``. ``texts`` is a dict from file name to source text.

    If ``texts`` also contains a file with the name of a published file, ``protoc`` uses the file in ``texts``.
    """
    imports = []
    for text in texts.values():
        imports.extend(_IMPORT.findall(text))
    names = dict.fromkeys(imports)
    files = []
    for name in names:
        if (file := well_known(name)) is not None:
            files.append(file)
    return files


def _first_mistake(output: str) -> str:
    """Returns the first line of ``output`` that contains a position such as ``:3:1:`` and is not a warning. ``output``
    is the text that ``protoc`` has printed. If there is no such line, returns the first line that is not a warning.
    """
    lines = []
    for line in output.splitlines():
        if line.strip() and "warning:" not in line:
            lines.append(line.strip())
    placed = [line for line in lines if _PLACE.search(line)]
    return (placed or lines or ["protoc gives no reason"])[0]
