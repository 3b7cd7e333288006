# SPDX-License-Identifier: Apache-2.0
# marker_logs.py - response logs with planted markers in some of the answers, and the file of these markers
import json
import os
import random

MARKERS, TEXT_BYTES, EVERY = 10000, 1900, 50  # of EVERY answers one has a marker
WORDS = ("the request was served by another worker and its answer names pages tokens limits of a pool that nobody read before this transfer "
         "began again after an abort while prefill went on to decode what had been written there earlier than expected").split()


def make(folder, size, seed=1):
    """Two files of whole lines, `size` bytes in all: (markers.json, [logs], sightings that are to be found)."""
    r = random.Random(seed)
    texts = []
    for _ in range(2000):
        text = ""
        while len(text) < TEXT_BYTES:
            text += r.choice(WORDS) + r.choice((" ", " ", " ", ", ", ".\\n"))
        texts.append(text)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    markers = ["ptm" + "".join(r.choices(letters, k=21)) for _ in range(MARKERS)]
    planted, written, n, logs = {}, 0, 0, [os.path.join(folder, f"gateway-{i}.jsonl") for i in range(2)]
    for log in logs:
        with open(log, "w", encoding="ascii") as f:
            until = written + size // len(logs)
            while written < until:
                text, n = r.choice(texts), n + 1
                if n % EVERY == 0:
                    marker = r.choice(markers)
                    planted[marker] = planted.get(marker, 0) + 1
                    at = text.index(" ", 900)  # between words, and in no escape
                    text = f"{text[:at]} {marker}{text[at:]}"
                seconds = n // 100
                line = (f'{{"time":"2026-09-{1 + seconds // 86400:02}T{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{n % 100:02}0Z",'
                        f'"request_id":"{r.getrandbits(96):024x}","tenant":"t{n % 40}","status":200,"prompt_tokens":{n % 5000},"completion_tokens":400,'
                        f'"response":{{"choices":[{{"message":{{"role":"assistant","content":"{text}"}}}}]}}}}\n')
                f.write(line)
                written += len(line)
    path = os.path.join(folder, "markers.json")
    with open(path, "w", encoding="ascii") as f:
        json.dump({"markers": [{"marker": m} for m in markers]}, f)
    return path, logs, sum(planted.values())
