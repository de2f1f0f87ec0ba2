"""Hooks of mkdocs: pages from outside of ``docs``, lists of folders in the navigation, anchors as GitHub has them."""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pymdownx.slugs import slugify

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing/index.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "LICENSE": "license.md",
}
"""Files of the top folder, and what they are called in the site."""
NAMED = ("gallery.md",)
"""Pages of folders that the navigation names itself."""
_LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Lists the pages of folders in the navigation, and makes anchors as GitHub does."""
    config.mdx_configs["toc"]["slugify"] = slugify(case="lower")
    for tab in config.nav or []:
        for pages in tab.values():
            for page in pages:
                if isinstance(page, dict):
                    page.update({title: _folder(path) for title, path in page.items() if not path.endswith(".md")})
    return config


def _folder(path: str) -> list[Any]:
    """Returns the pages of a folder, its README first, each folder inside as a group."""
    folder = ROOT / "docs" / path
    files = sorted(p.name for p in folder.glob("*.md") if p.name not in ("README.md", *NAMED))
    groups = sorted(p.name for p in folder.iterdir() if p.is_dir())
    pages: list[Any] = [f"{path}/README.md"] if (folder / "README.md").exists() else []
    pages += [f"{path}/{name}" for name in files]
    return [*pages, *({name.capitalize(): _folder(f"{path}/{name}")} for name in groups)]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the files of the top folder as pages."""
    for name, uri in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        if not name.endswith(".md"):
            text = f"# {name.capitalize()}\n\n```text\n{text}\n```\n"
        files.append(File.generated(config, uri, content=_moved(text, name, uri)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leads links to files of the top folder to their pages."""
    uri = page.file.src_uri
    return markdown if uri in PAGES.values() else _moved(markdown, f"docs/{uri}", uri)


def _moved(text: str, place: str, uri: str) -> str:
    """Returns the text of a file with its links as they are in the site.

    Args:
        text: The text.
        place: The file, from the top folder.
        uri: Its page.
    """

    def link(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        if "://" in target:
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(place), target))
        page = PAGES.get(path, path.removeprefix("docs/"))
        return f"]({posixpath.relpath(page, posixpath.dirname(uri) or '.')}{anchor})"

    return _LINK.sub(link, text)
