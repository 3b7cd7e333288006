/* SPDX-License-Identifier: Apache-2.0 */
/* put.h - writing what came into JSON (private to the layer) */
#pragma once

#include "pagetrail/live.h"

/* "name":"…" or "name":null for an empty text, with a comma behind it. */
int live_put_member(struct buf *b, const char *name, struct text t, struct err *err) MUST_CHECK;
int live_put_time(struct buf *b, const char *name, int64_t ns, struct err *err) MUST_CHECK;
/* The bytes exactly: "NAME":"…" where they are UTF-8 without odd control characters, else "NAME_base64":"…". */
int live_put_bytes(struct buf *b, const char *name, struct text bytes, struct err *err) MUST_CHECK;
/* Members of a call that ended: peer, TLS, status, outcome, bytes, hash, times; each with a comma behind it. */
int live_put_call(struct buf *b, const struct live_call *c, struct err *err) MUST_CHECK;
