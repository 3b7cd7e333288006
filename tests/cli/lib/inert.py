# SPDX-License-Identifier: Apache-2.0
# inert.py - texts that would do something where they are not seen as text, and whether what the program wrote does nothing
import csv
import io
import json
import os
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

from run import expect

NASTY = ["<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "]]><!-- --><?x ?>", "=HYPERLINK(\"http://x.example\")", "@SUM(1+1)", "+1|cmd", "-2+3",
         "\u202etxt.exe\u2066", "a\x01\x1b[31mb\x7f\x85\u2028c", "&lt;&amp;&#0;&#x202e;", "[l](javascript:alert(1)) `c` **d** | e", "# h\n\n* i\r\n1. j", "\t=1+1",
         "\ufffe\uffff\ufeff", "x" * 1000000, "{{7*7}}${7*7}", "' OR 1=1 --", "%s%n%p"]
INVALID = b"\xff\xfe\xc0\xaf\xed\xa0\x80\xf0\x9f"


class Inert(HTMLParser):
    """No element, attribute or address that does something."""
    ALLOWED = {"html", "data", "head", "meta", "title", "style", "body", "a", "header", "main", "nav", "footer", "section", "h1", "h2", "h3", "p", "b", "span", "small", "strong",
               "code", "ul", "ol", "li", "dl", "dt", "dd", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "time", "details", "summary", "figure",
               "figcaption", "svg", "rect", "text", "title", "desc", "g", "line", "path", "br", "em", "i", "blockquote"}

    def __init__(self, name):
        super().__init__()
        self.name = name

    def handle_starttag(self, tag, attrs):
        expect(tag in self.ALLOWED, f"{self.name}: no <{tag}>")
        for k, v in attrs:
            expect(not k.startswith("on") and k not in ("src", "srcset", "action", "formaction", "xlink:href", "style"), f"{self.name}: no {k}")
            expect(k != "href" or v.startswith("#"), f"{self.name}: no address {v!r}")


def plain(name, data):
    text = data.decode("utf-8")  # strict
    odd = re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufffe\uffff]", text.removeprefix("\ufeff"))
    expect(odd is None, f"{name}: no {odd and ascii(text[max(0, odd.start() - 40):odd.end() + 20])}")
    return text


def check(path, forms):
    name, data = os.path.basename(path), open(path, "rb").read()
    form = next(f for f in (".dsse.json", ".sheet.csv", ".iodef.xml", ".html", ".json", ".md", ".txt", ".csv", ".xml", ".sha256") if name.endswith(f))
    forms[form] = forms.get(form, 0) + 1
    text = plain(name, data)
    if form in (".xml", ".iodef.xml"):
        ET.fromstring(data)
    if form == ".html":
        Inert(name).feed(text)
        expect("Content-Security-Policy" in text and "default-src 'none'" in text, f"{name}: its policy")
        ET.fromstring(re.sub(r"(?s)<style>.*?</style>|<meta[^>]*>|<!DOCTYPE[^>]*>", "", text).replace("&nbsp;", " ").replace("<br>", "<br/>"))
    if form == ".json":
        json.loads(text)
    if form in (".csv", ".sheet.csv"):
        rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True))
        expect(len({len(r) for r in rows}) == 1, f"{name}: columns")
        for cell in (c for r in rows for c in r if form == ".sheet.csv"):
            expect(not cell[:1] in tuple("=+-@\t\r") or re.fullmatch(r"-?[\d.]+", cell), f"{name}: no formula {cell[:40]!r}")
    if form == ".md":
        bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", text)
        expect(not re.search(r"[<>`\[\]*_&]|https?:|www\.|javascript:", bare), f"{name}: no markup of the case")
        expect(not re.search(r"(?m)^(#+ (h|i|j)$|\* i|1\. j)", bare), f"{name}: no line of its own")
    expect(len(data) < 30000000, f"{name}: long names to be cut: {len(data)} bytes")
