/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_journal.h - fields of the systemd journal that say whose an entry is; for both forms that it is exported in
 *
 * systemd.journal-fields(7); CONTAINER_*: moby b985e2313a daemon/logger/journald/journald.go. Kubernetes with Docker names
 * containers k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT.
 */
#pragma once

#include "pagetrail/wrapper.h"

enum journal_field { J_MESSAGE, J_TIME, J_HOST, J_UNIT, J_IDENTIFIER, J_CONTAINER, J_PARTIAL, J_FIELDS };

static const char *const journal_fields[J_FIELDS] = {
    [J_MESSAGE] = "MESSAGE",
    [J_TIME] = "__REALTIME_TIMESTAMP",
    [J_HOST] = "_HOSTNAME",
    [J_UNIT] = "_SYSTEMD_UNIT",
    [J_IDENTIFIER] = "SYSLOG_IDENTIFIER",
    [J_CONTAINER] = "CONTAINER_NAME",
    [J_PARTIAL] = "CONTAINER_PARTIAL_MESSAGE",
};

/* The field that a key names, or J_FIELDS. */
static enum journal_field journal_field(struct text key)
{
	unsigned i = 0;

	while (i < J_FIELDS && !text_is(key, journal_fields[i]))
		i++;
	return (enum journal_field)i;
}

/* Everything but the text. */
static void journal_facts(const struct text *f, struct wrapped *w)
{
	struct text rest, part;
	int64_t us;

	w->ts = STAMP_INIT;
	if (text_int64(f[J_TIME], &us) && us > 0 && us < INT64_MAX / 1000)
		w->ts = (struct stamp){us * 1000, STAMP_ZONED, 1000};
	w->host = f[J_HOST];
	w->unit = f[J_UNIT].len ? f[J_UNIT] : f[J_IDENTIFIER];
	w->container = f[J_CONTAINER];
	w->more = text_is(f[J_PARTIAL], "true");
	if (text_starts(w->container, "k8s_")) {
		rest = text_from(w->container, 4);
		if (text_split(&rest, '_', &w->container) && text_split(&rest, '_', &part))
			w->pod = part;
	}
}
