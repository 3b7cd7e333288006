/* SPDX-License-Identifier: Apache-2.0 */
/* xml_scan.h - XML read forward, once, with the places of what is read: for documents of others
 *
 * It opens nothing and makes nothing longer: no document types, no entities but the five that XML itself has and references to
 * characters. Elements must close in order, attributes must be quoted and differ. Nesting is limited by XML_DEPTH_MAX.
 */
#pragma once

#include "pagetrail/buf.h"
#include "pagetrail/limits.h"

enum xml_token { XML_BROKEN = -1, XML_OVER = 0, XML_OPEN, XML_CLOSE, XML_TEXT };

struct xml_scan {
	const char *p, *end;
	struct text open[XML_DEPTH_MAX]; /* names of the elements around */
	unsigned depth;
	struct text name, attributes; /* XML_OPEN; its name, XML_CLOSE: as they are written, with their prefix */
	struct text text;             /* XML_TEXT: a piece, raw */
	bool literal;                 /* it has no references: CDATA */
	bool closing, rooted;
	const char *fault; /* XML_BROKEN: "xml_syntax", "xml_depth" or "xml_doctype" */
};

struct xml_scan xml_scan_of(struct text t);
enum xml_token xml_next(struct xml_scan *s);
/* The raw value of an attribute of the element that was opened last; false: it has none of that name. */
bool xml_attribute(const struct xml_scan *s, const char *name, struct text *ret);
/* Appends what a raw piece says. 1: it holds a reference that is none of XML's own; else 0 or ERR_*. */
int xml_unescape(struct text raw, bool literal, struct buf *b, struct err *err) MUST_CHECK;
