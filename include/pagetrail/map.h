/* SPDX-License-Identifier: Apache-2.0 */
/* map.h - a format that a site describes itself, in a file and without a compiler (docs/map.md)
 *
 * A map is read, proved on its own samples, and is a format like any other from then on: its parser goes into the list
 * that ingest is given. The parser is called NAME@HASH after the map's text, so that a changed map is another format.
 */
#pragma once

#include "pagetrail/parser.h"

struct map;

/* Reads the text of a map. ERR_INPUT says where, what was expected, and what stands there. warn() gets keys that are not
 * known; may be NULL. */
int map_read(struct map **ret, struct text text, void (*warn)(void *ctx, struct text what), void *ctx,
	     struct err *err) MUST_CHECK;
int map_load(struct map **ret, const char *path, void (*warn)(void *ctx, struct text what), void *ctx,
	     struct err *err) MUST_CHECK;
void map_free(struct map *m); /* accepts NULL */

const struct parser *map_parser(const struct map *m);
/* The map of a parser that is a map's; else NULL. */
const struct map *map_of(const struct parser *p);
struct text map_text(const struct map *m);
const char *map_sha256(const struct map *m);

/* Does every sample give what the map says it must? 0 all do, 1 not, or ERR_*. A line for each sample to write(), which may
 * be NULL. */
int map_prove(const struct map *m, int (*write)(void *ctx, struct text line), void *ctx, struct err *err) MUST_CHECK;

/* The map in a source's format_basis; *ret is NULL when there is none. */
int map_from_basis(struct map **ret, struct text basis, struct err *err) MUST_CHECK;
