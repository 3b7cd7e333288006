#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# pictures.py - timeline, and the pictures: well-formed, inert, the same twice, equal to their table, bounded and saying so
import html
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect, one_line_error

SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {SVG + t for t in ("svg", "title", "desc", "defs", "pattern", "rect", "circle", "path", "text", "g")}
HIDDEN = re.compile("[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]")


def svg(box, *args, name="p.svg"):
    """Draws to a file and to standard output; both are the same, well-formed and inert. Gives the root."""
    box.run(*args, "--svg", name)
    data = open(box.path(name), "rb").read()
    expect(box.run(*args, "--svg").stdout == data, f"{args}: the same bytes")
    text = data.decode("utf-8")
    expect(not HIDDEN.search(text), f"{args}: no hidden character")
    root = ET.fromstring(text)
    if shutil.which("xmllint"):
        p = subprocess.run(["xmllint", "--noout", "--nonet", box.path(name)], capture_output=True)
        expect(p.returncode == 0, f"xmllint to accept {args}: {p.stderr.decode()[-400:]}")
    expect(root.get("role") == "img", "role img")
    expect(root.find(SVG + "title").text and root.find(SVG + "desc").text, "title and desc")
    named = root.get("aria-labelledby").split()
    expect(named == [root.find(SVG + t).get("id") for t in ("title", "desc")], "both to name the image")
    expect("pagetrail query CASE" in root.find(SVG + "desc").text, "desc to name the table")
    for e in root.iter():
        expect(e.tag in ALLOWED, f"no element {e.tag}")
        for key, value in e.attrib.items():
            expect(not key.startswith("on") and "href" not in key and key != "style", f"no attribute {key}")
            expect("url(" not in value or value.startswith("url(#pt-"), f"no reference out of the file: {value}")
    w, h = (int(x) for x in root.get("viewBox").split()[2:])
    expect(w == 1000, "as wide as a page")
    heading = next(root.iter(SVG + "text"))
    expect(len(heading.text) < 140 and (heading.text == root.find(SVG + "title").text or heading.text.endswith("\u2026")), f"a heading that fits: {heading.text}")
    for e in root.iter(SVG + "text"):
        expect(0 <= int(e.get("x")) <= w and 0 <= int(e.get("y")) <= h, f"words inside of the picture: {e.text}")
        expect(int(e.get("font-size")) >= 11, "letters to be legible")
    return root


def tips(root, pattern):
    return [m for e in root.iter(SVG + "title") for m in [re.match(pattern, e.text or "")] if m]


def words(root):
    return [e.text or "" for e in root.iter(SVG + "text")]


def table_of_desc(box, root, case):
    """Runs the command that the picture names."""
    command = re.search(r"pagetrail (query CASE .*)$", root.find(SVG + "desc").text).group(1)
    out = subprocess.run(["sh", "-c", f'printf "%s\\0" {command}'], capture_output=True).stdout.decode().split("\0")[:-1]
    return box.json(*[case if a == "CASE" else a for a in out])["rows"]


def key(at):
    """Times with and without a fraction, in order."""
    return at.rstrip("Z")


def timeline(box):
    rows = box.json("timeline", "case.ptc")["rows"]
    expect([r["at"] for r in rows] == sorted((r["at"] for r in rows), key=key), "order of time")
    expect({"boot_started", "leg_started", "leg_ended", "response_started", "response_ended"} <= {r["what"] for r in rows}, "every sort")
    lines = box.run("timeline", "case.ptc", "--jsonl").stdout.decode().splitlines()
    expect([json.loads(x) for x in lines] == rows, "--jsonl to hold the same rows")
    request = box.json("scope", "case.ptc", "--class", "C1", code=1)["rows"][0]
    own = box.json("timeline", "case.ptc", "--request", request["request"])["rows"]
    expect(own == [r for r in rows if r["request"] == request["request"]], "--request: what that request did")
    expect(box.json("timeline", "case.ptc", "--request", request["aliases"][0])["rows"] == own, "by any alias")
    at = box.json("timeline", "case.ptc", "--worker", request["decode_worker"])["rows"]
    expect(at == [r for r in rows if r["worker"] == request["decode_worker"]], "--worker: what happened there")

    near = box.json("timeline", "case.ptc", "--around", request["request"], "--margin", "0")
    expect([r for r in near["rows"] if r["request"] == request["request"]] == own, "--around with no margin to hold the request whole")
    first, last = own[0]["at"], own[-1]["at"]
    expect(all(key(first) <= key(r["at"]) <= key(last) or r["what"] == "gap" for r in near["rows"]), "and nothing before or after it")
    wide = box.json("timeline", "case.ptc", "--around", request["request"])
    expect(len(wide["rows"]) >= len(near["rows"]) and key(wide["params"]["since"]) < key(first), "a margin without --margin")
    part = box.json("timeline", "case.ptc", "--since", first, "--until", last)["rows"]
    expect(part == [r for r in rows if key(first) <= key(r["at"]) < key(last)], "a half open window")

    for args in (("--around", request["request"], "--since", "2026-01-01"), ("--margin", "5"), ("--around", "x", "--margin", "-1"),
                 ("--since", "yesterday"), ("--since", "yesterday", "--svg"), ("--request", request["request"], "--svg"), ("--svg", "a", "--svg", "b")):
        one_line_error(box.run("timeline", "case.ptc", *args, code=2))
    for args in (("--worker", "nowhere"), ("--request", "nobody-at-all"), ("--around", "nobody-at-all")):
        one_line_error(box.run("timeline", "case.ptc", *args, code=3))


def lanes(box):
    root = svg(box, "timeline", "case.ptc")
    rows = table_of_desc(box, root, "case.ptc")
    expect(rows, "rows behind the picture")
    drawn = {}
    for m in tips(root, r"(?:(\d+) responses )?(C\d) [a-z ]+, begun "):
        drawn[m.group(2)] = drawn.get(m.group(2), 0) + int(m.group(1) or 1)
    want = {}
    for r in rows:
        if r["what"] == "response":
            want[r["kind"]] = want.get(r["kind"], 0) + 1
    expect(drawn == want and want, f"a mark for each response of the table: {want}, drawn {drawn}")
    scope = box.json("scope", "case.ptc", code=(0, 1))["totals"]
    expect(all(scope[k] == n for k, n in want.items()), f"the responses of scope: {scope}")
    for what, tip in (("boot", r"start "), ("coverage", r"records "), ("exposed_window", r"exposed window "), ("recipient_window", r"recipient window ")):
        n = sum(r["what"] == what and r["from"] is not None for r in rows)
        expect(n and len(tips(root, tip)) == n, f"{n} of {what}, drawn {len(tips(root, tip))}")
    for r in rows:
        if r["what"] == "coverage":
            expect(r["worker"] in words(root), f"a lane for {r['worker']}")
    pool = next(r["pool_tokens"] for r in rows if r["what"] == "boot")
    expect(any(f"pool {pool:,}" in w for w in words(root)), "limits beside a start")
    worker = rows[0]["worker"]
    one = svg(box, "timeline", "case.ptc", "--worker", worker)
    expect({r["worker"] for r in table_of_desc(box, one, "case.ptc")} == {worker}, "one worker's lane")
    svg(box, "timeline", "case.ptc", "--since", "2099-01-01")
    svg(box, "timeline", "case.ptc", "--until", "1999-01-01T00:00:00.5Z")
    wide = words(svg(box, "timeline", "case.ptc", "--since", "1700-01-01", "--until", "2262-01-01"))
    expect({"1770", "1870", "1970", "2069", "2169"} <= set(wide), f"an axis over centuries to be labelled to its end: {wide}")
    box.run("init", "empty.ptc")
    expect("nothing that is to be drawn has a known time" in words(svg(box, "timeline", "empty.ptc")), "an empty case to be said")
    expect(not dot(box, "exposures", "empty.ptc")[1], "an empty graph")


def gaps(box):
    root = svg(box, "timeline", "messy.ptc")
    rows = table_of_desc(box, root, "messy.ptc")
    timed = [r for r in rows if r["what"] == "gap" and (r["from"] or r["to"])]
    expect(len(timed) > 5 and len(tips(root, "gap ")) == len(timed), f"every gap to be hatched: {len(timed)}")
    for kind in {r["kind"] for r in timed}:
        expect(any(f"gap: {kind}" in w for w in words(root)), f"the kind {kind} beside its gap")
    listed = box.json("timeline", "messy.ptc")["rows"]
    within = next(r for r in listed if r["what"] == "gap" and r["until"] and key(r["until"]) > key(r["at"]))
    inside = box.json("timeline", "messy.ptc", "--since", within["until"])["rows"]
    expect(any(r["refs"] == within["refs"] and r["at"] == within["at"] for r in inside), "a gap that reaches into the window to be listed")


def many_workers(box):
    lines = []
    for i in range(120):
        lines.append(json.dumps({"v": 1, "ts": 1788256800 + i, "seq": 0, "worker": f"w{i:03d}", "op": "boot", "page_size": 64, "pool_pages": 8}))
    box.write("many/pages.jsonl", "\n".join(lines) + "\n")
    box.run("ingest", "many.ptc", "many")
    root = svg(box, "timeline", "many.ptc")
    said = " ".join(words(root))
    expect(sum(bool(re.fullmatch(r"w\d{3}", w)) for w in words(root)) == 40, "a bounded number of lanes")
    expect("Workers without a lane here: 80 of 120" in said, f"what is left out to be said: {said[-400:]}")


NAMES = ["<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "]]><!--", "\u202etxt.exe\u2066", "a\x01\x1b[31mb\x7f\x85", "&lt;&amp;&#0;",
         "back\\slash\\\"; digraph{x}", "x" * 1000000, "\ufffe\U0001f600", "line\nbreak\r\\n\\l"]


def hostile(box):
    lines, pages = [], []
    for i, name in enumerate(NAMES):
        lines.append(json.dumps({"start_time": f"2026-09-01T10:00:{i:02d}.500Z", "request_id": f"id-{i}-" + name[:4000], "tenant": name, "model": name,
                                 "path": "/v1/chat/completions", "status": 200, "duration": 1200, "prompt_tokens": 700000 + i,
                                 "completion_tokens": 12, "bytes_sent": 900}).encode())
    def page(op, **more):
        pages.append(json.dumps({"v": 1, "ts": 1788256800 + len(pages), "seq": len(pages), "worker": "<w>&\"'\u202e\\", "op": op, **more}))
    page("boot", page_size=64, pool_pages=1024)
    for i, name in enumerate(NAMES):
        rid = f"id-{i}-" + name[:4000]
        page("alloc", rid=rid, pages=[[0, 8 + i]])
        page("read", rid=rid, pages=[[0, 8 + i]])
        page("write", rid=rid, pages=[[0, 8 + i]])
        page("free", rid=rid, pages=[[0, 8 + i]])
    box.write("logs <b>&\u202e/gate]]>way.jsonl", b"\n".join(lines) + b"\n")
    box.write("logs <b>&\u202e/<script>.pages.jsonl", "\n".join(pages) + "\n")
    box.write("logs <b>&\u202e/noise\x01\n.bin", os.urandom(3000))
    box.run("init", "h.ptc", "--id", "<CASE>&\"]]>", "--title", "<script>alert('title')</script>\u202e")
    box.run("ingest", "h.ptc", "logs <b>&\u202e", code=(0, 1, 3))
    root = svg(box, "timeline", "h.ptc")
    expect("<CASE>&\"]]>" in root.find(SVG + "title").text, "the case to be named as text")
    worker = next(r["worker"] for r in box.json("query", "h.ptc", "workers")["rows"])
    narrow = svg(box, "timeline", "h.ptc", "--worker", worker)
    expect({r["worker"] for r in box.json("query", "h.ptc", "lanes", "--param", f"worker={worker}")["rows"]} == {worker}, "a hostile name as a parameter")
    expect(narrow is not None and os.path.getsize(box.path("p.svg")) < 200000, "long names to be cut")


def pages(box):
    """Every page of the table stands in a band, every owner in the list; times of other requests are in the words."""
    for case, rows in (("case.ptc", box.json("exposures", "case.ptc", code=1)["rows"]), ("messy.ptc", box.json("exposures", "messy.ptc", code=1)["rows"])):
        for side in ("reader_request", "owner_request"):
            most = max((r for r in rows if r["kind"] == "stale" or case == "case.ptc"), key=lambda r: (r["pages"], r[side]))
            root = svg(box, "lineage", case, most[side])
            table = table_of_desc(box, root, case)
            expect(table == box.json("query", case, "lineage_pages", "--param", f"request={most[side]}")["rows"], "the table by name")
            held = {(r["worker"], r["pool"], p) for r in table if r["pages"] for p in range(r["first_page"], r["first_page"] + r["pages"])}
            drawn = 0
            for m in [re.match(r"(?:page (\d+)|pages (\d+)\u2013(\d+))( \+\d+ runs)?$|(\d+) pages?$|others", w) for w in words(root)]:
                if m and m[5]:
                    drawn += int(m[5]) - last
                elif m and (m[1] or m[2]):
                    last = 1 if m[1] else int(m[3]) - int(m[2]) + 1
                    drawn += last
            whole = not any("runs" in w or w.startswith("others") for w in words(root))
            expect(drawn <= len(held) and (drawn == len(held) or not whole), f"{most[side]}: {len(held)} pages, {drawn} in bands")
            owners = {r["other_request"] for r in table if r["what"] == "read_from" and r["other_request"]}
            said = " ".join(words(root))
            listed = [w for w in words(root) if w.startswith("content of ") and "first read" in w]
            expect(len(listed) == min(len(owners), 24), f"{len(owners)} owners, listed {len(listed)}")
            expect(len(owners) <= 24 or f"Owners without a letter: {len(owners) - 24}" in said, "owners that are not listed to be counted")
            readers = {r["other_request"] for r in table if r["what"] == "read_by"}
            expect(sum(w.startswith("read by ") for w in words(root)) == min(len(readers), 6), "later readers to be named")
            foreign = any(r["what"] == "read_from" for r in table)
            expect(bool(tips(root, "reads of content that is not its own")) == foreign, "foreign reads to be marked")
            for what, tip in (("alloc", "taken"), ("free", "given back"), ("read", "reads: "), ("read_by", "its content read by")):
                expect(bool(tips(root, tip)) == any(r["what"] == what for r in table), f"{what} to be marked")
    one_line_error(box.run("lineage", "case.ptc", rows[0]["reader_request"] + "nobody", "--svg", code=3))
    one_line_error(box.run("lineage", "case.ptc", "x", "--svg", "--dot", code=2))
    quiet = next(r for r in box.json("query", "messy.ptc", "scope", "--param", "class=C3")["rows"] if not r["decode_worker"])
    expect("No page log names this request" in " ".join(words(svg(box, "lineage", "messy.ptc", quiet["request"]))), "an empty picture to say why")


def fates(box):
    """A request whose every page fares differently: bands are bounded, and the picture says how."""
    lines = [{"v": 1, "ts": 1788256800, "seq": 0, "worker": "w", "op": "boot", "page_size": 64, "pool_pages": 100000}]

    def add(op, rid, runs, seconds=1.0):
        lines.append({"ts": lines[-1]["ts"] + seconds, "seq": len(lines), "worker": "w", "op": op, "rid": rid, "pages": runs})
    for i in range(300):
        add("alloc", f"owner-{i}", [[i * 10, 5]])
        add("write", f"owner-{i}", [[i * 10, 5]])
        add("free", f"owner-{i}", [[i * 10, 5]])
    for i in range(300):
        add("alloc", "the-reader", [[i * 10, 5]], 0.25)
    for _ in range(50):
        add("read", "the-reader", [[i * 10, 5] for i in range(300)], 0.5)
    del lines[-20]  # a hole
    add("free", "the-reader", [[i * 10, 5] for i in range(300)])
    box.write("fates/w.pages.jsonl", "\n".join(map(json.dumps, lines)) + "\n")
    box.run("ingest", "fates.ptc", "fates")
    root = svg(box, "lineage", "fates.ptc", "the-reader")
    said = " ".join(words(root))
    expect("pages fared in 300 ways" in said and "Owners without a letter: 276" in said, f"grouping to be said: {said[-500:]}")
    expect(int(root.get("height")) < 1600 and os.path.getsize(box.path("p.svg")) < 200000, "a bounded picture")
    expect(tips(root, "gap: sequence") and "gaps: sequence" in said, "the hole to be hatched and named")


def dot(box, *args, code=0):
    """A graph: quoted strings and plain words alone, and what graphviz makes of it where it is installed (nodes and edges with labels)."""
    text = box.run(*args, "--dot", code=code).stdout.decode("utf-8")
    box.run(*args, "--dot", "g.dot", code=code)
    expect(open(box.path("g.dot"), encoding="utf-8").read() == text, f"{args}: the same bytes")
    expect(not HIDDEN.search(text), f"{args}: no hidden character")
    bare = re.sub(r'"(?:[^"\\\n]|\\.)*"', "", text)
    expect(re.fullmatch(r"[\sa-z_A-Z0-9{}\[\],;=>-]*", bare) and "URL" not in bare, f"nothing outside of quotes but our own words: {bare[:300]}")
    expect("pagetrail query CASE" in text, "the graph to name the table")
    names = dict(re.findall(r'^\t+(n\d+) \[(?:[a-z=, ]*)label="((?:[^"\\]|\\.)*)"', text, re.M))
    edges = re.findall(r'^\t(n\d+) -> (n\d+) \[(.*)label="((?:[^"\\]|\\.)*)"\];$', text, re.M)
    expect(all(a in names and b in names for a, b, _, _ in edges), "edges between nodes that there are")
    expect(text.count(" -> ") == len(edges) or "\\" in text, "every edge to be read")
    if not shutil.which("dot"):
        print("graphviz is not installed: graphs are not drawn")
        return names, edges, None
    p = subprocess.run(["dot", "-Tjson", box.path("g.dot")], capture_output=True)
    expect(p.returncode == 0 and not p.stderr, f"graphviz to read {args}: {p.stderr.decode()[-400:]}")
    drawn = json.loads(p.stdout)
    expect(len(drawn.get("edges", [])) == len(edges), "graphviz to see the same edges")
    expect(subprocess.run(["dot", "-Tsvg", box.path("g.dot")], capture_output=True).returncode == 0, "graphviz to draw")
    return names, edges, drawn


def graphs(box):
    rows = box.json("exposures", "case.ptc", code=1)["rows"]
    names, edges, _ = dot(box, "exposures", "case.ptc", code=1)
    got = sorted((names[a], names[b], label.split("\\n")[0]) for a, b, _, label in edges)
    want = sorted((r["owner_request"], r["reader_request"], f"{r['kind']}, {r['pages']} page{'s' * (r['pages'] != 1)}") for r in rows)
    expect(got == want, f"an edge for each row: {want[:3]}, drawn {got[:3]}")
    text = open(box.path("g.dot"), encoding="utf-8").read()
    for tenant in {r["owner_tenant"] for r in rows} | {r["reader_tenant"] for r in rows}:
        expect(text.count(f'label="{tenant}"') == 1, f"a box for {tenant}")
    none = dot(box, "exposures", "case.ptc", "--kind", "shared", code=1)
    expect(not none[1], "a graph of nothing")

    reader = rows[0]["reader_request"]
    names, edges, _ = dot(box, "lineage", "case.ptc", reader)
    lineage = box.json("lineage", "case.ptc", reader)["rows"]
    for r in lineage:
        if r["what"] == "leg":
            expect(any(n.startswith(f"{r['role']} leg at {r['worker']}") for n in names.values()), f"the leg at {r['worker']}")
    reads = [r for r in lineage if r["what"] in ("read_from", "read_by")]
    expect(reads and len(edges) == len(reads) + sum(r["what"] == "leg" for r in lineage), "an edge for each leg and read")
    for r in reads:
        expect(any(names[a] == r["other_request"] and names[b].startswith("decode leg at " + r["worker"]) for a, b, _, _ in edges), f"{r}")

    # too many for one look: by tenant, the sums of the table, and said
    box.run("simulate", "s", "--scenario", "prefix_share", "--seed", "7", "--requests", "2000")
    box.run("ingest", "share.ptc", "s/logs")
    rows = box.json("exposures", "share.ptc")["rows"]
    names, edges, _ = dot(box, "exposures", "share.ptc")
    text = open(box.path("g.dot"), encoding="utf-8").read()
    expect(len(rows) > 100 and f"Drawn together by tenant: {len(rows)} reads" in text, "drawing together to be said")
    expect(len(edges) <= 60, f"arrows that can be followed: {len(edges)}")
    expect(all("style=dashed" in style for _, _, style, _ in edges), "shared to be dashed")
    reads = sum(int((re.search(r"(\d+) reads", label) or [0, 1])[1]) for *_, label in edges)
    pages = sum(int(re.search(r"(\d+) pages?", label)[1]) for *_, label in edges)
    expect((reads, pages) == (len(rows), sum(r["pages"] for r in rows)), f"nothing lost: {reads} reads, {pages} pages")
    kept = {n.split("\\n")[0] for n in names.values()}
    merged = next(int(m[1]) for n in names.values() for m in [re.match(r"(\d+) other tenants", n)] if m)
    tenants = {r["owner_tenant"] for r in rows} | {r["reader_tenant"] for r in rows}
    expect(len(kept) - 1 + merged == len(tenants), f"every tenant, by name or counted: {len(tenants)}, {len(kept)}, {merged}")


def hostile_graphs(box):
    rows = box.json("exposures", "h.ptc", code=(0, 1))["rows"]
    expect({r["reader_tenant"] for r in rows} >= {NAMES[0], NAMES[6]}, "reads by hostile names")
    names, edges, drawn = dot(box, "exposures", "h.ptc", code=(0, 1))
    expect(len(edges) == len(rows), "an edge for each read")
    if drawn:
        labels = {o.get("label", "") for o in drawn["objects"]}
        # graphviz gives labels with their escapes; what it shows is the name as text
        shown = {html.unescape(re.sub(r"\\(.)", r"\1", x)) for x in labels}
        expect("<script>alert(1)</script>" in shown and "&lt;&amp;&#0;" in shown, f"names to be shown as they are: {shown}")
        expect(any("digraph{x}" in x for x in shown), "a name that looks like DOT to be text")
    for r in rows:
        dot(box, "lineage", "h.ptc", r["reader_request"])
        svg(box, "lineage", "h.ptc", r["reader_request"])


def files(box):
    before = open(box.path("case.ptc"), "rb").read()
    message = one_line_error(box.run("timeline", "case.ptc", "--svg", "case.ptc", code=2))
    expect("not written over" in message and open(box.path("case.ptc"), "rb").read() == before, "a case not to be written over")
    for args in (("timeline", "case.ptc", "--svg", "--json"), ("exposures", "case.ptc", "--dot", "--limit", "1"), ("lineage", "case.ptc", "x", "--dot", "--csv")):
        one_line_error(box.run(*args, code=2))
    one_line_error(box.run("timeline", "case.ptc", "--svg", "no/such/folder.svg", code=3))
    os.makedirs(box.path("taken"))
    one_line_error(box.run("timeline", "case.ptc", "--svg", "taken", code=3))
    expect(not [n for n in os.listdir(box.dir) if n.startswith("taken.")], "no partial file beside a place that is taken")
    expect(b"<svg" in box.run("timeline", "case.ptc", "--svg", "-").stdout, "- to be standard output")
    expect(b"<svg" not in box.run("timeline", "case.ptc", "--svg", "file.svg").stdout, "nothing on standard output")
    # a pipe takes the bytes, and stays one; what takes nothing is an error
    os.mkfifo(box.path("pipe"))
    with subprocess.Popen(["cat", box.path("pipe")], stdout=subprocess.PIPE) as reader:
        box.run("timeline", "case.ptc", "--svg", "pipe")
        expect(b"<svg" in reader.communicate()[0] and stat.S_ISFIFO(os.stat(box.path("pipe")).st_mode), "a pipe to be written through")
    os.symlink("/dev/full", box.path("full"))
    one_line_error(box.run("timeline", "case.ptc", "--svg", "full", code=3))
    expect(os.path.islink(box.path("full")) and stat.S_ISCHR(os.stat("/dev/full").st_mode), "a device to stay one")


with Box() as box:
    box.run("simulate", "r", "--scenario", "late_write", "--seed", "3", "--requests", "2000")
    box.run("ingest", "case.ptc", "r/logs")
    box.run("simulate", "m", "--scenario", "messy", "--seed", "3", "--requests", "2000")
    box.run("ingest", "messy.ptc", "m/logs", code=(0, 3))
    timeline(box)
    lanes(box)
    gaps(box)
    many_workers(box)
    pages(box)
    fates(box)
    graphs(box)
    hostile(box)
    hostile_graphs(box)
    files(box)
