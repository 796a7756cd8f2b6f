"""What the site does with the pages of docs/, which are written to be read in a
repository: README.md becomes the first page, what is for tests is left out, and
links to other files of the repository become plain text, or lead to where SOURCE
says that they can be read (make docs-site SOURCE=https://example.org/tidings/blob/main).
"""
import os
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SOURCE = os.environ.get("SOURCE", "").rstrip("/")


def on_config(config):
    """Puts pages that the navigation does not name at the end of their part."""
    config["theme"].static_templates.discard("404.html")  # its links begin at a root that is not known
    parts = {next(iter(part)): part[next(iter(part))] for part in config["nav"]}
    named = str(config["nav"])
    decisions = []
    for page in sorted(DOCS.rglob("*.md")):
        path = page.relative_to(DOCS).as_posix()
        if f"'{path}'" in named:
            continue
        folder = path.partition("/")[0]
        {"howto": parts["How to"], "explanation": parts["Explanation"], "adr": decisions}.get(folder, parts["Reference"]).append(path)
    parts["Explanation"].append({"Decisions": decisions})
    return config


def on_files(files, config):
    """Adds README.md, with its links as seen from docs/."""
    readme = File("index.md", str(ROOT), config["site_dir"], config["use_directory_urls"])
    readme.abs_src_path = str(ROOT / "README.md")
    files.append(readme)
    return files


def on_page_markdown(markdown, page, config, files):
    at = (ROOT if page.file.src_path == "index.md" else DOCS / page.file.src_path).parent
    if page.file.src_path == "index.md":
        at = ROOT
    markdown = re.sub(r"^ *<!-- test:.*?-->\n", "", markdown, flags=re.S | re.M)
    return link.sub(lambda m: rewritten(m, at, page), indented(markdown))


link = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^):\s]+)\)")


def rewritten(match, at, page):
    """A link as the site has it."""
    text, (path, _, heading) = match[1], match[2].partition("#")
    if not path:
        return match[0]
    target = (at / path).resolve()
    if target == ROOT / "README.md":
        path = "index.md"
    elif target.is_relative_to(DOCS) and target.is_file():
        path = target.relative_to(DOCS).as_posix()
    elif target == DOCS / "adr":
        path = "adr/" + min(p.name for p in target.glob("*.md"))
    elif SOURCE:
        return f"[{text}]({SOURCE}/{target.relative_to(ROOT).as_posix()})"
    else:
        return text
    here = "" if page.file.src_path == "index.md" else os.path.dirname(page.file.src_path)
    return f"[{text}]({os.path.relpath(path, here or '.')}{'#' + heading if heading else ''})"


def indented(markdown):
    """Blocks and paragraphs inside of list items, with the four spaces that Python's Markdown wants."""
    lines, deep, fenced = [], None, False
    for line in markdown.split("\n"):
        if re.match(r" {0,3}```", line):
            if not fenced:
                deep = line[: len(line) - len(line.lstrip())] if line.startswith("  ") else None
            lines.append("    " + line.lstrip() if deep else line)
            if fenced and deep:
                lines.append("")
            fenced = not fenced
        elif fenced:
            lines.append("    " + line.removeprefix(deep) if deep else line)
        else:
            lines.append(line)
    return "\n".join(lines)
