# SPDX-License-Identifier: Apache-2.0
# signed.py - a key of the standards, and signatures as openssl sees them
import base64
import json
import subprocess

from run import expect

# RFC 8032, section 7.1, test 1; the id is what `openssl pkey -pubout -outform DER | sha256sum` prints
KEY = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n-----END PRIVATE KEY-----\n"
PUBLIC = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n"
KEYID = "06e3fd8fda29bb60ab59557de61edb0aecdb231134be30e75b455f8e1b792fa9"
TYPE = "application/vnd.in-toto+json"


def payload_of(envelope):
    e = json.loads(envelope)
    expect(set(e) == {"payloadType", "payload", "signatures"} and e["payloadType"] == TYPE, f"an envelope: {set(e)}")
    expect([s["keyid"] for s in e["signatures"]] == [KEYID], "the key's id")
    return base64.b64decode(e["payload"], validate=True), base64.b64decode(e["signatures"][0]["sig"], validate=True)


def openssl_says(box, payload, signature, key=PUBLIC):
    pae = b"DSSEv1 %d %s %d %s" % (len(TYPE), TYPE.encode(), len(payload), payload)
    for name, data in (("pae", pae), ("sig", signature), ("key.pub", key)):
        box.write(name, data)
    p = subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "key.pub", "-rawin", "-in", "pae", "-sigfile", "sig"],
                       cwd=box.dir, capture_output=True, timeout=60)
    return p.returncode == 0
