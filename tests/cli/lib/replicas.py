# SPDX-License-Identifier: Apache-2.0
# replicas.py - a small fleet with a replica for every verdict: its files, its inventory, its policy
import json

POLICY = {"schema_version": "1.7.3", "id": "x_test-1", "modified": "2026-09-01T00:00:00Z", "affected": [
    {"package": {"ecosystem": "PyPI", "name": "sglang"},
     "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "0.5.22"}]}],
     "database_specific": {"pagetrail": {"requires": {"disaggregated": True}, "trigger": "input_limit", "max_evidence_age": "P7D"}}}]}
DIGEST = "sha256:" + "0123456789abcdef" * 4


def log(role, start, pool=681280, day="2026-09-14", more=()):
    mode = "null" if role == "unified" else role
    return "".join(f"[{day} {t}] {m}\n" for t, m in [
        (start, f"server_args=ServerArgs(model_path='/models/m-1t', context_length=1048576, page_size=64, host='0.0.0.0', port=30000, "
                f"tp_size=1, dp_size=1, disaggregation_mode='{mode}', disaggregation_transfer_backend='mooncake')"),
        (start[:6] + "20", f"max_total_num_tokens={pool}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
                              f"max_running_requests=24, context_len=1048576, available_gpu_mem=2.74 GB"),
        (start[:6] + "40", "The server is fired up and ready to roll!"), *more])


def info(role, version, at, pool=681280, day="2026-09-14"):
    mode = "null" if role == "unified" else role
    return f"# collected {day}T{at}Z by hand\n" + json.dumps(
        {"model_path": "/models/m-1t", "context_length": 1048576, "host": "0.0.0.0", "port": 30000, "page_size": 64, "tp_size": 1, "dp_size": 1,
         "disaggregation_mode": mode, "disaggregation_transfer_backend": "mooncake", "max_total_num_tokens": pool,
         "max_req_input_len": min(1048576, pool) - 6, "internal_states": [{}], "version": version})


def freeze(name, version, at):
    return f"# collected 2026-09-14T{at}Z on {name}\ntorch==2.8.0\nsglang=={version}\n"


def pod(name, started, restarts=0):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"role": "prefill"}},
            "spec": {"nodeName": "gpu-1", "containers": [{"name": "engine", "image": "registry.example/engine:v1"}]},
            "status": {"phase": "Running", "containerStatuses": [
                {"name": "engine", "image": "registry.example/engine:v1", "imageID": "registry.example/engine@" + DIGEST,
                 "restartCount": restarts, "state": {"running": {"startedAt": started}}}]}}


FILES = {
    "fixed-0/engine.log": log("prefill", "08:00:00", more=[
        ("08:40:00", "Input length (700123 tokens) exceeds the maximum allowed length (681274 tokens). Use a shorter input or enable "
                     "--allow-auto-truncate., self.rid='31c9'")]),
    "fixed-0/server_info.json": info("prefill", "0.5.22", "08:30:00"),
    "affected-0/engine.log": log("decode", "08:00:00", 1200000),
    "affected-0/server_info.json": info("decode", "0.5.21", "08:30:00", 1200000),
    "conflict-0/engine.log": log("prefill", "08:00:00"),
    "conflict-0/server_info.json": info("prefill", "0.5.22", "08:30:00"),
    "conflict-0/pip-freeze.txt": freeze("conflict-0", "0.5.21", "09:00:00"),
    "served-0/engine.log": log("prefill", "08:00:00"),
    "served-0/server_info.json": info("prefill", "0.5.22", "08:30:00"),
    "served-0/requests.jsonl": json.dumps(
        {"timestamp": "2026-09-14T09:10:01", "event": "request.finished", "rid": "p1", "obj": {"bootstrap_room": 77, "stream": False},
         "out": {"meta_info": {"id": "p1", "finish_reason": {"type": "length"}, "prompt_tokens": 700123, "completion_tokens": 1}}}) + "\n",
    "restart-0/engine.log": log("decode", "06:00:00", 1200000, more=[("09:00:00", "Finished server process [4711]")]) +
    log("decode", "09:05:00", 1200000),
    "restart-0/server_info.json": info("decode", "0.5.21", "06:30:00", 1200000),
    "restart-0/server_info_2.json": info("decode", "0.5.22", "09:30:00", 1200000),
    "stale-0/engine.log": log("prefill", "08:00:00", day="2026-09-01"),
    "stale-0/server_info.json": info("prefill", "0.5.22", "08:30:00", day="2026-09-01"),
    "kube-0/engine.log": log("prefill", "08:00:00"),
    "kube-0/server_info.json": info("prefill", "0.5.22", "08:30:00"),
    "pods.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": [pod("kube-0", "2026-09-14T09:30:00Z"), pod("image-0", "2026-09-14T07:00:00Z")],
                             "collected_at": "2026-09-14T09:45:00Z"}),
    "bom.json": json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {
        "timestamp": "2026-09-09T18:00:00Z", "component": {"type": "container", "name": "registry.example/engine", "version": DIGEST,
                                                           "purl": "pkg:oci/engine@" + DIGEST.replace(":", "%3A")}},
        "components": [{"type": "library", "name": "sglang", "version": "0.5.22", "purl": "pkg:pypi/sglang@0.5.22"}]}),
    "dev-0/engine.log": log("decode", "08:00:00", 1200000),
    "dev-0/server_info.json": info("decode", "0.5.22.dev3+gabcdef01", "08:30:00", 1200000),
    "disk-0/pip-freeze.txt": freeze("disk-0", "0.5.22", "09:00:00"),
    "uni-0/engine.log": log("unified", "08:00:00"),
    "uni-0/server_info.json": info("unified", "0.5.21", "08:30:00"),
    "silent-0/engine.log": log("decode", "08:00:00", 1200000),
    "gone-0/engine.log": log("decode", "06:00:00", 1200000, more=[("07:00:00", "Finished server process [4711]")]),
    "gone-0/server_info.json": info("decode", "0.5.21", "06:30:00", 1200000),
    "ended-0/engine.log": log("decode", "06:00:00", 1200000, more=[("07:00:00", "Finished server process [4711]")]),
    "ended-0/server_info.json": info("decode", "0.5.22", "06:30:00", 1200000),
    "extra-0/engine.log": log("decode", "08:00:00", 1200000),
    "extra-0/server_info.json": info("decode", "0.5.22", "08:30:00", 1200000),
    "gateway/access.jsonl": json.dumps({"request_id": "z-1", "status": 200, "start_time": "2026-09-14T09:10:00Z", "duration": 3000, "method": "POST",
                                        "path": "/v1/completions", "bytes_sent": 900, "bootstrap_room": 77, "prompt_tokens": 700123,
                                        "completion_tokens": 20, "tenant": "a", "upstream_host": "10.0.0.9:30000"}) + "\n" +
    json.dumps({"request_id": "z-2", "status": 413, "start_time": "2026-09-14T09:50:00Z", "duration": 2, "method": "POST",
                "path": "/v1/completions", "bytes_sent": 90, "prompt_tokens": 800000, "completion_tokens": 0, "tenant": "a"}) + "\n",
}
for number, (file, text) in enumerate(sorted(FILES.items())):  # files of the same bytes would be one
    FILES[file] = text.replace("tp_size=1, dp_size=1,", f"random_seed={number}, tp_size=1, dp_size=1,").replace(
        '"tp_size": 1,', f'"random_seed": {number}, "tp_size": 1,')
INVENTORY = "\ufeffreplica,role,state,retired_at,rack,image_digest\r\n" + "".join(f"{n},,,,\"a,\n1\",\r\n" for n in (
    "fixed-0 affected-0 conflict-0 served-0 restart-0 stale-0 kube-0 image-0 dev-0 disk-0 uni-0 silent-0 lost-0 ended-0").split()) + \
    "gone-0,decode,retired,2026-09-14T07:00:00Z,,\r\n"
