"""Prints the figures of the house list: density, comments, names. Run: python -m tests.figures"""

import ast
import io
import tokenize
from collections import Counter

from tests.test_project import COMPREHENSION, code_lines, density, modules, nested, vague_names


def figures():
    """(name, number) of each figure of ``dagster_smt``."""
    texts = {path: path.read_text() for path in modules("dagster_smt")}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    code = sum(len(code_lines(text)) for text in texts.values())
    comments = 0
    for text in texts.values():
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        comments += sum(token.type == tokenize.COMMENT for token in tokens)
    classes = Counter(n.name for tree in trees.values() for n in tree.body if isinstance(n, ast.ClassDef))
    stems = Counter(path.stem for path in texts if not path.stem.startswith("__"))
    yield "files", len(texts)
    yield "lines of code", code
    yield "conditional expressions per 1,000 lines", round(density(texts.values(), ast.IfExp), 1)
    yield "comprehensions per 1,000 lines", round(density(texts.values(), COMPREHENSION), 1)
    yield "conditional inside conditional", sum(len(nested(text, ast.IfExp)) for text in texts.values())
    yield "comment lines per 1,000", round(comments * 1000 / code, 1)
    yield "vague names bound", sum(len(vague_names(text)) for text in texts.values())
    yield "class names that occur twice", sum(count > 1 for count in classes.values())
    yield "module names that occur twice", sum(count > 1 for count in stems.values())


if __name__ == "__main__":
    for name, number in figures():
        print(f"| {name} | {number:,} |")
