/* SPDX-License-Identifier: Apache-2.0 */
/* map.h - what a map says, taken apart (private to the map_*.c) */
#pragma once

#include "pagetrail/digest.h"
#include "pagetrail/map.h"

enum {
	MAP_MAX_BYTES = 64 * 1024, /* it is kept with every source that was read with it */
	SHAPES_MAX = 32,
	FIELDS_MAX = 40,
	FROM_MAX = 8,
	VALUES_MAX = 64,
	WHEN_MAX = 16,
	SAMPLES_MAX = 256,
	VALUE_TMP = 40,
};

/* Where a field goes to that is no column. */
enum { TO_DURATION = 64, TO_WORKER };

struct map_from { /* paths of a JSON record or groups of an expression: the first that holds something counts */
	const char *at[FROM_MAX];
	unsigned n;
};

enum time_format { TIME_ANY, TIME_ISO, TIME_CLF, TIME_NUMBER, TIME_PATTERN };
enum time_means { TIME_IS_LOG, TIME_IS_START, TIME_IS_END };

struct map_time {
	struct map_from from;
	enum time_format format;
	int64_t unit_ns;     /* of TIME_NUMBER */
	const char *pattern; /* of TIME_PATTERN */
	struct zone *zone;   /* NULL: what the record or the source says */
	enum time_means means;
};

struct map_value { /* what stands in the record, and what it means */
	struct text was, text;
	int64_t n;
	bool any, known, is_number; /* any: "*" */
};

struct map_field {
	unsigned to; /* a column of the shape's kind, or TO_… */
	struct map_from from;
	double scale; /* 0: as it is */
	bool must, constant, is_bool;
	struct map_time time; /* of a column that is a time */
	struct map_value *values;
	unsigned n_values;
};

struct map_when {
	struct map_from from;
	const struct text *is; /* one of them; none: something stands there */
	unsigned n_is;
	bool starts; /* it begins so */
};

struct map_shape {
	const char *name;
	bool context; /* "event": "none" */
	enum event_kind kind;
	struct pattern *regex; /* NULL: JSON */
	struct map_when when[WHEN_MAX];
	unsigned n_when;
	struct map_time time;
	struct map_field fields[FIELDS_MAX];
	unsigned n_fields;
};

struct map_sample {
	struct text record;
	struct json_value gives; /* of the map's own document */
};

struct map {
	struct parser parser; /* first: a parser that is a map's is the map */
	char name[NAME_MAX_BYTES + 1], sha256[SHA256_HEX];
	struct arena arena;
	struct json *json; /* of the text: values and samples live in it */
	struct text text;
	bool is_json;
	struct map_shape *shapes;
	unsigned n_shapes;
	struct map_sample *samples;
	unsigned n_samples;
};

/* A record as a map sees it. */
struct map_view {
	struct json_value doc; /* of a JSON map */
	const struct match *match;
};

/* map_parse.c. The first shape that the record has, NULL: none. ERR_LIMIT: an expression took too many steps. */
int map_fit(const struct map *m, struct parse *p, struct text record, struct map_view *v,
	    const struct map_shape **ret) MUST_CHECK;
/* Does what the shape asks for stand in the record? *ret_missing: the first path or group that does not. */
bool map_has_all(const struct map_shape *s, const struct map_view *v, const char **ret_missing);
int map_record(struct parse *p, struct text record);
enum bid map_bid(struct parse *p, struct text record);
/* A time out of a text. */
bool map_stamp(const struct map_time *t, struct text text, struct stamp *ret);
/* map_state of a parser. */
size_t map_state_bytes(void);
