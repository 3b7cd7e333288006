# SPDX-License-Identifier: Apache-2.0
"""tiny.py - a few log lines written by hand, from the grammars of docs/ and not by the simulator, and what the tool says of them

Times are seconds after T0. A case is a dict {file name: list of lines}; workers are named by their files.
"""
import datetime
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

PAGETRAIL = os.environ.get("PAGETRAIL")
if not PAGETRAIL:
    print("PAGETRAIL does not name the program: skipped")
    sys.exit(77)

T0 = datetime.datetime(2026, 9, 5, 10, 0, 0, tzinfo=datetime.timezone.utc)
EPOCH = int(T0.timestamp())
ALL = "C1,C2,C3,C4,C5"


def at(s):
    """RFC 3339"""
    return (T0 + datetime.timedelta(seconds=s)).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def second(s):
    """as the tool writes a whole second"""
    return (T0 + datetime.timedelta(seconds=s)).strftime("%Y-%m-%dT%H:%M:%SZ")


def stamp(s):
    """as SGLang writes it"""
    return (T0 + datetime.timedelta(seconds=s)).strftime("[%Y-%m-%d %H:%M:%S]")


# ---- SGLang

def boot(role, context, pool, s=0, more="", model="m-1t", printed=True):
    """Lines of a start; pool None: the line with the pool is not there."""
    lines = [f"{stamp(s)} server_args=ServerArgs(model_path='/models/{model}', tokenizer_path='/models/{model}', context_length={context}, "
             f"page_size=64, disaggregation_mode='{role}', disaggregation_transfer_backend='mooncake', tp_size=1, dp_size=1{more})"]
    if printed:
        lines.append(f"{stamp(s + 10)} max_total_num_tokens={pool}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
                     f"max_running_requests=64, context_len={context}, available_gpu_mem=8.16 GB")
    return lines + [f"{stamp(s + 20)} The server is fired up and ready to roll!"]


def leg(kind, rid, tokens, s, room=None, out=1, tag=""):
    """One ReqTimeStats line, three seconds after the leg began at s."""
    where = f", bootstrap_room={room}" if room else ""
    tail = {"prefill": "bootstrap_duration=1.60ms, queue_duration=8.30ms, forward_duration=2000.00ms",
            "decode": "bootstrap_duration=1.60ms, alloc_wait_duration=0.10ms, transfer_duration=9.00ms, queue_duration=1.00ms, "
                      "forward_duration=2000.00ms",
            "unified": "queue_duration=8.30ms, forward_duration=2000.00ms"}[kind]
    return (f"{stamp(s + 3)[:-1]}{tag}] ReqTimeStats(rid={rid}{where}, input_len={tokens}, cached_input_len=0, output_len={out}, "
            f"type={kind}): {tail}, entry_time={EPOCH + s}.250")


def rejection(rid, tokens, limit, s):
    return (f"{stamp(s)} Input length ({tokens} tokens) exceeds the maximum allowed length ({limit} tokens). "
            f"Use a shorter input or enable --allow-auto-truncate., self.rid='{rid}'")


def finish(rid, s, asked="x", answered="x", reason="{'type': 'stop', 'matched': 2}", tokens=100, out=20):
    """The line of --log-requests."""
    return (f"{stamp(s)} Finish: obj=GenerateReqInput(rid='{rid}', text='{asked}', stream=False), out={{'text': '{answered}', "
            f"'meta_info': {{'id': '{rid}', 'finish_reason': {reason}, 'prompt_tokens': {tokens}, 'completion_tokens': {out}, "
            f"'cached_tokens': 0, 'e2e_latency': 2.5}}}}")


def versions(**workers):
    return [json.dumps({"collected_at": at(30), "worker": w.replace("_", "-"),
                        "server_info": {"model_path": "/models/m-1t", "version": v, "internal_states": []}}) for w, v in workers.items()]


# ---- gateway, page log

def answer(request, tenant, s, tokens=None, status=200, out=50, took=4, **more):
    """One record of a gateway: a request that began at s."""
    doc = {"start_time": at(s), "end_time": at(s + took), "request_id": request, "tenant": tenant, "model": "m-1t", "status": status,
           "stream": False, "prompt_tokens": tokens, "completion_tokens": out, "bytes_sent": 300 * out}
    doc.update(more)
    return json.dumps({k: v for k, v in doc.items() if v is not None})


class Pages:
    """A page log of one worker: seq counts by itself, a record a second."""

    def __init__(self, worker, pool_pages=100, start=0, numbered=True, page_size=64):
        self.worker, self.numbered, self.seq, self.now, self.lines = worker, numbered, 0, start, []
        self.add("boot", page_size=page_size, pool_pages=pool_pages)

    def add(self, op, rid=None, pages=None, s=None, **more):
        self.now = self.now + 1 if s is None else s
        doc = {"v": 1, "ts": EPOCH + self.now, "seq": self.seq if self.numbered else None, "worker": self.worker, "op": op, "rid": rid,
               "pages": pages}
        doc.update(more)
        self.seq += 1
        self.lines.append(json.dumps({k: v for k, v in doc.items() if v is not None}))
        return self

    def lost(self):
        """The record that was written last is lost: its number is missing."""
        self.lines.pop()
        return self


# ---- asking

class Answers:
    """What the tool says of a set of files."""

    def __init__(self, files, *queries, scope=True, options=()):
        with tempfile.TemporaryDirectory(prefix="tiny-") as top:
            for name, lines in files.items():
                path = os.path.join(top, "logs", name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as f:
                    f.write("\n".join(lines) + "\n" if not isinstance(lines, str) else lines)
            self.case = os.path.join(top, "case.ptc")
            self.ingested = self.run("ingest", self.case, os.path.join(top, "logs"), "--json", *options)["rows"]
            self.scope = self.run("scope", self.case, "--class", ALL, "--json") if scope else {"rows": []}
            self.rows = {r["request"]: r for r in self.scope["rows"]}
            self.asked = [self.run(*q[:1], self.case, *q[1:], "--json")["rows"] for q in queries]

    def run(self, *arguments):
        p = subprocess.run([PAGETRAIL, *arguments], capture_output=True, text=True)
        if p.returncode not in (0, 1, 3):
            raise RuntimeError(f"{' '.join(arguments)}: {p.returncode}: {p.stderr}")
        return json.loads(p.stdout)


def differences(expected, rows):
    """Rows are compared in their order, and in the members that are expected of them."""
    if len(expected) != len(rows):
        return [f"{len(expected)} rows expected, got {len(rows)}: {rows}"]
    return [f"row {i}: {key} {value!r} expected, got {row.get(key)!r}"
            for i, (e, row) in enumerate(zip(expected, rows)) for key, value in e.items() if row.get(key) != value]


def findings(expected, answers):
    """expected: {request: "C2 T=yes L=unknown D!=no …"}; '…' stands for what is not looked at."""
    wrong = []
    if not answers.rows:
        return [f"{len(expected)} responses expected, got none"] if expected else []
    for request, text in expected.items():
        row = answers.rows.get(request)
        if not row:
            wrong.append(f"{request}: no response of that name, but {list(answers.rows)}")
            continue
        for word in text.split():
            if "!=" in word:
                key, value = word.split("!=")
                ok = row["predicates"][key] != value if len(key) == 1 else row["class"] != value
            elif "=" in word:
                key, value = word.split("=")
                ok = row["predicates"][key] == value
            else:
                ok = row["class"] == word
            if not ok:
                wrong.append(f"{request}: {word} expected, got {row['class']} {row['predicates']} {row['reasons']}")
    t = answers.scope["totals"]
    if t["population"] != sum(t[c] for c in ALL.split(",")):
        wrong.append(f"classes do not add up to the population: {t}")
    return wrong


def run_all(cases, one):
    """one(case) gives a list of what is wrong; ends the program."""
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(one, cases))
    failed = 0
    for case, wrong in zip(cases, results):
        if wrong:
            failed += 1
            print(f"FAIL {case.name}\n     why: {case.why}")
            for w in wrong:
                print("     " + w[:1500])
    print(f"{len(cases)} cases, {failed} failed")
    sys.exit(1 if failed else 0)
