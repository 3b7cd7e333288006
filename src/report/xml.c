/* SPDX-License-Identifier: Apache-2.0 */
/* xml.c - building blocks of the canonical document
 *
 * Invariant: foreign text enters the document here alone, through text_visible(), so that it stays well-formed and
 * inert whatever the logs held (libxml2's writers do not escape control characters).
 */
#include <inttypes.h>
#include <stdio.h>

#include "facts.h"
#include "pagetrail/stamp.h"

xmlNodePtr put_node(struct facts *f, xmlNodePtr parent, const char *name)
{
	return parent ? xmlNewChild(parent, f->ns, XC(name), NULL) : NULL;
}

/* t as the document may hold it, in f->scratch. */
static int make_visible(struct facts *f, struct text t)
{
	buf_clear(&f->scratch);
	return text_visible(t, CELL_MAX_BYTES, &f->scratch, f->err);
}

int put_text(struct facts *f, xmlNodePtr node, struct text t)
{
	int rc = make_visible(f, t);
	if (rc)
		return rc;
	const char *bytes = f->scratch.ptr ? f->scratch.ptr : "";
	xmlNodePtr text = node ? xmlNewDocTextLen(f->doc, XC(bytes), (int)f->scratch.len) : NULL;
	return text && xmlAddChild(node, text) ? 0 : err_nomem(f->err);
}

int put_attr(struct facts *f, xmlNodePtr node, const char *name, struct text t)
{
	int rc = make_visible(f, t);
	if (rc)
		return rc;
	const char *bytes = f->scratch.ptr ? f->scratch.ptr : "";
	return node && xmlNewProp(node, XC(name), XC(bytes)) ? 0 : err_nomem(f->err);
}

int put_attr_int(struct facts *f, xmlNodePtr node, const char *name, int64_t v)
{
	char tmp[32];
	snprintf(tmp, sizeof(tmp), "%" PRId64, v);
	return put_attr(f, node, name, text_of(tmp));
}

int put_element(struct facts *f, xmlNodePtr parent, const char *name, struct text t)
{
	return put_text(f, put_node(f, parent, name), t);
}

int put_time(struct facts *f, xmlNodePtr parent, const char *name, int64_t ns)
{
	char tmp[64];
	return ns == TIME_UNKNOWN ? 0 : put_element(f, parent, name, text_of(stamp_format(ns, tmp, sizeof(tmp))));
}

int keep_said(struct facts *f, struct text t)
{
	int rc = buf_add_text(&f->said, t, f->err);
	return rc ? rc : buf_add_text(&f->said, TEXT("\n|\n"), f->err);
}
