# SPDX-License-Identifier: Apache-2.0
"""oracle.py - reads page logs the slow and obvious way, page by page, and says who read whose content"""
import collections
import json


def pages_of(record):
    out = []
    for p in record.get("pages", []):
        if isinstance(p, int):
            out.append(p)
        else:
            out.extend(range(p[0], p[0] + p[1]))
    return out


def exposures(path, request_of):
    """{(reader, owner, kind): number of distinct pages}; request_of maps (rid, room) to what is counted as one request."""
    seen = collections.defaultdict(set)
    writer, written, allocated, shared = {}, {}, {}, {}
    last = -1
    with open(path, encoding="utf-8") as f:
        for step, line in enumerate(f):
            r = json.loads(line)
            op = r["op"]
            if op == "boot":
                writer, written, allocated, shared = {}, {}, {}, {}
                last = -1
            assert r["seq"] == last + 1, (path, line)
            last = r["seq"]
            rid, pages = r.get("rid"), pages_of(r)
            if op == "alloc":
                for p in pages:
                    allocated[p] = (rid, step)
            elif op in ("write", "recv"):
                for p in pages:
                    writer[p], written[p] = rid, step
            elif op == "share":
                shared.setdefault(rid, set()).update(pages)
            elif op == "free":
                for p in pages:
                    assert allocated.pop(p)[0] == rid, (path, line)
            elif op == "read":
                reader = request_of(rid)
                for p in pages:
                    if p not in writer:
                        seen[(reader, None, "uninitialised")].add(p)
                        continue
                    owner = request_of(writer[p])
                    if owner == reader:
                        continue
                    if p in shared.get(rid, ()):
                        kind = "shared"
                    else:
                        assert allocated[p][0] == rid, (path, line)
                        kind = "late_write" if written[p] > allocated[p][1] else "stale"
                    seen[(reader, owner, kind)].add(p)
    assert not allocated, (path, "pages that nobody gave back")
    return {k: len(v) for k, v in seen.items()}
