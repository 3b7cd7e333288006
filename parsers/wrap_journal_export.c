/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_journal_export.c - wrapper journal-export: journalctl -o export
 *
 * An entry is fields and an empty line. A field is KEY=value and a line end, or, where the value is no plain text, KEY, a line
 * end, its length as 64 bits with the lowest byte first, the value, a line end. So lines do not delimit records here.
 * systemd.io/JOURNAL_EXPORT_FORMATS.
 */
#include <string.h>

#include "wrap_journal.h"

/* The next field of *rest; 1 a field, 0 the empty line at the end of an entry, -1 more bytes are needed, -2 it is none. */
static int next_field(struct text *rest, struct text *key, struct text *value)
{
	const char *nl = memchr(rest->ptr, '\n', rest->len), *eq;
	uint64_t size = 0;
	size_t n, k;

	if (!nl)
		return -1;
	n = (size_t)(nl - rest->ptr);
	if (n == 0) {
		*rest = text_from(*rest, 1);
		return 0;
	}
	eq = memchr(rest->ptr, '=', n);
	*key = text_sub(*rest, 0, eq ? (size_t)(eq - rest->ptr) : n);
	for (k = 0; k < key->len; k++)
		if (!(key->ptr[k] >= 'A' && key->ptr[k] <= 'Z') && !(key->ptr[k] >= '0' && key->ptr[k] <= '9') &&
		    key->ptr[k] != '_')
			return -2;
	if (k == 0 || k > 64)
		return -2;
	if (eq) {
		*value = text_sub(*rest, k + 1, n - k - 1);
		*rest = text_from(*rest, n + 1);
		return 1;
	}
	if (rest->len - n - 1 < 8)
		return -1;
	for (k = 8; k-- > 0;)
		size = size << 8 | (unsigned char)rest->ptr[n + 1 + k];
	if (size > 2 * RECORD_MAX_BYTES)
		return -2;
	if (rest->len - n - 9 < size + 1)
		return -1;
	if (rest->ptr[n + 9 + size] != '\n')
		return -2;
	*value = text_sub(*rest, n + 9, (size_t)size);
	*rest = text_from(*rest, n + 10 + (size_t)size);
	return 1;
}

static size_t frame(struct text t, bool last)
{
	struct text rest = t, key, value;
	int r;

	do
		r = next_field(&rest, &key, &value);
	while (r == 1);
	if (r == -1 && !last)
		return 0;
	if (r == -2) /* what came before is an entry that broke off; the line that is none comes alone */
		return rest.len == t.len ? SIZE_MAX : t.len - rest.len;
	return r == -1 ? t.len : t.len - rest.len;
}

static enum bid bid(struct unwrap *u, struct text record)
{
	struct text rest = record, key, value;
	bool time = false, message = false;

	(void)u;
	while (next_field(&rest, &key, &value) == 1) {
		time |= text_is(key, "__REALTIME_TIMESTAMP");
		message |= text_is(key, "MESSAGE") || text_is(key, "__CURSOR");
	}
	return time && message ? BID_STRONG : BID_NO;
}

static int record(struct unwrap *u, struct text record)
{
	struct text rest = record, key, value, f[J_FIELDS] = {{NULL, 0}};
	struct wrapped w = {0};
	bool has[J_FIELDS] = {false};
	int r;

	while ((r = next_field(&rest, &key, &value)) == 1) {
		enum journal_field i = journal_field(key);

		if (i < J_FIELDS && !has[i]) {
			f[i] = value;
			has[i] = true;
		}
	}
	if (r < 0) /* its end is missing, or it never was an entry */
		return unwrap_refuse(u, rest.len == record.len && r == -2 ? "no_journal" : "torn");
	if (!has[J_MESSAGE])
		return RECORD_CONTEXT;
	journal_facts(f, &w);
	w.text = f[J_MESSAGE];
	r = unwrap_give(u, &w);
	return r < 0 ? r : RECORD_PARSED;
}

const struct wrapper wrapper_journal_export = {
    .name = "journal-export",
    .summary = "systemd journal, journalctl -o export",
    .checked = "systemd.io documents, moby 28 source for its CONTAINER_ fields",
    .many = true,
    .closed = true,
    .bid = bid,
    .record = record,
    .frame = frame,
};
