# SPDX-License-Identifier: Apache-2.0
# wrap.py - puts what container runtimes and collectors write round the lines of a log; written from their grammars
import datetime
import json
import re
import struct

CHUNK = 16384
STAMP = re.compile(rb"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
EPOCH = datetime.datetime(1970, 1, 1)


def seen_times(lines, offset_s=0, delay_ns=3_456_789):
    """When a collector on a machine whose clock is UTC sees lines that say local time, offset_s east of it."""
    at = 1787616035 * 10**9
    for line in lines:
        m = STAMP.search(line[:300])
        if m:
            t = datetime.datetime(*(int(x) for x in m.groups()[:6]))
            fraction = int((m.group(7) or b"0").ljust(9, b"0")[:9])
            at = int((t - EPOCH).total_seconds() - offset_s) * 10**9 + fraction
        yield at + delay_ns


def rfc3339(ns, digits=9, zone="Z", trim=False):
    text = (EPOCH + datetime.timedelta(seconds=ns // 10**9)).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f"{ns % 10**9:09d}"[:digits]
    if trim:
        fraction = fraction.rstrip("0")
    return text + ("." + fraction if fraction else "") + zone


def text_of(line):
    return line.decode("utf-8", "replace")


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def streams(lines):
    """stdout and stderr in turns of some lines, as an engine that prints and logs."""
    return ["stderr" if i // 3 % 2 == 0 else "stdout" for i in range(len(lines))]


def cri(lines, times, chunk=CHUNK, **_):
    out = []
    for line, ns, stream in zip(lines, times, streams(lines)):
        parts = [line[i:i + chunk] for i in range(0, len(line), chunk)] or [b""]
        for k, part in enumerate(parts):
            tag = b"F" if k + 1 == len(parts) else b"P"
            out.append(b"%s %s %s %s\n" % (rfc3339(ns + k, trim=True).encode(), stream.encode(), tag, part))
    return b"".join(out)


def docker(lines, times, chunk=CHUNK, **_):
    out = []
    for line, ns, stream in zip(lines, times, streams(lines)):
        line = text_of(line)
        parts = [line[i:i + chunk] for i in range(0, len(line), chunk)] or [""]
        parts[-1] += "\n"
        for k, part in enumerate(parts):
            log = json.dumps(part, ensure_ascii=False)
            for c in "<>&":
                log = log.replace(c, "\\u%04x" % ord(c))
            out.append('{"log":%s,"stream":"%s","time":"%s"}\n' % (log, stream, rfc3339(ns + k, trim=True)))
    return "".join(out).encode()


def container_logs(lines, times, prefix="", **_):
    return b"".join(b"%s%s %s\n" % (prefix.encode(), rfc3339(ns).encode(), line) for line, ns in zip(lines, times))


def kubectl(lines, times, pod="pod-a", **_):
    return container_logs(lines, times, f"[pod/{pod}/engine] ")


def compose(lines, times, name="engine-1", **_):
    return b"".join(b"\x1b[36m%s  | \x1b[0m%s\n" % (name.encode(), line) for line in lines)


def stern(lines, times, pod="decode-6b7f9c5d8-x2x9z", **_):
    return b"".join(b"%s engine %s %s\n" % (pod.encode(), rfc3339(ns).encode(), line) for line, ns in zip(lines, times))


def torchrun(lines, times, **_):
    return b"".join(b"[default0]:%s\n" % line for line in lines)


def srun(lines, times, **_):
    return b"".join(b" 7: %s\n" % line for line in lines)


def journal_export(lines, times, host="gpu-01", unit="sglang.service", **_):
    out = []
    for i, (line, ns) in enumerate(zip(lines, times)):
        out.append(b"__CURSOR=s=0a;i=%x\n__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\nPRIORITY=6\n"
                   b"_HOSTNAME=%s\n_SYSTEMD_UNIT=%s\n_PID=4711\n" % (i, ns // 1000, i, host.encode(), unit.encode()))
        if i % 5 == 4 or b"\x1b" in line:
            out.append(b"MESSAGE\n" + struct.pack("<Q", len(line)) + line + b"\n\n")
        else:
            out.append(b"MESSAGE=" + line + b"\n\n")
    return b"".join(out)


def journal_json(lines, times, host="gpu-01", unit="sglang.service", **_):
    out = []
    for i, (line, ns) in enumerate(zip(lines, times)):
        message = list(line) if i % 5 == 4 or b"\x1b" in line else text_of(line)
        out.append(compact({"__CURSOR": f"s=0a;i={i:x}", "__REALTIME_TIMESTAMP": str(ns // 1000), "_HOSTNAME": host,
                            "_SYSTEMD_UNIT": unit, "PRIORITY": "6", "MESSAGE": message}) + b"\n")
    return b"".join(out)


def bsd_time(ns):
    t = EPOCH + datetime.timedelta(seconds=ns // 10**9)
    return t.strftime("%b ") + f"{t.day:2d}" + t.strftime(" %H:%M:%S")


def syslog_3164(lines, times, host="gpu-01", pri="<30>", **_):
    return b"".join(b"%s%s %s sglang[4711]: %s\n" % (pri.encode(), bsd_time(ns).encode(), host.encode(), line)
                    for line, ns in zip(lines, times))


def journal_short(lines, times, **kw):
    return syslog_3164(lines, times, pri="", **kw)


def journal_short_iso(lines, times, host="gpu-01", **_):
    return b"".join(b"%s %s sglang[4711]: %s\n" % (rfc3339(ns, 6, "+0000").encode(), host.encode(), line)
                    for line, ns in zip(lines, times))


def syslog_5424(lines, times, host="gpu-01", **_):
    return b"".join(b'<30>1 %s %s sglang 4711 - [k8s@32473 pod="p\\"0\\]"] %s\n' %
                    (rfc3339(ns, 6).encode(), host.encode(), line) for line, ns in zip(lines, times))


def otlp(lines, times, pod="pod-a", batch=50, **_):
    out = []
    for at in range(0, len(lines), batch):
        records = [{"timeUnixNano": str(ns), "observedTimeUnixNano": str(ns + 5), "severityNumber": 9,
                    "body": {"stringValue": text_of(line)}, "attributes": [{"key": "log.iostream", "value": {"stringValue": s}}]}
                   for line, ns, s in zip(lines[at:at + batch], times[at:at + batch], streams(lines)[at:at + batch])]
        resource = {"attributes": [{"key": "k8s.pod.name", "value": {"stringValue": pod}},
                                   {"key": "k8s.container.name", "value": {"stringValue": "engine"}}]}
        out.append(compact({"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": {}, "logRecords": records}]}]}) + b"\n")
    return b"".join(out)


def loki_api(lines, times, pod="pod-a", **_):
    values = [[str(ns), text_of(line)] for line, ns in zip(lines, times)]
    return compact({"status": "success", "data": {"resultType": "streams", "result": [
        {"stream": {"pod": pod, "container": "engine"}, "values": values}], "stats": {"summary": {"execTime": 0.1}}}}) + b"\n"


def logcli_jsonl(lines, times, pod="pod-a", **_):
    return b"".join(compact({"labels": {"container": "engine", "pod": pod}, "line": text_of(line), "timestamp": rfc3339(ns)}) + b"\n"
                    for line, ns in zip(lines, times))


def logcli_default(lines, times, pod="pod-a", **_):
    return b"".join(b'%s {container="engine", pod="%s"}   %s\n' % (rfc3339(ns, 0).encode(), pod.encode(), line)
                    for line, ns in zip(lines, times))


def gcloud(lines, times, pod="pod-a", **_):
    rows = [{"insertId": f"a{i}", "resource": {"labels": {"container_name": "engine", "pod_name": pod}, "type": "k8s_container"},
             "textPayload": text_of(line), "timestamp": rfc3339(ns)} for i, (line, ns) in enumerate(zip(lines, times))]
    return json.dumps(rows, indent=2).encode() + b"\n"


def cloudwatch(lines, times, **_):
    rows = [{"logStreamName": "engine/decode-0/0af1", "timestamp": ns // 10**6, "message": text_of(line),
             "ingestionTime": ns // 10**6 + 900, "eventId": str(i)} for i, (line, ns) in enumerate(zip(lines, times))]
    return compact({"events": rows, "searchedLogStreams": []}) + b"\n"


def kubernetes(pod):
    return {"pod_name": pod, "namespace_name": "inference", "container_name": "engine", "host": "gpu-01",
            "labels": {"app": "engine"}}


def fluentbit(lines, times, pod="pod-a", chunk=CHUNK, **_):
    out = []
    for line, ns, stream in zip(lines, times, streams(lines)):
        parts = [text_of(line)[i:i + chunk] for i in range(0, len(line), chunk)] or [""]
        for k, part in enumerate(parts):
            out.append(compact({"date": (ns + k) // 1000 / 10**6, "stream": stream, "_p": "F" if k + 1 == len(parts) else "P",
                                "time": rfc3339(ns + k), "log": part, "kubernetes": kubernetes(pod)}) + b"\n")
    return b"".join(out)


def fluentbit_file(lines, times, pod="pod-a", **_):
    return b"".join(b"kube.var.log.x: [%d.%09d, %s]\n" % (ns // 10**9, ns % 10**9, compact(
        {"stream": s, "log": text_of(line) + "\n", "kubernetes": kubernetes(pod)}))
        for line, ns, s in zip(lines, times, streams(lines)))


def fluentd(lines, times, pod="pod-a", **_):
    return b"".join(b"%s\tkube.x\t%s\n" % (rfc3339(ns, 0, "+00:00").encode(), compact(
        {"log": text_of(line) + "\n", "stream": s, "docker": {"container_id": "ab12"}, "kubernetes": kubernetes(pod)}))
        for line, ns, s in zip(lines, times, streams(lines)))


# name in a stack: the ways that it is written
WAYS = {
    "cri": [cri],
    "docker": [docker],
    "container-logs": [container_logs, kubectl, compose, stern],
    "launcher": [torchrun, srun],
    "journal-export": [journal_export],
    "journal-json": [journal_json],
    "syslog": [syslog_3164, journal_short, journal_short_iso, syslog_5424],
    "otlp": [otlp],
    "loki": [loki_api],
    "logcli": [logcli_jsonl, logcli_default],
    "cloud": [gcloud, cloudwatch],
    "fluent": [fluentbit, fluentbit_file, fluentd],
}
