#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# live.py - snapshot against nodes that behave and nodes that do not: what is kept, told and counted, and what never is
import base64
import contextlib
import json
import os
import socket
import ssl
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from run import Box, expect, one_line_error
from stub import Stub, answer, not_there, pieces_without_end, sglang, slow, vllm

KEY = "Bearer tk-0123456789-never-to-be-seen"
FAST = ("--connect-timeout", "0.5", "--timeout", "1", "--max-bytes", "20000")
BAD_ENV = {k: "http://127.0.0.1:1" for k in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")}


def closed_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def by_node(doc):
    rows = {}
    for r in doc["rows"]:
        rows.setdefault(r["node"], []).append(r)
    return rows


def nowhere(box, case, *secrets):
    """Neither in the file of the case as it is, nor in anything that it holds."""
    raw = open(box.path(case), "rb").read()
    for s in secrets:
        expect(s.encode() not in raw, f"{s} not in the file of the case")
        expect(not box.json("grep", case, s)["rows"], f"{s} in no record")
        expect(s not in box.run("journal", case, "--json").stdout.decode(), f"{s} not in the journal")


def unanswered(box, case):
    return {r["effect"].split(" was asked")[0]: r for r in box.json("gaps", case, code=(0, 1))["rows"] if r["kind"] == "unanswered"}


def healthy(box):
    extra = {"api_key": "sk-key-of-the-engine", "note": 'a "quoted" \\ word', "nested": {"admin_api_key": "sk-second-key"}}
    with Stub(sglang(extra=extra)) as new, Stub(sglang(version="0.5.21", older=True)) as old:
        # a proxy of the environment is not used
        p = box.run("snapshot", "ok.ptc", f"prefill-0={new.url}", f"old-0={old.url}/", "--json", "--header-file", "headers", env=BAD_ENV)
        doc = json.loads(p.stdout)
        expect(doc["totals"]["answered"] == 2 and doc["totals"]["not_answered"] == 0, f"both answered: {doc['totals']}")
        rows = by_node(doc)
        expect({(r["document"], r["outcome"]) for r in rows["prefill-0"]} ==
               {(d, "answered") for d in ("server_info", "model_info", "models", "metrics")}, f"four documents: {rows['prefill-0']}")
        expect([r["outcome"] for r in rows["old-0"] if r["document"] == "server_info"] == ["not_there", "answered"], "the older name is asked next")
        for r in rows["prefill-0"]:
            expect(r["peer"] == f"127.0.0.1:{new.port}" and r["status"] == 200 and r["at"] and r["tls"] is None, f"peer and time: {r}")
        expect({a[1].get("authorization") for a in new.asked} == {KEY}, "the header is sent")
        expect(all(a[1]["user-agent"].startswith("pagetrail/") for a in new.asked), "says who asks")

        # the bytes as they came, but for keys
        body = new.behave.pages["/server_info"]
        for key in ("sk-key-of-the-engine", "sk-second-key"):
            body = body.replace(key, "x" * len(key))
        ref = next(r for r in rows["prefill-0"] if r["document"] == "server_info")
        expect(body.encode() in box.run("show", "ok.ptc", ref["ref"]).stdout and ref["bytes"] == len(body), "the exact bytes")
        expect(ref["masked"] == 2, f"and the keys are counted: {ref}")
        nowhere(box, "ok.ptc", KEY, KEY.split()[1], "sk-key-of-the-engine", "sk-second-key")
        expect(KEY.split()[1] not in p.stdout.decode() + p.stderr.decode(), "nor printed")

        # it counts as said by the process
        rows = {r["replica"]: r for r in box.json("deploy", "ok.ptc", code=(0, 1))["rows"]}
        expect(set(rows) == {"prefill-0", "old-0"}, f"two replicas and no other: {set(rows)}")
        for name, version in (("prefill-0", "0.5.22"), ("old-0", "0.5.21")):
            r = rows[name]
            expect((r["rung"], r["version"], r["pool_tokens"], r["context_len"]) == ("L4", version, 681280, 1048576), f"L4: {r}")
            expect(r["evidence_at"], f"dated: {r}")
        # another engine has no /server_info, which is no fault
        with Stub(vllm()) as other:
            doc = box.json("snapshot", "vllm.ptc", f"v-0={other.url}")
            expect([r["outcome"] for r in doc["rows"]] == ["not_there"] * 4 + ["answered"] * 2, f"vLLM: {doc['rows']}")
            r = box.json("deploy", "vllm.ptc", code=1)["rows"][0]
            expect((r["replica"], r["engine"], r["pool_tokens"], r["context_len"]) == ("v-0", "vllm", 681280, 1048576), f"vLLM: {r}")
        # the same bytes later are new evidence
        box.run("snapshot", "ok.ptc", f"prefill-0={new.url}")
        n = len([s for s in box.json("info", "ok.ptc")["sources"] if s["format"] == "sglang-server-info"])
        expect(n == 3, f"three snapshots: {n}")
        for case in ("ok.ptc", "vllm.ptc"):
            expect(not unanswered(box, case), f"a path that is not there is no gap: {unanswered(box, case)}")
        box.run("verify", "ok.ptc")
        text = box.run("snapshot", "ok.ptc", f"prefill-0={new.url}").stdout.decode()
        expect("1 node: 1 answered" in text, f"a table for people: {text}")


def spelled_keys(box):
    """A key that a node repeats in another spelling is in nothing that is kept or said."""
    key, each = KEY.split()[1], "".join(f"\\u{ord(c):04X}" for c in KEY.split()[1])
    b64 = [base64.b64encode(b"-" * k + key.encode() + b"==").decode() for k in range(3)]
    body = json.loads(sglang()("/server_info", {}, b"").split(b"\r\n\r\n", 1)[1])
    text = json.dumps({**body, "API_KEY": "AN-UPPER", "openai_api_key": ["IN-LIST"], "HF-Token": "A-TOKEN", "eos_token": "</s>",
                       "argv": ["--api-key", "NEXT-ONE", "--x", "kept-arg"], "command": "serve --admin-api-key BEHIND-IT --api-key=BEHIND-EQ --port 1",
                       "b": b64, "hex": key.encode().hex(), "percent": "".join(f"%{ord(c):02x}" for c in key)})
    text = text[:-1] + f',"a":"{each}","c":"{key.replace("e", chr(92) + "u0065")}","d":"{each.replace(chr(92), chr(92) * 2)}","api\\u005fkey":"ESCAPED-NAME"}}'
    with Stub(lambda p, *_: answer(text) if p == "/server_info" else not_there()) as s:
        doc = box.json("snapshot", "s.ptc", f"n-0={s.url}", "--header-file", "headers")
    row = next(r for r in doc["rows"] if r["document"] == "server_info")
    kept = box.run("show", "s.ptc", row["ref"]).stdout.decode()
    got = json.loads(kept[kept.index("{"):])["body"]
    for name in ("a", "c", "d", "hex", "percent", "API_KEY", "HF-Token", "api_key"):
        expect(set(got[name]) == {"x"}, f"{name} is masked: {got[name]}")
    for k, whole in enumerate(b64):
        expect("x" * (len(whole) - 9) in got["b"][k], f"Base64 at {k}: {got['b'][k]}")
    for word in ("AN-UPPER", "IN-LIST", "A-TOKEN", "NEXT-ONE", "BEHIND-IT", "BEHIND-EQ", "ESCAPED-NAME"):
        expect(word not in kept, f"{word} is masked")
    expect(got["eos_token"] == "</s>" and got["argv"][2:] == ["--x", "kept-arg"] and got["command"].endswith(" --port 1"), f"no more than that: {got}")
    expect(got["version"] == body["version"], "still read")


def secrets_anywhere(box):
    """What is a secret by its name or form is in nothing that is kept, whatever was asked for, and whatever the status."""
    key = "tk-none0none1none2none"
    body = {"version": "0.5.21", "internal_states": [{"x": 1}], "model_path": "/m", "max_tokens": 16, "tokenizer_path": "/models/t", "eos_token": "</s>",
            "api_key": key, "Api-Key": {"v": key}, "authorization": f"Bearer {key}", "env": [f"HF_TOKEN={key}", "MAX_TOKENS=4096"],
            "server_args": f"ServerArgs(api_key='{key}', tokenizer_path='/models/t')", "tokens": key, "nested": json.dumps({"credential": key})}
    plain = json.dumps(body)
    forms = {"plain": plain, "html": "<html>" + plain, "bom": "\ufeff" + plain, "cut": plain[:-9], "wide": plain.encode("utf-16"),
             "python": repr(body), "lines": f"# HELP x\nup 1\nAuthorization: Bearer {key}\nHF_TOKEN={key}\n"}
    statuses = ("200 OK", "206 Partial Content", "302 Found", "401 Unauthorized", "404 Not Found", "500 Oops")

    def behave(form, status):
        return lambda *_: answer(form, status, [f"Location: http://127.0.0.1:1/?token={key}", f"X-Request-Id: api_key={key}"])
    with contextlib.ExitStack() as stack:
        nodes = [f"{name}-{status[:3]}={stack.enter_context(Stub(behave(form, status))).url}" for name, form in forms.items() for status in statuses]
        doc = box.json("snapshot", "any.ptc", *nodes, code=1)
    expect(len(by_node(doc)) == len(nodes) and all(r["masked"] for r in doc["rows"]), f"each answer had some: {doc['rows']}")
    kept = [box.run("show", "any.ptc", "--source", str(r["source"]), "--all").stdout for r in box.json("sql", "any.ptc", "select source from source")["rows"]]
    for one in kept:
        expect(key.encode() not in one and base64.b64encode(key.encode())[:-4] not in one, f"no key: {one}")
    for word in (b"/models/t", b"MAX_TOKENS=4096", b"</s>"):
        # all answers but those of UTF-16, in Base64, and of lines
        expect(b"".join(kept).count(word) >= 5 * len(statuses), f"no more than that: {word}, {kept}")
    nowhere(box, "any.ptc", key)


def not_whole(box):
    with Stub(lambda p, *r: sglang()(p, *r).replace(b"200 OK", b"206 Partial Content")) as part, \
         Stub(lambda p, *r: sglang()(p, *r).replace(b"Connection:", b"Content-Length: 5\r\nConnection:")) as two:
        doc = box.json("snapshot", "w.ptc", f"part={part.url}", f"two={two.url}", code=1)
    got = {name: {r["outcome"] for r in rows} for name, rows in by_node(doc).items()}
    expect(got["part"] == {"other_status"} and "wrong_length" in got["two"] and "answered" not in got["two"], f"not answered: {doc['rows']}")
    expect(not box.json("deploy", "w.ptc", code=(0, 1))["rows"], "and not believed")


def misbehaving(box):
    other = Stub(sglang())
    chunk = b"4000\r\n" + b"a" * 0x4000 + b"\r\n"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: \x1b[31mred\x07\xff\r\n\r\n"
    metrics = "sglang:max_total_num_tokens 1.0\n"
    behaviours = {
        "slow": lambda p, *_: slow(1.6)(p) if p == "/server_info" else not_there(),
        "too-long-said": lambda *_: answer("{\"version\":", length=5000),
        "too-short-said": lambda p, *_: answer(metrics * 3, length=len(metrics)) if p == "/metrics" else not_there(),
        "closes": lambda *_: head + chunk[:500],
        "bad-chunks": lambda *_: head + b"5\r\nhello\r\nZZZ garbage\r\n\r\n",
        "says-nothing": lambda *_: None,
        "redirects": lambda *_: answer("", "302 Found", [f"Location: {other.url}/server_info"]),
        "endless": pieces_without_end(head, chunk),
        "endless-headers": pieces_without_end(b"HTTP/1.1 200 OK\r\n", b"X-More: " + b"y" * 4000 + b"\r\n"),
        "no-http": lambda *_: b"SSH-2.0-OpenSSH\r\n\x1b]0;title\x07",
        "hostile": lambda p, *_: answer(b'{"version":"\x1b[2J\x00\xff", "internal_states": [' if p != "/metrics" else b"\x1b[2J\x00\xff\xfe\n" * 9,
                                        headers=["X-Request-Id: \x1b[31m"]),
        "error": lambda *_: answer(f"<b>who are you, {KEY.split()[1]}?</b>", "500 Internal Server Error"),
        "gone": lambda *_: not_there(),
        "another": lambda p, *_: answer(json.dumps({"hello": "world"})) if p == "/server_info" else not_there(),
        "of-others": lambda p, *_: answer('vllm:cache_config_info{pod="prefill-0",block_size="16",num_gpu_blocks="9"} 1\n') if p == "/metrics" else not_there(),
        "partly": lambda p, *r: answer("sglang:max_total", length=99) if p == "/metrics" else sglang()(p, *r),
        "a-log": lambda p, *_: answer("[2026-09-14 08:00:20] max_total_num_tokens=1, chunked_prefill_size=8192, context_len=2\n"),
    }
    want = {"slow": {"timed_out", "not_there"}, "too-long-said": {"cut"}, "too-short-said": {"wrong_length", "not_there"}, "closes": {"cut"}, "bad-chunks": {"not_http"},
            "says-nothing": {"cut"}, "redirects": {"redirected"}, "endless": {"too_long"}, "endless-headers": {"too_long"},
            "no-http": {"not_http"}, "hostile": {"not_understood"}, "error": {"http_error"}, "gone": {"not_there"},
            "another": {"not_understood", "not_there"}, "of-others": {"of_others", "not_there"}, "a-log": {"not_understood"},
            "refuses": {"refused"}, "no-such-name": {"unresolved"}, "partly": {"answered", "cut"}, "healthy": {"answered"}}
    stubs = {name: Stub(b) for name, b in behaviours.items()}
    stubs["healthy"] = Stub(sglang())
    urls = [f"{name}={s.url}" for name, s in stubs.items()]
    urls += [f"refuses=http://127.0.0.1:{closed_port()}", "no-such-name=http://name.invalid:1"]
    p = box.run("snapshot", "bad.ptc", *urls, *FAST, "--json", "--parallel", "16", "--header-file", "headers", code=1)
    doc = json.loads(p.stdout)
    for s in (*stubs.values(), other):
        s.__exit__()
    rows = by_node(doc)
    for name, outcomes in want.items():
        got = {r["outcome"] for r in rows[name]}
        expect(got == outcomes, f"{name}: {outcomes}, got {rows[name]}")
        for r in rows[name]:
            expect(r["ref"] and (r["why"] or r["outcome"] == "answered"), f"kept, and said why: {r}")
            line = box.run("show", "bad.ptc", r["ref"]).stdout
            expect(len(line) == int(r["ref"].split("+")[1]), f"shown: {r}")
            if r["document"] != "metrics" and r["outcome"] not in ("answered", "not_understood") or r["outcome"] == "of_others":
                attempt = json.loads(line)
                expect(attempt["node"] == name and attempt["outcome"] == r["outcome"], f"the attempt itself: {attempt}")
                expect(attempt["bytes"] == r["bytes"], f"with its bytes: {attempt}")
    expect(not other.asked, f"nobody followed the redirect: {other.asked}")
    expect(max(r["bytes"] for r in doc["rows"]) <= 20000, "no more than --max-bytes")
    expect(doc["totals"]["answered"] == 1 and doc["totals"]["nodes"] == len(want), f"who answered: {doc['totals']}")
    got = json.loads(box.run("show", "bad.ptc", rows["too-long-said"][0]["ref"]).stdout)
    expect(got["answer"] == "{\"version\":", f"the bytes that came: {got}")
    nowhere(box, "bad.ptc", KEY.split()[1])
    expect(KEY.split()[1] not in p.stdout.decode() + p.stderr.decode(), "a key that comes back is not printed")
    listed = box.json("query", "bad.ptc", "snapshots")["rows"]
    expect(sorted((r["node"], r["document"], r["outcome"], r["status"], r["bytes"], r["at"]) for r in listed) ==
           sorted((r["node"], r["document"], r["outcome"], r["status"], r["bytes"], r["at"]) for r in doc["rows"]), "later too")
    # and `gaps` has a row for each that did not answer, or not wholly
    gaps = unanswered(box, "bad.ptc")
    expect(set(gaps) == set(want) - {"healthy"}, f"a gap a node: {set(gaps) ^ set(want)}")
    for name, g in gaps.items():
        asked = [r for r in listed if r["node"] == name]
        bad = [r for r in asked if r["outcome"] not in ("answered", "not_there")] or asked
        expect(g["missing"] == len(bad) and g["unit"] == "answers" and set(g["refs"]) == {r["refs"][0] for r in bad}, f"{name}: {g} {bad}")
        expect(all(f"{r['outcome']} {sum(o['outcome'] == r['outcome'] for o in bad)}" in g["effect"] for r in bad), f"{name}: why: {g}")
        expect((g["from"], g["to"]) == (min(r["at"] for r in bad), max(r["at"] for r in bad)) or name == "gone", f"{name}: when: {g}")
        expect((g["worker"] == name) == (name == "partly"), f"{name}: whose: {g}")
    expect("in part" in gaps["partly"]["effect"] and "did not answer" in gaps["gone"]["effect"], f"{gaps['partly']} {gaps['gone']}")
    # who answers later has no gap any more; the others keep theirs
    with Stub(sglang()) as s:
        box.run("snapshot", "bad.ptc", f"partly={s.url}", f"slow={s.url}")
    expect(set(unanswered(box, "bad.ptc")) == set(gaps) - {"partly", "slow"}, f"made good: {set(unanswered(box, 'bad.ptc'))}")
    # only who spoke is known of, and nothing that was cut, or of others, is believed
    deploy = {r["replica"]: r for r in box.json("deploy", "bad.ptc", code=(0, 1))["rows"]}
    expect(set(deploy) == {"healthy", "partly", "slow"}, f"no facts of the others: {deploy}")
    table = box.run("snapshot", "t.ptc", "--nodes", "none.txt", *FAST, code=3)
    one_line_error(table)
    with Stub(behaviours["hostile"]) as s:
        out = box.run("snapshot", "t.ptc", s.url, *FAST, "--columns", "node,outcome,why,tls,url,ref", code=1).stdout
        expect(b"\x1b" not in out and b"\x07" not in out and b"\x00" not in out, f"no escapes on a terminal: {out}")
    box.run("verify", "bad.ptc")


def lists_of_nodes(box):
    with Stub(sglang()) as a, Stub(sglang(role="decode")) as b:
        box.write("nodes.txt", f"# two of them\nfirst-0 {a.url}\nsecond-0\t{b.url}\n\n")
        doc = box.json("snapshot", "n.ptc", "--nodes", "nodes.txt")
        expect(set(by_node(doc)) == {"first-0", "second-0"}, f"a file: {doc['rows']}")
        pod = lambda name, phase="Running", ip="127.0.0.1", ports=(): {
            "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "engine", "ports": list(ports)}]},
            "status": {"phase": phase, **({"podIP": ip} if ip else {})}}
        box.write("pods.json", json.dumps({"kind": "List", "items": [
            pod("decode-5c9f-1", ports=[{"containerPort": b.port}]), pod("decode-5c9f-2", "Pending", None, [{"containerPort": 1}]),
            pod("decode-5c9f-3", "Succeeded"), pod("decode-5c9f-4", ports=[{"containerPort": 1}, {"containerPort": 2}]),
            pod("decode-5c9f-5", ports=[{"containerPort": 1}, {"containerPort": a.port, "name": "http"}])]}))
        doc = box.json("snapshot", "k.ptc", "--nodes", "pods.json", code=1)
        rows = by_node(doc)
        expect({n: {r["outcome"] for r in v} for n, v in rows.items()} ==
               {"decode-5c9f-1": {"answered"}, "decode-5c9f-2": {"no_address"}, "decode-5c9f-4": {"no_address"}, "decode-5c9f-5": {"answered"}},
               f"pods: {rows}")
        expect(doc["totals"]["pods_passed_over"] == 1 and doc["totals"]["not_answered"] == 2, f"counted: {doc['totals']}")
        deploy = {r["replica"]: r for r in box.json("deploy", "k.ptc", "--inventory", "pods.json", code=(0, 1))["rows"]}
        expect(deploy["decode-5c9f-1"]["rung"] == "L4" and deploy["decode-5c9f-2"]["verdict"] == "not_observed", f"with the inventory: {deploy}")
        doc = box.json("snapshot", "h.ptc", a.url)
        expect(doc["rows"][0]["node"] == f"127.0.0.1:{a.port}", "a node without a name is its address")


def tls(box):
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                           "-subj", "/CN=node.example", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", box.path("key.pem"),
                           "-out", box.path("cert.pem")], capture_output=True) if any(
        os.access(os.path.join(d, "openssl"), os.X_OK) for d in os.environ["PATH"].split(":")) else None
    if not made or made.returncode:
        print("no openssl: TLS was not tested")
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(box.path("cert.pem"), box.path("key.pem"))
    with Stub(sglang(), tls=context) as s:
        doc = box.json("snapshot", "tls.ptc", s.url, *FAST, code=1)
        expect({r["outcome"] for r in doc["rows"]} == {"not_trusted"} and not s.asked, f"nobody vouches for it: {doc['rows']}")
        doc = box.json("snapshot", "tls.ptc", s.url, "--cacert", "cert.pem")
        expect("node.example" in doc["rows"][0]["tls"], f"who it is: {doc['rows'][0]}")


def wrong_usage(box):
    for args, word in ((("http://user:pw-secret@127.0.0.1:1",), "--header-file"), (("ftp://127.0.0.1",), "http"), (("file:///etc/passwd",), "http"),
                       (("http://127.0.0.1:1/?key=abc",), "?"), ((), "no node"), (("a=http://127.0.0.1:1", "a=http://127.0.0.1:2"), "named"),
                       (("http://127.0.0.1:1", "--timeout", "0"), "--timeout"), (("http://127.0.0.1:1", "--parallel", "0"), "--parallel"),
                       (("http://127.0.0.1:1", "--max-bytes", "999999999"), "--max-bytes")):
        line = one_line_error(box.run("snapshot", "u.ptc", *args, code=2))
        expect(word in line and "pw-secret" not in line, f"{word}: {line}")
    for name, text, mode in (("open", f"Authorization: {KEY}\n", 0o644), ("torn", KEY + "\n", 0o600), ("ours", "Host: x\n", 0o600),
                             ("none", "\n", 0o600), ("control", "X-Key: a\x01b\n", 0o600)):
        os.chmod(box.write(f"h-{name}", text), mode)
        line = one_line_error(box.run("snapshot", "u.ptc", "http://127.0.0.1:1", "--header-file", f"h-{name}", code=3))
        expect("headers" in line and KEY.split()[1] not in line, f"{name}: {line}")
    one_line_error(box.run("snapshot", "u.ptc", "http://127.0.0.1:1", "--cacert", "no-such", code=3))
    box.write("bad.txt", "http://127.0.0.1:1\nnonsense\n")
    expect("line 2" in one_line_error(box.run("snapshot", "u.ptc", "--nodes", "bad.txt", code=3)), "which line")
    expect(not os.path.exists(box.path("u.ptc")), "no case was made")


def loaded_when_asked(box):
    """What opens connections is not in a process that reads evidence; and its absence costs two verbs, no others."""
    for args, code, there in ((("query", "h.ptc", "sources"), 0, False), (("deploy", "h.ptc"), (0, 1), False),
                              (("snapshot", "h.ptc", "http://127.0.0.1:1"), 1, True)):
        p = box.run(*args, code=code, env={"LD_DEBUG": "files"})
        expect((b"libcurl" in p.stderr) == there, f"libcurl loaded by {args}: expected {there}")
    box.write("without/libcurl.so.4", "no library\n")
    without = {"LD_LIBRARY_PATH": box.path("without")}
    line = one_line_error(box.run("snapshot", "without.ptc", "http://127.0.0.1:1", code=3, env=without))
    expect("libcurl4" in line and not os.path.exists(box.path("without.ptc")), f"what is missing, before anything is made: {line}")
    box.run("query", "h.ptc", "sources", env=without)


with Box() as box:
    os.chmod(box.write("headers", f"# for the test\nAuthorization: {KEY}\n"), 0o600)
    healthy(box)
    spelled_keys(box)
    secrets_anywhere(box)
    not_whole(box)
    misbehaving(box)
    lists_of_nodes(box)
    tls(box)
    wrong_usage(box)
    loaded_when_asked(box)
