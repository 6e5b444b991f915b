#!/usr/bin/env python3
"""embed.py FILE OUT.c [NAME]: the style sheet or script as a C string NAME, else html_style, and its SHA-256, so that the page's
Content-Security-Policy allows this one sheet and nothing else."""
import base64
import hashlib
import re
import sys


def minified(css):
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.S)
    lines = (line.strip() for line in css.splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def c_string(text):
    lines = text.replace("\\", "\\\\").replace('"', '\\"').replace("??", "?\\?").splitlines()
    return "\n".join(f'\t"{line}\\n"' for line in lines)


def main(source, target, name="html_style"):
    with open(source, encoding="utf-8") as f:
        css = minified(f.read())
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    with open(target, "w", encoding="utf-8") as f:
        f.write('#include "reports/html/style.h"\n\n' if name.startswith("html_") else '#include "fleet/assets.h"\n\n')
        f.write(f"const char {name}[] =\n{c_string(css)};\n\n")
        f.write(f'const char {name}_sha256[] = "{digest}";\n')


main(*sys.argv[1:])
