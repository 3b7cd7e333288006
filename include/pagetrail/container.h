/* SPDX-License-Identifier: Apache-2.0 */
/* container.h - what names a container: its image by digest, its role by labels; the same for evidence and for an inventory */
#pragma once

#include "pagetrail/arena.h"
#include "pagetrail/json.h"

/* "sha256:…" in lower case out of an image's name, address or id, behind `sha256:` or, percent-encoded, `sha256%3A`; also
 * 64 bare digits. Empty: none. A digest of another length or kind is none. */
struct text image_digest(struct arena *a, struct text t);

/* Labels whose job it is to name a role come first (llm-d's is "prefill", "decode" or "both"); of the others a value counts
 * when it has one of the two words, and only as long as no other label has the other. NULL: not known. */
const char *labels_role(struct json_value labels);
