/* SPDX-License-Identifier: Apache-2.0 */
/* live_attempts.c - format live-attempts: what `snapshot` asked of running nodes, and what became of it (docs/live.md)
 *
 * One line a request: when, of whom, what came. An answer that was understood is a source of its own; the bytes of all others
 * stand here, and nothing is read out of them: they are evidence of an attempt, not of a node.
 */
#include "pagetrail/json_scan.h"
#include "pagetrail/parser.h"

static bool begins(struct text record)
{
	return text_starts(record, "{\"pagetrail\":\"attempt\",");
}

static enum bid live_attempts_bid(struct parse *p, struct text record)
{
	(void)p;
	return begins(record) ? BID_STRONG : BID_NO;
}

static int live_attempts_record(struct parse *p, struct text record)
{
	struct json_scan s = scan_of(record);
	struct text whole;
	if (!record.len)
		return RECORD_CONTEXT;
	if (!begins(record))
		return parse_refuse(p, "not_an_attempt");
	return scan_value(&s, &whole) && whole.len == text_trim(record).len ? RECORD_CONTEXT : parse_refuse(p, "torn");
}

const struct parser parser_live_attempts = {
    .name = "live-attempts",
    .summary = "what 'snapshot' asked of running nodes, and what became of it",
    .checked = "this version (docs/live.md)",
    .bid = live_attempts_bid,
    .record = live_attempts_record,
};
