/* SPDX-License-Identifier: Apache-2.0 */
/* lines.c - log files in memory: lines are written with their time, in any order, and sorted when the file is written
 *
 * The sort keeps lines of one time in the order of writing, so the file is a function of the model alone.
 */
#include "model.h"
#include "pagetrail/array.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A rehearsal of the default size stays far below; a larger one is refused rather than swapped. */
#define FILE_MAX_BYTES (1024 * MIB)

void model_fail(struct model *m, int rc)
{
	if (!m->rc)
		m->rc = rc;
}

bool model_grow(struct model *m, void *array, size_t n, size_t *cap, size_t size)
{
	if (!m->rc)
		model_fail(m, grow_array(array, cap, n, size, m->err));
	return !m->rc;
}

void lines_begin(struct model *m, struct lines *l, int64_t at_us)
{
	if (!l->text.max)
		l->text = BUF_INIT(FILE_MAX_BYTES);
	if (!model_grow(m, &l->at, l->n, &l->cap, sizeof(*l->at)))
		return;
	l->at[l->n++] = (struct line){at_us, l->text.len, 0};
}

void lines_put(struct model *m, struct lines *l, const char *fmt, ...)
{
	va_list ap;

	if (m->rc)
		return;
	va_start(ap, fmt);
	model_fail(m, buf_vprintf(&l->text, m->err, fmt, ap));
	va_end(ap);
}

void lines_end(struct model *m, struct lines *l)
{
	if (m->rc)
		return;
	model_fail(m, buf_add_char(&l->text, '\n', m->err));
	l->at[l->n - 1].len = l->text.len - l->at[l->n - 1].off;
}

static int line_cmp(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;

	if (a->at_us != b->at_us)
		return a->at_us < b->at_us ? -1 : 1;
	return a->off < b->off ? -1 : a->off > b->off;
}

void lines_file(struct model *m, const char *path, struct text bytes)
{
	char full[4096];
	int fd, n = snprintf(full, sizeof(full), "%s/%s", m->options->dir, path);

	if (m->rc)
		return;
	if (n < 0 || (size_t)n >= sizeof(full)) {
		model_fail(m, err_set(m->err, ERR_USAGE, "the folder's name is too long"));
		return;
	}
	fd = open(full, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	while (fd >= 0 && bytes.len) {
		ssize_t done = write(fd, bytes.ptr, bytes.len);

		if (done < 0)
			break;
		bytes = text_from(bytes, (size_t)done);
	}
	if (fd < 0 || bytes.len) {
		model_fail(m, err_set_errno(m->err, ERR_IO, "cannot write"));
		err_where(m->err, "%s", full);
	}
	if (fd >= 0 && close(fd) && !m->rc) {
		model_fail(m, err_set_errno(m->err, ERR_IO, "cannot write"));
		err_where(m->err, "%s", full);
	}
}

void lines_sort(struct model *m, struct lines *l)
{
	if (!m->rc && l->n)
		qsort(l->at, l->n, sizeof(*l->at), line_cmp);
}

void lines_part(struct model *m, const struct lines *l, size_t from, size_t to, const char *path)
{
	struct buf part = BUF_INIT(FILE_MAX_BYTES);

	for (size_t i = from; i < to && !m->rc; i++)
		model_fail(m, buf_add(&part, l->text.ptr + l->at[i].off, l->at[i].len, m->err));
	lines_file(m, path, buf_text(&part));
	buf_done(&part);
}

void lines_write(struct model *m, struct lines *l, const char *path)
{
	lines_sort(m, l);
	if (!m->rc && l->n)
		lines_part(m, l, 0, l->n, path);
	lines_done(l);
}

void lines_done(struct lines *l)
{
	buf_done(&l->text);
	free(l->at);
	*l = (struct lines){0};
}

void out_put(struct out *o, const char *fmt, ...)
{
	va_list ap;

	if (o->m->rc)
		return;
	va_start(ap, fmt);
	model_fail(o->m, buf_vprintf(&o->b, o->m->err, fmt, ap));
	va_end(ap);
}

void us_plain(int64_t us, char out[20])
{
	char iso[40];

	stamp_format(us / US_PER_S * NS_PER_S, iso, sizeof(iso));
	memcpy(out, iso, 19);
	out[10] = ' ';
	out[19] = 0;
}

void us_iso_ms(int64_t us, char out[32])
{
	us_plain(us, out);
	out[10] = 'T';
	snprintf(out + 19, 13, ".%03dZ", (int)(us / 1000 % 1000));
}
