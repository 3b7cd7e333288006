# SPDX-License-Identifier: Apache-2.0
# page.py - what every page and document of a report must be: valid, inert, and the page with all that the document says
import html.parser
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

from run import expect

NS = "{urn:pagetrail:report:1}"
RNG = os.path.abspath("reports/report.rng")
VOID = {"meta", "br", "hr", "img", "input", "link", "col", "wbr"}


class Page(html.parser.HTMLParser):
    """Text of each section, and whether the tags are balanced."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.sections, self.at, self.data, self.tags, self.hrefs, self.ids = [], {}, [], [], set(), [], []
        self.feed(text)
        self.close()
        expect(not self.open, f"every tag to be closed, open: {self.open}")

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.add(tag)
        if attrs.get("id"):
            self.ids.append(attrs["id"])
        self.hrefs += [attrs[k] for k in ("href", "src", "xlink:href") if k in attrs]
        expect(not any(k.startswith("on") or k == "style" for k in attrs), f"no handler and no style in <{tag}>")
        if tag not in VOID:
            self.open.append(tag)
        if tag == "section":
            self.at.append(attrs["id"])
            self.sections.setdefault(attrs["id"], [])
        if tag == "data" and self.at:
            self.data.append((self.at[-1], attrs["value"]))

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        expect(self.open and self.open[-1] == tag, f"</{tag}> to close the last open tag, not {self.open[-1:]}")
        self.open.pop()
        if tag == "section":
            self.at.pop()

    def handle_data(self, data):
        if self.at:
            self.sections[self.at[-1]].append(data)

    def text(self, section):
        return " ".join("".join(self.sections[section]).split())


def squeeze(text):
    return " ".join(text.split())


def check_schema(path):
    """By another program than our own, where somebody has it."""
    if shutil.which("xmllint"):
        p = subprocess.run(["xmllint", "--noout", "--nonet", "--relaxng", RNG, path], capture_output=True)
        expect(p.returncode == 0, f"xmllint to accept {path}: {p.stderr.decode()[-400:]}")


def check_inert(xml, page):
    for data in (xml, page):
        text = data.decode("utf-8")  # strict
        expect(not re.search("[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufffe\uffff]", text), "no control character")
    text = page.decode()
    parsed = Page(text)
    expect(not parsed.tags & {"script", "link", "iframe", "object", "embed", "img", "base", "form"}, f"nothing that loads or runs: {parsed.tags}")
    expect(all(h.startswith("#") for h in parsed.hrefs), "links into the page itself alone")
    expect(all(h[1:] in parsed.ids for h in parsed.hrefs), "every link to have its target")
    expect(len(parsed.ids) == len(set(parsed.ids)), "ids to be unique")
    for section in parsed.sections:
        many = re.search(r"(?<![\w.,#-])1 ((known |named |affected |log )?(responses|requests|records|sources|gaps|conflicts|tenants|customers|replicas|"
                         r"workers|files|rows|facts|items|columns|tables|paths|\w+-seconds)|are|were|have)\b.{,40}", parsed.text(section))
        expect(not many, f"one to be one in {section}: {many and many[0]}")
        glued = re.search(r".{,20}[\d)](is|are|was|were)\b", parsed.text(section))
        expect(not glued, f"a blank before each word in {section}: {glued and glued[0]}")
    css = "".join(re.findall(r"<style>(.*?)</style>", text, re.S))
    for word in ("@import", "url(", "expression"):
        expect(word not in css, f"no {word} in the style")
    expect("http:" not in re.sub(r"&[a-z]+;", "", css) and "https:" not in css, "no address in the style")
    expect("default-src 'none'" in text, "a strict content security policy")
    return parsed


def check_complete(xml, parsed):
    """Each section, number, limit, blank and printed row of the document stands in the page."""
    root = ET.fromstring(xml)
    for section in root.findall(NS + "section"):
        name = section.get("id")
        expect(name in parsed.sections, f"section {name} in the page")
        text = parsed.text(name)
        expect(squeeze(section.find(NS + "text").text) in text, f"the words of section {name}")
        for table in section.findall(NS + "table"):
            rows, printed = table.findall(NS + "row"), int(table.get("page-rows"))
            columns = table.findall(NS + "column")
            expect(all(len(r) == len(columns) for r in rows), f"{name}: a cell for each column")
            expect(table.get("truncated") == "true" or len(rows) == int(table.get("rows")), f"{name}: every row in the document")
            if not rows:
                expect(table.get("empty-means") in text, f"{name}: what 0 rows mean")
            for row in rows[:printed]:
                for column, cell in zip(columns, row):
                    value = squeeze("".join(cell.itertext()))
                    if column.get("shown") != "true" or not value or len(cell):
                        continue
                    if column.get("type") == "time":
                        value = value.replace("T", " ")
                    if column.get("style") == "count":
                        value = f"{int(value):,}"
                    if column.get("style") == "code":
                        value = value.replace("_", " ")
                    expect(value in text, f"{name}: {column.get('name')} = {value!r} in the page")
        for figure in section.findall(NS + "figure"):
            expect(figure.find(NS + "desc").text in text, f"{name}: the figure in words")
            expect({"svg", "rect", "title", "desc"} <= parsed.tags, "a figure")
    for limit in root.find(NS + "limits"):
        expect(squeeze(limit.text) in parsed.text("limits"), f"limit {limit.get('id')}")
    blanks = root.find(NS + "blanks")
    expect(len(blanks) == int(blanks.get("count")), "the blanks to be counted")
    expect(parsed.text("people").count("[TO BE COMPLETED: ") == len(blanks), "every blank to be visible")
    return root


def numbers_of(root):
    return {n.get("id"): int(n.get("value")) for n in root.find(NS + "numbers").findall(NS + "number")}
