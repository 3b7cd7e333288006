/* SPDX-License-Identifier: Apache-2.0 */
/* parser.h - the whole contract of a log format
 *
 * A format is one file parsers/NAME.c that exports exactly one symbol, `const struct parser parser_NAME`, and a
 * folder tests/parsers/NAME/ with samples (CASE.log) and what they must give (CASE.expect). Nothing else changes.
 *
 * A source is a stream of records. For line formats a record is one line, without its LF or CR LF; the framework
 * finds the lines, gives them in order, and does the accounting; of binary formats it asks each record's length. The parser says what each record was:
 *   PARSED     it carried at least one event, now emitted
 *   CONTEXT    recognised, carries no event
 *   UNPARSED   not understood; set p->reason to a stable, lower-case code ("torn", "json_syntax", …)
 *   CONTINUES  part of the record before (traceback line, rest of a torn record): is accounted like that one
 * Bad input is data: it never is an error. Negative ERR_* are for memory and bugs only.
 *
 * Trust: text inside a record may imitate records. Only what begins at a record's start counts, or what split()
 * cut; never search a record's quoted parts for another record.
 * Threads: a parser has no static mutable data; one struct parse belongs to one source and one thread.
 */
#pragma once

#include "pagetrail/buf.h"
#include "pagetrail/event.h"
#include "pagetrail/json.h"
#include "pagetrail/pattern.h"

enum verdict { RECORD_PARSED = 1, RECORD_CONTEXT = 2, RECORD_UNPARSED = 3, RECORD_CONTINUES = 4 };

enum bid { BID_NO = 0, BID_WEAK = 1, BID_STRONG = 2 };

enum shape {
	SHAPE_LINES = 0,    /* records are lines */
	SHAPE_DOCUMENT = 1, /* the whole source is one record (up to DOCUMENT_MAX_BYTES) */
	SHAPE_BINARY = 2,   /* records say their own length, and follow each other without anything between */
};

struct parse;

/* One line shape, its sample beside it, and what is taken from it. Fields are optional but name and sample. */
struct line_pattern {
	const char *name;
	const char *starts; /* literal the message must start with, tried before the regex; NULL: none */
	const char *regex;  /* PCRE2, extended: write blanks as \x20 or [ ]; named groups; NULL: `starts` is enough */
	const char *sample; /* a message (without envelope) that this pattern, and no other, matches */
	/* Fills and emits events from the match; returns a verdict or ERR_*. NULL: context. */
	int (*take)(struct parse *p, const struct match *m, struct text message);
};

struct parser {
	const char *name;    /* MUST: as the user types it: lower case, '-' for '_' of the file name */
	const char *summary; /* MUST: one line for `formats list` */
	const char *checked; /* MUST: versions whose source or real output was read */
	enum shape shape;
	/* MAY. Names of formats, with blanks between, whose logs hold records of this one and hand them on: in a log where
	 * both bid, the host leads. */
	const char *hosts;
	uint32_t emits;                      /* MUST: bit per enum event_kind */
	size_t state_bytes;                  /* zeroed memory per source at p->state */
	const struct line_pattern *patterns; /* MAY: tested against their samples by the suite */
	size_t n_patterns;
	/* MUST. Is this record of my format? Stateless, cheap, no allocation beyond p->scratch. STRONG: nobody else
	 * writes this. WEAK: looks like it, but others write such lines too. */
	enum bid (*bid)(struct parse *p, struct text record);
	/* MAY. Length of the first record in a line (or len): for formats whose records can begin mid-line. */
	size_t (*split)(struct parse *p, struct text line);
	/* MUST for SHAPE_BINARY. Bytes of the record that begins t, whether or not all of it is there; 0: more bytes are
	 * needed to say (never with LENGTH_HEAD_MAX_BYTES at hand); SIZE_MAX: none begins here. Stateless, cheap, and strict:
	 * where the place was lost, it is asked at each byte. bid() then decides, with the whole record. */
	size_t (*length)(struct text t);
	/* MUST. One record -> verdict, events by parse_emit(). */
	int (*record)(struct parse *p, struct text record);
	/* MAY. End of source: flush what was held. */
	int (*finish)(struct parse *p);
	/* MAY. Compiles patterns and the like. */
	int (*open)(struct parse *p);
	void (*close)(struct parse *p);
};

/* One source being parsed. Fields marked (in) are for the parser to read. */
struct parse {
	const struct parser *parser;
	void *state;               /* (in) parser's own */
	struct arena scratch;      /* (in) reset before every record */
	struct json *json;         /* (in) reusable JSON parser; handles live until the next json_parse */
	struct match *match;       /* (in) scratch for pattern_search */
	struct pattern **compiled; /* (in) parser->patterns compiled, same index; NULL entry: no regex */
	bool padded;               /* (in) record has BUF_PADDING readable bytes behind it */
	struct err *err;           /* (in) for functions that want one */
	const char *reason;        /* (out) why a record is UNPARSED; must be a string literal */
	struct text inner;         /* (out) see parse_delegate */
	struct event row;          /* the event being built by parse_begin() */
	uint64_t record_off;
	uint32_t record_len;
	struct stamp fallback; /* (in) outer time of a wrapper, or the last known stamp; STAMP_NONE if none */
	/* (in) about when the source was written, for stamps without a year (stamp_yearless): a date in its name, or
	 * STAMP_INTERPOLATED, when its file was written last */
	struct stamp era;
	/* where emitted events go (set by the framework) */
	int (*sink)(void *ctx, const struct event *e, struct err *err);
	void *sink_ctx;
	/* other formats for records that are not this parser's own (set by the framework) */
	int (*delegate)(void *ctx, struct parse *p, struct text record);
};

/* --- building events (implemented in base/parse.c) --- */

/* Starts an event of `kind` for the record at hand; returns &p->row, cleared. Without a time it has p->fallback. */
struct event *parse_begin(struct parse *p, enum event_kind kind, struct stamp ts);
/* Set a column. Texts are borrowed until parse_emit(); empty texts are left unknown; parse_emit() cuts names at
 * NAME_MAX_BYTES, ending them in "…" and a hash of the whole so that different names stay different, and "message"
 * columns at MESSAGE_MAX_BYTES, ending in "…". Impossible column types are a bug (assert). */
void event_int(struct event *e, unsigned column, int64_t v);
void event_text(struct event *e, unsigned column, struct text t);
void event_flag(struct event *e, unsigned column, bool v);
/* Sets an integer from digits (text_count); unknown when they are not a number or above TOKENS_MAX. */
void event_count(struct event *e, unsigned column, struct text digits);
void event_runs(struct event *e, const struct page_run *runs, uint32_t n);
void event_worker(struct event *e, struct text worker);
/* Gives the row to the framework. 0 or ERR_*. */
int parse_emit(struct parse *p) MUST_CHECK;

/* Offers a record (or the part of it behind an envelope) to the other formats: request JSON between engine lines.
 * Returns the verdict of the format that bid STRONG on it, RECORD_UNPARSED when none did, or ERR_*. */
int parse_delegate(struct parse *p, struct text record) MUST_CHECK;

/* Says why a record is not understood; reason is a string literal. Returns RECORD_UNPARSED. */
int parse_refuse(struct parse *p, const char *reason);

/* The JSON document in t, of which every word counts: 0 read; RECORD_UNPARSED ("json_syntax", or "member_twice" where an object has two
 * members of one name); or ERR_*. */
int parse_document(struct parse *p, struct text t, bool padded, struct json_value *ret) MUST_CHECK;
/* A record that is JSON: 0 read; RECORD_UNPARSED ("json_syntax", "torn" where its end is missing, or "member_twice" as below); or
 * ERR_*. */
int parse_json(struct parse *p, struct text record, bool padded, struct json_value *ret) MUST_CHECK;
/* 0; RECORD_UNPARSED where a record has two members of one name that say different things: which is meant, nobody can know, and a
 * wrong one could clear somebody; or ERR_*. */
int parse_contradicts(struct parse *p, struct json_value doc) MUST_CHECK;

/* Runs parser->patterns over a message: first whose `starts` fits and whose regex matches. Returns its verdict (CONTEXT
 * for a pattern without take), RECORD_UNPARSED when none matched, or ERR_*. */
int parse_patterns(struct parse *p, struct text message) MUST_CHECK;

/* parse_open() makes a struct parse ready (compiles patterns, allocates state); parse_close() frees it. sink, sink_ctx
 * and delegate are left as they are: zero the struct, then set them before or after. parser->close() runs only for
 * formats with state, also when open() failed: it must bear zeroed state. */
int parse_open(struct parse *p, const struct parser *parser, struct err *err) MUST_CHECK;
void parse_close(struct parse *p); /* accepts a zeroed one */

extern const struct parser *const parsers[]; /* generated from parsers/; only cli and tests see it */
extern const size_t n_parsers;

const struct parser *parser_find(const struct parser *const *list, size_t n, struct text name);
