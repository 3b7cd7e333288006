/* SPDX-License-Identifier: Apache-2.0 */
/* site.c - the formats of the program, and the one that --map describes */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#include "pagetrail/map.h"

void say_note(void *ctx, struct text what)
{
	(void)ctx;
	CLEANUP(buf_done) struct buf b = BUF_INIT(64 * KIB);
	if (!text_visible(what, CELL_MAX_BYTES, &b, NULL))
		fprintf(stderr, "pagetrail: note: %s\n", b.ptr);
}

static int add_map(struct site_formats *s, const char *path, struct err *err)
{
	int rc = map_load(&s->map, path, say_note, NULL, err);
	if (rc < 0)
		return rc;
	const struct parser *p = map_parser(s->map);
	struct text name = text_sub(text_of(p->name), 0, text_find_char(text_of(p->name), '@', 0));
	if (parser_find(parsers, n_parsers, name)) {
		err_set(err, ERR_INPUT, "the map is called like the format '%.*s'", TEXT_ARG(name));
		err_where(err, "%s", path);
		return err_hint(err, "give it another name");
	}
	memmove(s->list + 1, s->list,
		s->n++ * sizeof(*s->list)); /* first: a record inside another one is offered in order */
	s->list[0] = p;
	return 0;
}

int site_open(struct site_formats *s, const char *map, struct err *err)
{
	*s = (struct site_formats){.list = calloc(n_parsers + 1, sizeof(*s->list)), .n = n_parsers};
	if (!s->list)
		return err_nomem(err);
	memcpy(s->list, parsers, n_parsers * sizeof(*s->list));
	return map ? add_map(s, map, err) : 0;
}

int site_proved(const struct site_formats *s, const char *map, struct err *err)
{
	int rc = s->map ? map_prove(s->map, NULL, NULL, err) : 0;
	if (rc != 1)
		return rc;
	err_set(err, ERR_INPUT, "a sample of the map does not give what the map says");
	err_where(err, "%s", map);
	return err_hint(err, "see 'pagetrail formats test --map %.150s'; nothing was stored", map);
}

void site_close(struct site_formats *s)
{
	map_free(s->map);
	free(s->list);
	*s = (struct site_formats){0};
}
