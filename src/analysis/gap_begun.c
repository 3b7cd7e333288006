/* SPDX-License-Identifier: Apache-2.0 */
/* gap_begun.c - files that a run of ingest was to read and did not, since it was stopped
 *
 * Nothing else in the case tells of them: no source, no worker. What they would say may be of any time.
 */
#include "pagetrail/begun.h"
#include "resolve.h"

int gap_begun(struct resolve *r, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int res = sql_prepare(&s, r->c, BEGUN_SQL, err);
	while (!res && (res = sql_step(s, err)) == 1) {
		struct text path = text_sub(sql_get_text(s, 0), 0, 300);
		bool counted = sql_type(s, 2) == SQL_INT;
		int64_t files = counted ? sql_get_int(s, 2) : 0, left = files - sql_get_int(s, 3);
		struct gap g = {.kind = "interrupted",
				.source = NO_INDEX,
				.worker = NO_INDEX,
				.from = UNKNOWN,
				.to = UNKNOWN,
				.missing = counted ? MAX(left, 0) : UNKNOWN};
		const char *rest =
		    "nothing in the answers speaks for what is not there; give it to 'pagetrail ingest' again";
		if (!counted)
			g.effect = arena_printf(&r->arena,
						"reading '%.*s' was stopped, and how many of its files are not in the "
						"case is unknown: %s",
						TEXT_ARG(path), rest);
		else
			g.effect = arena_printf(&r->arena,
						"reading '%.*s' was stopped: %lld of its %lld file%s not begun, and "
						"of the last the end may lack: %s",
						TEXT_ARG(path), (long long)MAX(left, 0), (long long)files,
						files == 1 ? " was" : "s were", rest);
		res = gap_add(r, &g, err);
	}
	return res;
}
