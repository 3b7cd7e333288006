/* SPDX-License-Identifier: Apache-2.0 */
/* known.h - files and contents that the case holds already */
#pragma once

#include "session.h"

/* Same stored bytes as before? 1 reported, nothing to read; 0 to be read. */
int known_file(struct session *s, struct source *src, const char *path, struct err *err) MUST_CHECK;
/* Of the sources with this content the first that is not of another worker; *ret 0: none. */
int known_twin(struct session *s, const unsigned char *content, const struct source_result *r, int64_t *ret,
	       struct err *err) MUST_CHECK;
/* Says what the case holds already, under the path of now. now: the file whose content it is, NULL when it has the same
 * stored bytes. beginning: it is only a part of that source, which was longer before. */
int known_report(struct session *s, int64_t source, struct text path, const struct source_result *now, bool beginning,
		 struct err *err) MUST_CHECK;
