/* SPDX-License-Identifier: Apache-2.0 */
/* side_file.h - private to report: XML that a person gives beside the case */
#pragma once

#include "facts.h"

/* Read and valid by the schema of reports/, of at most so many bytes, or ERR_INPUT with line and fault. *ret is the caller's (xmlFreeDoc). */
int side_file_read(xmlDocPtr *ret, const struct report_options *o, const char *schema, const char *what,
		   struct text content, size_t max, struct err *err) MUST_CHECK;
/* Of the document; {NULL, 0} when there is none. */
struct text side_attr(xmlNodePtr node, const char *name);
struct text side_text(xmlNodePtr node); /* without white space around it */
bool side_is(xmlNodePtr node, const char *name);
xmlNodePtr side_first(xmlNodePtr parent, const char *name);
xmlNodePtr side_next(xmlNodePtr node); /* the next one of the same name */
