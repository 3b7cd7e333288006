/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - JSON that is not quite JSON: where it breaks, and what can be mended (base only) */
#pragma once

#include "pagetrail/buf.h"
#include "pagetrail/json.h"

EXTERN_C_BEGIN

/* Byte offset of the first thing that JSON does not allow; doc.len when it ends too early. */
size_t json_fault(struct text doc);
/* True when there is a \uD800 … \uDFFF escape that is no half of a pair. */
bool json_lone_surrogate(struct text doc);
/* Appends doc with the known sins of other writers mended (see json_mend.c). */
int json_mend(struct text doc, struct buf *out, struct err *err) MUST_CHECK;

EXTERN_C_END
