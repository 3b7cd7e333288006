#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# canary.py - plans of markers, files of markers that are wrong, and what canary says of markers that it cannot place
import base64
import collections
import json
import os
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect, one_line_error

with Box() as box:
    def write(name, doc):
        with open(box.path(name), "w", encoding="utf-8") as f:
            f.write(doc if isinstance(doc, str) else json.dumps(doc))
        return name

    # a plan is another one each time, and its note gives it again
    a, b = (box.run("canary", "--plan", "5").stdout.decode() for _ in range(2))
    expect(not {m["marker"] for m in json.loads(a)["markers"]} & {m["marker"] for m in json.loads(b)["markers"]}, "no marker is in two plans")
    again = box.run(*json.loads(a)["note"].split()[1:]).stdout.decode()
    expect(again == a, "the seed of the note gives the same plan")
    expect(box.run("canary", "--plan", "5", "--seed", "7").stdout == box.run("canary", "--plan", "5", "--seed", "7").stdout, "a seed decides")

    line = ("[2026-09-09 14:00:0%d] Finish: obj=GenerateReqInput(rid='%s', text='%s'), "
            "out={'text': '%s', 'meta_info': {'id': '%s', 'prompt_tokens': 5, 'completion_tokens': 3}}\n")
    with open(box.path("engine.log"), "w", encoding="utf-8") as f:
        f.write(line % (1, "request-one-1", "keep first-marker-1", "yes", "request-one-1"))
        f.write(line % (2, "request-one-22", "hello", "somebody said first-marker-1", "request-one-22"))
        f.write(line % (3, "request-two-3", "repeat first-marker-1", "first-marker-1", "request-two-3"))
    box.run("ingest", "case.ptc", "engine.log")

    # a file that is too long to be read is refused by itself
    write("long.json", json.dumps(json.loads(a), indent=1) + " " * (16 << 20))
    row = box.json("ingest", "long.ptc", "long.json", code=(0, 3))["rows"][0]
    expect(row["format"] == "markers" and row["unparsed"] == 1 and row["parsed"] == 0, f"a file of markers over the limit: {row}")

    # an echo is no leak; a leak is named
    write("m.json", {"markers": [{"marker": "first-marker-1", "planted_request": "request-one-1"}]})
    doc = box.json("canary", "case.ptc", "--markers", "m.json", code=1)
    got = {(r["seen_request"], r["part"]): (r["verdict"], r["reason"]) for r in doc["rows"]}
    expect(got[("request-one-22", "answered")] == ("foreign", "not_in_prompt"), f"a leak: {got}")
    expect(got[("request-two-3", "answered")] == ("unknown", "echo_of_prompt"), f"an echo: {got}")
    expect(doc["totals"]["foreign"] == 1 and doc["totals"]["foreign_prompt_not_seen"] == 0 and doc["notes"] == [], f"totals: {doc['totals']}")
    # what another file cannot mean is said, with names, and hides no leak
    write("n.json", {"markers": [{"marker": "first-marker-1", "planted_request": "request-two-3"},
                                 {"marker": "other-marker-1", "planted_request": "request-one"},
                                 {"marker": "other-marker-2", "planted_tenant": "nobody"}]})
    doc = box.json("canary", "case.ptc", "--markers", "n.json", code=1)
    got = {(r["seen_request"], r["part"]): (r["verdict"], r["reason"]) for r in doc["rows"]}
    expect(got[("request-one-22", "answered")][0] == "foreign", f"a third request is neither: {got}")
    expect(got[("request-two-3", "answered")] == ("unknown", "files_contradict"), f"one of the two: {got}")
    expect(len(doc["notes"]) == 3, f"three kinds of trouble: {doc['notes']}")
    text = box.run("canary", "case.ptc", code=1).stdout.decode()
    for word in ("request-one", "nobody", "first-marker-1"):
        expect(word in text.split("NOTE", 1)[1], f"{word} is named: {text}")
    rows = {r["marker"]: r["trouble"] for r in box.json("query", "case.ptc", "planted")["rows"]}
    expect(rows["other-marker-1"] == "request_in_no_log", f"the beginning of an id is no id: {rows}")

    # as others write it, also longer than what is searched for at once, and where the reader's pieces meet
    word, short = "schön/a word-12345678", "qz7Kx9"
    forms = [json.dumps(word)[1:-1], json.dumps(word).replace("/", "\\/")[1:-1], json.dumps(json.dumps(word))[3:-3],
             "".join("\\u%04x" % ord(c) for c in word), "".join("\\\\u%04X" % ord(c) for c in word),
             urllib.parse.quote_plus(word), urllib.parse.quote(word, safe="").lower(), word.encode().hex()]
    short_forms = [base64.b64encode(("x" * n + short + "and so on").encode()).decode() for n in range(3)]
    near = [base64.b64encode(("x" * n + short[:-1] + "8and so on").encode()).decode() for n in range(3)]
    filler = "nothing of note stands here\n" * 1500
    with open(box.path("notes.txt"), "w", encoding="utf-8") as f:
        for _ in range(60):
            f.write("\n".join(forms + short_forms + near) + "\n" + filler)
    write("s.json", {"markers": [{"marker": word}, {"marker": short}]})
    box.run("ingest", "spelled.ptc", "notes.txt", code=(0, 3))
    doc = box.json("canary", "spelled.ptc", "--markers", "s.json")
    got = collections.Counter((r["marker"], r["spelling"]) for r in doc["rows"])
    want = {(word, "json"): 300, (word, "percent"): 120, (word, "hex"): 60, (short, "base64"): 180}
    expect(got == want, f"each form each time: {got}")

    # files that are wrong: refused, said where, and never quietly ingested
    for name, doc, where in (("twice.json", '{"markers":[{"marker":"abcdef","planted_request":"a","planted_request":"b"}]}', "markers[0].planted_request"),
                             ("top.json", '{"markers":[{"marker":"abcdef"}],"note":1,"note":2}', "at note"),
                             ("deep.json", '{"markers":[{"marker":"abcdef"},{"marker":"abcdeg","note":{"by":[0,{"a":1,"b":2,"a":3}]}}]}', "markers[1].note.by[1].a"),
                             ("unknown.json", '{"markers":[{"marker":"abcdef","site":"a","site":"b"}]}', "markers[0].site"),
                             ("short.json", '{"markers":[{"marker":"abc"}]}', "markers[0].marker"),
                             ("torn.json", '{"markers":[{"marker":"abcdefgh"},{"mar', "no JSON")):
        write(name, doc)
        p = box.run("canary", "case.ptc", "--markers", name, code=3)
        one_line_error(p)
        expect(where in p.stderr.decode(), f"{where}: {p.stderr}")
        doc = box.json("ingest", f"{name}.ptc", "engine.log", name, code=3)
        row = [r for r in doc["rows"] if r["path"].endswith(name)][0]
        expect(row["unparsed"] == 1 and "refused" in row["reason"], f"said: {row}")
        doc = box.json("canary", f"{name}.ptc")
        expect(doc["totals"]["marker_files_refused"] == 1 and any("refused" in n for n in doc["notes"]), f"and said again: {doc}")

    # the longest list is known by its beginning
    with open(box.path("long.json"), "wb") as f:
        f.write(box.run("canary", "--plan", "20000").stdout)
    doc = box.json("ingest", "long.ptc", "engine.log", "long.json")
    row = [r for r in doc["rows"] if r["path"].endswith("long.json")][0]
    expect(row["format"] == "markers" and row["unparsed"] == 0 and row["bytes"] > 1 << 20, f"a long list: {row}")
    expect(box.json("canary", "long.ptc")["totals"]["marker_files"] == 1, "and looked for")
