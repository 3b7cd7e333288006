/* SPDX-License-Identifier: Apache-2.0 */
/* derive.h - private to report: what a document says, in other forms. They compute nothing, and leave nothing out but figures, which
 * are drawn from its tables. */
#pragma once

#include <libxml/tree.h>

#include "pagetrail/buf.h"

/* Elements as members of their own name, lists of them as arrays; cells have the type of their column. */
int derive_json(xmlDocPtr doc, struct buf *out, struct err *err) MUST_CHECK;
/* As text, or as Markdown (CommonMark with tables), in which no text of the document is markup. */
int derive_text(xmlDocPtr doc, bool markdown, struct buf *out, struct err *err) MUST_CHECK;
