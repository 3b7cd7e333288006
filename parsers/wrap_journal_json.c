/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_journal_json.c - wrapper journal-json: journalctl -o json
 *
 * One object a line, all values strings. A value that is no UTF-8 or has control characters is an array of byte numbers, one
 * of several fields of a name an array of these, and one above 4096 bytes is null unless --all was given (systemd
 * src/shared/logs-show.c, JSON_THRESHOLD): its text is lost.
 */
#include "pagetrail/json_scan.h"
#include "wrap_journal.h"

/* [27,91,51]: the bytes. */
static int read_bytes(struct text v, struct arena *a, struct text *ret)
{
	char *out = arena_alloc(a, v.len / 2 + 1 + BUF_PADDING);
	size_t n = 0;

	if (!out)
		return ERR_NOMEM;
	for (size_t i = 1; i + 1 < v.len; i++) {
		unsigned byte = 0, digits = 0;

		while (i + 1 < v.len && v.ptr[i] == ' ')
			i++;
		for (; i + 1 < v.len && v.ptr[i] >= '0' && v.ptr[i] <= '9' && digits < 3; digits++)
			byte = byte * 10 + (unsigned)(v.ptr[i++] - '0');
		while (i + 1 < v.len && v.ptr[i] == ' ')
			i++;
		if (!digits || byte > 255 || (i + 1 < v.len && v.ptr[i] != ','))
			return 0;
		out[n++] = (char)byte;
	}
	*ret = (struct text){out, n};
	return 1;
}

/* 1 the text; 0 there is none that can be read. */
static int read_text(struct text v, struct arena *a, struct text *ret)
{
	struct json_scan s = scan_of(v);
	struct text first;

	if (v.len && v.ptr[0] == '"') {
		*ret = scan_unescape(text_sub(v, 1, v.len - 2), a);
		return ret->ptr ? 1 : ERR_NOMEM;
	}
	if (!scan_open(&s, '['))
		return 0;
	if (scan_peek(&s) != '"' && scan_peek(&s) != '[')
		return read_bytes(v, a, ret);
	if (!scan_value(&s, &first) || !first.len)
		return 0;
	if (first.ptr[0] == '[')
		return read_bytes(first, a, ret);
	*ret = scan_unescape(text_sub(first, 1, first.len - 2), a);
	return ret->ptr ? 1 : ERR_NOMEM;
}

/* Raw values; 1 an entry, 0 another object, -1 it breaks off. */
static int read_line(struct text t, struct text *raw)
{
	struct json_scan s = scan_of(t);
	struct text key, v;
	int r;

	if (!scan_open(&s, '{'))
		return 0;
	while ((r = scan_member(&s, &key)) == 1) {
		enum journal_field i = journal_field(key);

		if (!scan_value(&s, &v))
			return -1;
		if (i < J_FIELDS && !raw[i].len)
			raw[i] = v;
	}
	if (r < 0 || !scan_over(&s))
		return -1;
	return raw[J_TIME].len > 2 && raw[J_TIME].ptr[0] == '"';
}

static enum bid bid(struct unwrap *u, struct text record)
{
	struct text raw[J_FIELDS] = {{NULL, 0}};

	(void)u;
	return read_line(record, raw) == 1 ? BID_STRONG : BID_NO;
}

static int record(struct unwrap *u, struct text record)
{
	struct text raw[J_FIELDS] = {{NULL, 0}}, f[J_FIELDS] = {{NULL, 0}};
	struct wrapped w = {0};
	int r = read_line(record, raw);

	if (r != 1)
		return unwrap_refuse(u, r < 0 ? "torn" : "no_journal");
	for (unsigned i = J_TIME; i < J_FIELDS; i++)
		if (raw[i].len > 2 && raw[i].ptr[0] == '"')
			f[i] = text_sub(raw[i], 1, raw[i].len - 2);
	if (!raw[J_MESSAGE].len)
		return RECORD_CONTEXT;
	journal_facts(f, &w);
	r = read_text(raw[J_MESSAGE], &u->scratch, &w.text);
	if (r <= 0)
		return r < 0 ? err_nomem(u->err)
			     : unwrap_refuse(u, text_is(raw[J_MESSAGE], "null") ? "content_left_out" : "odd_message");
	r = unwrap_give(u, &w);
	return r < 0 ? r : RECORD_PARSED;
}

const struct wrapper wrapper_journal_json = {
    .name = "journal-json",
    .summary = "systemd journal, journalctl -o json (with --all: long messages are null without)",
    .checked = "systemd 25x source",
    .many = true,
    .closed = true,
    .bid = bid,
    .record = record,
};
