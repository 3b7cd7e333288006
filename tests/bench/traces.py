# SPDX-License-Identifier: Apache-2.0
# traces.py - a page log out of published request traces (arrival times, lengths, and where given prefix hashes)
#
# A small paged allocator runs the requests of a trace and writes what it does as a page log (docs/page-log.md). What
# is known of a request is from the trace; page numbers, ids and service times are the allocator's. Known shapes:
# JSON lines {timestamp (ms), input_length, output_length, hash_ids} and CSV TIMESTAMP,ContextTokens,GeneratedTokens.
import collections
import datetime
import glob
import hashlib
import heapq
import json
import os

PAGE = 64  # tokens
BLOCK = 512  # tokens that one prefix hash stands for
POOL = 200000  # pages
PREFILL_TOKENS_PER_S, DECODE_S_PER_TOKEN = 60000.0, 0.02
START = 1788000000.0


def read_jsonl(path):
    with open(path, encoding="utf-8") as f:
        for line in f:
            r = json.loads(line)
            yield r["timestamp"] / 1000, r["input_length"], r["output_length"], r.get("hash_ids") or []


def read_csv(path):
    with open(path, encoding="utf-8") as f:
        names = next(f).strip().split(",")
        at = [names.index(n) for n in ("TIMESTAMP", "ContextTokens", "GeneratedTokens")]
        first = None
        for line in f:
            row = line.strip().split(",")
            if len(row) != len(names):
                continue
            t = datetime.datetime.fromisoformat(row[at[0]][:26]).timestamp()
            first = t if first is None else first
            yield t - first, int(row[at[1]]), int(row[at[2]]), []


def runs(pages):
    out = []
    for p in pages:
        if out and out[-1][0] + out[-1][1] == p:
            out[-1][1] += 1
        else:
            out.append([p, 1])
    return [r if r[1] > 1 else r[0] for r in out]


class Pool:
    """Free pages in order of return; cached prefix blocks go when room is needed, oldest first."""

    def __init__(self):
        self.free = collections.deque(range(POOL))
        self.cached = collections.OrderedDict()  # hash -> [pages, users]
        self.evicted = []

    def take(self, n):
        while len(self.free) < n:
            victim = next((h for h, b in self.cached.items() if not b[1]), None)
            if victim is None:
                return None
            pages, _ = self.cached.pop(victim)
            self.evicted += pages
            self.free.extend(pages)
        return [self.free.popleft() for _ in range(n)]


class Writer:
    def __init__(self, path, worker):
        self.out, self.worker, self.seq, self.bytes = open(path, "w", encoding="ascii"), worker, 0, 0

    def op(self, at, op, rid=None, pages=None, more=""):
        line = '{"ts":%.6f,"seq":%d,"worker":"%s","op":"%s"%s%s%s}\n' % (
            START + at, self.seq, self.worker, op, ',"rid":"%s"' % rid if rid else "",
            ',"pages":%s' % json.dumps(runs(pages), separators=(",", ":")) if pages else "", more)
        self.out.write(line)
        self.bytes += len(line)
        self.seq += 1


class Server:
    def __init__(self, log):
        self.log, self.pool, self.queue, self.events, self.n = log, Pool(), collections.deque(), [], 0
        log.op(0, "boot", more=',"page_size":%d,"pool_pages":%d' % (PAGE, POOL))

    def at(self, t, call, *args):
        self.n += 1
        heapq.heappush(self.events, (t, self.n, call, args))

    def admit(self, t):
        while self.queue:
            rid, length, output, hashes = self.queue[0]
            known = []
            for h in hashes[:length // BLOCK]:
                if h not in self.pool.cached:
                    break
                known.append(h)
            for h in known:  # not to be evicted for the pages of this request
                self.pool.cached[h][1] += 1
                self.pool.cached.move_to_end(h)
            shared = [p for h in known for p in self.pool.cached[h][0]]
            own = self.pool.take(-(-length // PAGE) - len(shared))
            if self.pool.evicted:
                self.log.op(t, "free", "cache", self.pool.evicted)
                self.pool.evicted = []
            if own is None:
                for h in known:
                    self.pool.cached[h][1] -= 1
                return
            self.queue.popleft()
            if shared:
                self.log.op(t, "share", rid, shared)
            if own:
                self.log.op(t, "alloc", rid, own)
            done = t + 0.01 + len(own) * PAGE / PREFILL_TOKENS_PER_S
            self.at(done, self.prefilled, rid, length, output, hashes, known, shared, own)

    def prefilled(self, t, rid, length, output, hashes, known, shared, own):
        self.log.op(t, "write", rid, own, ',"tokens":[%d,%d]' % (len(shared) * PAGE, length))
        self.log.op(t, "read", rid, shared + own)
        self.at(t + PAGE * DECODE_S_PER_TOKEN, self.step, rid, length, output, hashes, known, shared, own, [])

    def step(self, t, rid, length, output, hashes, known, shared, own, grown):
        """One page's worth of output."""
        written = len(grown) * PAGE
        if written >= output:
            return self.leave(t, rid, hashes, known, own, grown)
        page = self.pool.take(1)
        if self.pool.evicted:
            self.log.op(t, "free", "cache", self.pool.evicted)
            self.pool.evicted = []
        if page is None:  # try again later
            return self.at(t + 1, self.step, rid, length, output, hashes, known, shared, own, grown)
        grown = grown + page
        self.log.op(t, "alloc", rid, page)
        self.log.op(t, "write", rid, page, ',"tokens":[%d,%d]' % (length + written, length + min(output, written + PAGE)))
        self.log.op(t, "read", rid, shared + own + grown)
        self.at(t + PAGE * DECODE_S_PER_TOKEN, self.step, rid, length, output, hashes, known, shared, own, grown)

    def leave(self, t, rid, hashes, known, own, grown):
        """Whole blocks of the prompt stay as cached prefixes, the rest is free."""
        per, rest = BLOCK // PAGE, list(own)
        for h in known:
            self.pool.cached[h][1] -= 1
        for h in hashes[len(known):]:
            if len(rest) < per:
                break
            if h not in self.pool.cached:
                self.pool.cached[h] = [rest[:per], 0]
                rest = rest[per:]
            else:
                break
        # what is cached changes hands: freed by the request, allocated by the cache
        kept = own[:len(own) - len(rest)]
        self.log.op(t, "free", rid, own + grown)
        if kept:
            self.log.op(t, "alloc", "cache", kept)
        self.pool.free.extend(rest + grown)
        self.admit(t)


def write(folder, path, size):
    """The number of requests that were run, 0 when there is no trace; stops at about `size` bytes."""
    log, n, base = Writer(path, "decode-0"), 0, 0.0
    server = Server(log)
    for name in sorted(glob.glob(os.path.join(folder, "*")), key=lambda n: (os.path.splitext(n)[1] == ".csv", n)):  # with prefixes first
        reader = {".jsonl": read_jsonl, ".csv": read_csv}.get(os.path.splitext(name)[1])
        if not reader:
            continue
        trace, last = os.path.basename(name), 0.0
        for t, length, output, hashes in reader(name):
            last = max(last, t)
            while server.events and server.events[0][0] <= base + t:
                at, _, call, args = heapq.heappop(server.events)
                call(at, *args)
            if log.bytes >= size or -(-length // PAGE) > POOL // 2:
                continue
            rid = hashlib.md5(f"{trace}/{n}".encode()).hexdigest()
            server.queue.append((rid, max(length, 1), output, [f"{trace}/{h}" for h in hashes]))
            server.admit(base + t)
            n += 1
        base += last + 60
    while server.events:
        at, _, call, args = heapq.heappop(server.events)
        call(at, *args)
    log.out.close()
    return n


def cut_touches(paths, out, touches):
    """The first records of page logs, in equal parts, that together touch so many pages."""
    with open(out, "w", encoding="utf-8") as o:
        for path in paths:
            left = touches // len(paths)
            with open(path, encoding="utf-8") as f:
                for line in f:
                    left -= sum(p[1] if isinstance(p, list) else 1 for p in json.loads(line).get("pages", []))
                    if left < 0:
                        break
                    o.write(line)
