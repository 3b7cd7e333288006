/* SPDX-License-Identifier: Apache-2.0 */
/* source.c - one stored file and what is packed in it, through libarchive
 *
 * A stack of levels: each is a libarchive reader over a stream, the first over the file, the next over a member of the
 * one below. Only tar, zip and raw are enabled, so that no log text is taken for an odd archive format. Reading goes
 * forward only; the stored bytes are hashed as they are read. A level counts once for each container it undoes, and
 * ARCHIVE_DEPTH_MAX bounds the sum.
 */
#include "source.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gunzip.h"
#include "pagetrail/limits.h"

enum { FILE_BLOCK = 256 * 1024, NAME_MAX_SHOWN = 1024 };

struct file {
	struct stream s;
	struct damage damage;
	int fd;
	struct sha256 *sha;
	uint64_t bytes;
	bool ended, failed;
	char block[FILE_BLOCK];
};

struct level {
	struct stream s; /* the member at hand of this level, as a stream for the level above */
	struct damage damage;
	struct stream *in;
	struct archive *a;
	char *name;
	char container[96]; /* of this level and those below, from the inside out */
	unsigned depth;     /* containers undone up to here, this level included */
	unsigned below;     /* the same without this level */
	bool raw, begun;    /* raw: no archive, one member */
	bool empty;         /* nothing in it: libarchive gives no data block */
	uint64_t pos;       /* bytes of the member given so far */
	const char *part;   /* rest of a data block that was not given yet */
	size_t n_part;
	uint64_t hole;   /* zeros to give before it */
	struct err *err; /* of the call at hand, for the callback */
	int rc;
};

struct source {
	char *path;
	struct file *file;
	uint64_t file_size;
	int64_t mtime_s;
	struct level *levels[ARCHIVE_DEPTH_MAX + 1];
	unsigned n_levels;
	unsigned members;
	bool begun, over;
	struct member member;
	char *name, *link;
	char note[128]; /* why a link or a special member is not read */
};

void damage_set(struct damage *d, bool final, const char *fmt, ...)
{
	d->final = d->final || final;
	if (d->reason[0])
		return;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(d->reason, sizeof(d->reason), fmt, ap);
	va_end(ap);
}

/* --- the file --- */

static int file_fill(struct stream *s, const char **ret, size_t *ret_n, struct err *err)
{
	struct file *f = (struct file *)s;
	*ret = f->block;
	*ret_n = 0;
	if (f->ended)
		return 0;
	ssize_t n;
	do
		n = read(f->fd, f->block, sizeof(f->block));
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		damage_set(s->damage, true, "read error: %s", strerror(errno));
		f->failed = true;
		n = 0;
	}
	f->ended = n == 0;
	f->bytes += (uint64_t)n;
	*ret_n = (size_t)n;
	return n ? sha256_add(f->sha, f->block, (size_t)n, err) : 0;
}

static void file_close(struct file *f)
{
	if (!f)
		return;
	if (f->fd > STDIN_FILENO)
		close(f->fd);
	sha256_free(f->sha);
	free(f);
}

static void keep_open(struct stream *s)
{
	(void)s; /* what is below has another owner */
}

static int file_open(struct source *s, struct err *err)
{
	bool standard = !strcmp(s->path, "-");
	/* O_NONBLOCK: a pipe that took the file's place must not make us wait */
	int fd = standard ? STDIN_FILENO : open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) != 0) {
		int code = err_set(err, ERR_INPUT, "%s", strerror(errno));
		if (fd > STDIN_FILENO)
			close(fd);
		return code;
	}
	if (!standard && !S_ISREG(st.st_mode)) {
		close(fd);
		return err_set(err, ERR_INPUT, "not a regular file");
	}
	if (standard && S_ISDIR(st.st_mode))
		return err_set(err, ERR_INPUT, "standard input is a folder");
	struct file *f = malloc(sizeof(*f));
	if (!f) {
		if (!standard)
			close(fd);
		return err_nomem(err);
	}
	*f = (struct file){.s = {.fill = file_fill, .close = keep_open}, .fd = fd};
	f->s.damage = &f->damage;
	s->file = f;
	s->file_size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	s->mtime_s = S_ISREG(st.st_mode) ? (int64_t)st.st_mtim.tv_sec : INT64_MIN;
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return sha256_new(&f->sha, err);
}

/* --- what is it --- */

static bool magic(struct text head, size_t at, const char *m, size_t n)
{
	return head.len >= at + n && !memcmp(head.ptr + at, m, n);
}

const char *container_of(struct text head)
{
	if (magic(head, 0, "\x1f\x8b\x08", 3))
		return "gzip";
	if (magic(head, 0, "\x28\xb5\x2f\xfd", 4))
		return "zstd";
	if (magic(head, 0,
		  "\xfd"
		  "7zXZ\0",
		  6))
		return "xz";
	if (magic(head, 0, "BZh", 3) && head.len > 9 && head.ptr[3] >= '1' && head.ptr[3] <= '9' &&
	    (magic(head, 4, "\x31\x41\x59\x26\x53\x59", 6) || magic(head, 4, "\x17\x72\x45\x38\x50\x90", 6)))
		return "bzip2";
	if (magic(head, 0, "\x04\x22\x4d\x18", 4))
		return "lz4";
	if (magic(head, 0, "PK\3\4", 4) || magic(head, 0, "PK\5\6", 4))
		return "zip";
	if (magic(head, 257, "ustar", 5))
		return "tar";
	return NULL;
}

/* --- levels --- */

static la_ssize_t on_input(struct archive *a, void *ctx, const void **ret)
{
	struct level *lv = ctx;
	const char *p = NULL;
	size_t n = 0;
	lv->rc = stream_read(lv->in, &p, &n, lv->err);
	if (lv->rc < 0) {
		archive_set_error(a, ENOMEM, "cannot read");
		return ARCHIVE_FATAL;
	}
	*ret = p;
	return (la_ssize_t)n;
}

static const char *error_text(const struct level *lv)
{
	const char *t = archive_error_string(lv->a);
	return t ? t : "damaged";
}

/* 0; 1 the member is damaged here (reason set), or ended. */
static int level_block(struct level *lv, struct err *err)
{
	const void *p = NULL;
	size_t n = 0;
	la_int64_t off = 0;
	lv->err = err;
	lv->rc = 0;
	do {
		int r = archive_read_data_block(lv->a, &p, &n, &off);
		if (lv->rc < 0)
			return lv->rc;
		if (r == ARCHIVE_EOF)
			return 1;
		if (r != ARCHIVE_OK && r != ARCHIVE_RETRY)
			damage_set(&lv->damage, r == ARCHIVE_FATAL, "%s", error_text(lv));
		if (r < ARCHIVE_WARN || (r != ARCHIVE_OK && !n))
			return r == ARCHIVE_RETRY ? 0 : 1;
	} while (!n && (uint64_t)off <= lv->pos);
	lv->hole = (uint64_t)off > lv->pos ? (uint64_t)off - lv->pos : 0;
	lv->part = p;
	lv->n_part = n;
	return 0;
}

/* The next bytes of this level's member: a block, or zeros of a hole. */
static int level_fill(struct stream *s, const char **ret, size_t *ret_n, struct err *err)
{
	static const char zeros[4096];
	struct level *lv = (struct level *)s;
	*ret_n = 0;
	if (lv->empty)
		return 0;
	if (!lv->hole && !lv->n_part) {
		int rc = level_block(lv, err);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	if (lv->hole) {
		*ret = zeros;
		*ret_n = (size_t)MIN(lv->hole, sizeof(zeros));
		lv->hole -= *ret_n;
	} else {
		*ret = lv->part;
		*ret_n = lv->n_part;
		lv->n_part = 0;
	}
	lv->pos += *ret_n;
	return 0;
}

static void level_close(struct level *lv)
{
	if (!lv)
		return;
	archive_read_free(lv->a);
	if (lv->in)
		lv->in->close(lv->in);
	free(lv->name);
	free(lv);
}

/* Container names come from the inside out: the new one goes in front. */
static void add_container(struct level *lv, const char *name)
{
	char before[sizeof(lv->container)];
	memcpy(before, lv->container, sizeof(before));
	snprintf(lv->container, sizeof(lv->container), "%s%s%.60s", name, before[0] ? "+" : "", before);
}

static int level_archive(struct level *lv, struct err *err)
{
	lv->a = archive_read_new();
	if (!lv->a)
		return err_nomem(err);
	archive_read_support_filter_zstd(lv->a);
	archive_read_support_filter_xz(lv->a);
	archive_read_support_filter_bzip2(lv->a);
	archive_read_support_filter_lz4(lv->a);
	archive_read_support_format_tar(lv->a);
	archive_read_support_format_zip_streamable(lv->a);
	archive_read_support_format_raw(lv->a);
	archive_read_support_format_empty(lv->a);
	lv->err = err;
	lv->rc = 0;
	int r = archive_read_open(lv->a, lv, NULL, on_input, NULL);
	if (lv->rc < 0)
		return lv->rc;
	if (r < ARCHIVE_WARN)
		damage_set(&lv->damage, true, "%s", error_text(lv));
	return 0;
}

/* Puts a level on the stack; takes `in`. below: the level whose member it reads, or NULL for the file. */
static int push_level(struct source *s, struct stream *in, const char *name, const struct level *below, struct err *err)
{
	struct level *lv = calloc(1, sizeof(*lv));
	if (!lv) {
		in->close(in);
		return err_nomem(err);
	}
	lv->s = (struct stream){.fill = level_fill, .close = keep_open, .damage = &lv->damage};
	lv->in = in;
	lv->name = strdup(name);
	lv->depth = lv->below = below ? below->depth : 0;
	if (below)
		memcpy(lv->container, below->container, sizeof(lv->container));
	s->levels[s->n_levels++] = lv;
	if (!lv->name)
		return err_nomem(err);
	for (;;) { /* gzip in gzip is legal */
		const char *p;
		size_t n;
		int rc = stream_peek(lv->in, &p, &n, err);
		if (rc < 0)
			return rc;
		const char *kind = n ? container_of((struct text){p, n}) : NULL;
		if (!kind || strcmp(kind, "gzip") != 0 || lv->depth >= ARCHIVE_DEPTH_MAX)
			break;
		rc = gunzip_open(&lv->in, lv->in, &lv->damage, err);
		if (rc < 0) {
			lv->in = NULL;
			return rc;
		}
		lv->depth++;
		add_container(lv, "gzip");
	}
	return level_archive(lv, err);
}

static void pop_level(struct source *s)
{
	level_close(s->levels[--s->n_levels]);
}

/* --- members --- */

static int set_name(struct source *s, const char *archive, const char *member, struct err *err)
{
	free(s->name);
	s->name = NULL;
	if (member ? asprintf(&s->name, "%s!%.*s", archive, NAME_MAX_SHOWN, member) < 0 : !(s->name = strdup(archive)))
		return err_nomem(err);
	return 0;
}

static int present(struct source *s, const struct level *lv, const struct member **ret)
{
	s->member.name = s->name;
	s->member.container = lv && lv->container[0] ? lv->container : "none";
	*ret = &s->member;
	return 1;
}

static const char *entry_name(struct archive_entry *entry, unsigned number, char *tmp, size_t size)
{
	const char *name = archive_entry_pathname(entry);
	if (!name || !*name)
		name = archive_entry_pathname_utf8(entry);
	if (name && *name)
		return name;
	snprintf(tmp, size, "member-%u", number);
	return tmp;
}

/* A member with nothing to read but a reason. */
static int present_broken(struct source *s, struct level *lv, const char *name, struct err *err,
			  const struct member **ret)
{
	int rc = set_name(s, lv->name, name, err);
	if (rc < 0)
		return rc;
	s->member.empty_handed = true;
	return present(s, lv, ret);
}

/* A member that is not to be read: the note says why. */
static int present_link(struct source *s, struct level *lv, const char *name, const char *link,
			const struct member **ret, struct err *err)
{
	if (!link)
		return present_broken(s, lv, name, err, ret);
	snprintf(s->note, sizeof(s->note), "hard link to %.100s", link);
	free(s->link);
	if (asprintf(&s->link, "%s!%.*s", lv->name, NAME_MAX_SHOWN, link) < 0) {
		s->link = NULL;
		return err_nomem(err);
	}
	s->member.same_as = s->link;
	return present_broken(s, lv, name, err, ret);
}

/* A member of an archive: 1 presented, 0 to be passed over (folder), 2 to be read. */
static int archive_member(struct source *s, struct level *lv, struct archive_entry *entry, const struct member **ret,
			  struct err *err)
{
	char tmp[32];
	const char *name = entry_name(entry, s->members + 1, tmp, sizeof(tmp));
	const char *link = archive_entry_hardlink(entry);
	unsigned type = archive_entry_filetype(entry);
	if (type == AE_IFDIR)
		return 0;
	if (++s->members > ARCHIVE_MEMBERS_MAX) {
		snprintf(s->note, sizeof(s->note), "more than %d members, the rest was not read", ARCHIVE_MEMBERS_MAX);
		s->over = true;
		return present_broken(s, lv, NULL, err, ret);
	}
	if (type && type != AE_IFREG)
		snprintf(s->note, sizeof(s->note), "%s",
			 type == AE_IFLNK ? "symbolic link, not followed" : "not a regular file");
	if (link || s->note[0])
		return present_link(s, lv, name, link, ret, err);
	s->member.size_hint = archive_entry_size_is_set(entry) ? (uint64_t)archive_entry_size(entry) : 0;
	s->member.mtime_s = archive_entry_mtime_is_set(entry) ? (int64_t)archive_entry_mtime(entry) : INT64_MIN;
	int rc = set_name(s, lv->name, name, err);
	return rc < 0 ? rc : 2;
}

/* Is the member at hand itself a container? Then 1 and a new level; else 0. */
static int descend(struct source *s, struct level *lv, struct err *err)
{
	const char *p;
	size_t n;
	int rc = stream_peek(&lv->s, &p, &n, err);
	if (rc < 0 || !n || !container_of((struct text){p, n}))
		return rc;
	if (lv->depth >= ARCHIVE_DEPTH_MAX || s->n_levels == ARRAY_SIZE(s->levels)) {
		damage_set(&lv->damage, false, "nested deeper than %d containers, kept as it is", ARCHIVE_DEPTH_MAX);
		return 0;
	}
	rc = push_level(s, &lv->s, s->name, lv, err);
	return rc < 0 ? rc : 1;
}

/* After the first header of a level: what it is. False when it is nested too deep. */
static bool describe(struct level *lv)
{
	int format = archive_format(lv->a);
	lv->raw = format == ARCHIVE_FORMAT_RAW || format == ARCHIVE_FORMAT_EMPTY;
	for (int i = archive_filter_count(lv->a) - 2; i >= 0; i--) { /* the last one is the input itself */
		add_container(lv, archive_filter_name(lv->a, i));
		lv->depth++;
	}
	if (!lv->raw) {
		add_container(lv, (format & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_ZIP ? "zip" : "tar");
		lv->depth++;
	}
	return lv->depth <= ARCHIVE_DEPTH_MAX;
}

/* The first header of a level: what it is, or why it cannot be read. 0; 1 there is no (further) member; ERR_*. */
static int level_header(struct level *lv, struct archive_entry **ret, struct err *err)
{
	bool first = !lv->begun;
	lv->begun = true;
	lv->err = err;
	lv->rc = 0;
	lv->pos = lv->hole = lv->n_part = lv->s.n_ahead = 0;
	if (lv->raw && !first)
		return 1;
	if (lv->damage.final)
		return 0;
	int r = archive_read_next_header(lv->a, ret);
	if (lv->rc < 0)
		return lv->rc;
	bool empty = r == ARCHIVE_EOF && first && archive_format(lv->a) == ARCHIVE_FORMAT_EMPTY;
	if (r < ARCHIVE_WARN)
		damage_set(&lv->damage, true, "%s", error_text(lv));
	else if (r == ARCHIVE_EOF && !empty)
		return 1;
	lv->empty = empty;
	if (r < ARCHIVE_WARN)
		return 0;
	if (first && !describe(lv))
		damage_set(&lv->damage, true, "nested deeper than %d containers", ARCHIVE_DEPTH_MAX);
	return 0;
}

/* Asks the uppermost level: 1 presented, 0 go on with whatever level is uppermost then. */
static int next_of_level(struct source *s, struct level *lv, const struct member **ret, struct err *err)
{
	struct archive_entry *entry = NULL;
	int rc = level_header(lv, &entry, err);
	if (rc < 0)
		return rc;
	if (rc == 1 && !source_reason(s)[0]) {
		pop_level(s);
		return 0;
	}
	if (rc == 1 || lv->damage.final)
		return present_broken(s, lv, NULL, err, ret);
	if (lv->raw) {
		rc = set_name(s, lv->name, NULL, err);
		s->member.plain = lv->depth == 0;
		s->member.size_hint = lv->depth == 0 ? s->file_size : 0;
		if (lv->below == 0)
			s->member.mtime_s = s->mtime_s;
	} else {
		rc = archive_member(s, lv, entry, ret, err);
		if (rc != 2)
			return rc;
		rc = 0;
	}
	if (rc == 0 && lv->depth > lv->below)
		rc = descend(s, lv, err);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	return present(s, lv, ret);
}

/* Damage stays with the level where it happened: what is above it cannot go on, its neighbours can. */
static void leave_member(struct source *s)
{
	s->note[0] = 0;
	s->member = (struct member){.mtime_s = INT64_MIN};
	if (s->file->damage.final)
		s->over = true;
	for (unsigned i = 0; i < s->n_levels; i++) {
		if (!s->levels[i]->damage.reason[0])
			continue;
		while (s->n_levels > i + 1)
			pop_level(s);
		if (s->levels[i]->damage.final)
			pop_level(s);
		else
			s->levels[i]->damage.reason[0] = 0;
	}
}

int source_next(struct source *s, const struct member **ret, struct err *err)
{
	if (s->begun) {
		leave_member(s);
	} else {
		s->begun = true;
		s->member.mtime_s = INT64_MIN;
		int rc = push_level(s, &s->file->s, s->path, NULL, err);
		if (rc < 0)
			return rc;
	}
	while (s->n_levels && !s->over) {
		int rc = next_of_level(s, s->levels[s->n_levels - 1], ret, err);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* The outermost cause is the cause. */
const char *source_reason(const struct source *s)
{
	if (s->note[0])
		return s->note;
	if (s->file->damage.reason[0])
		return s->file->damage.reason;
	for (unsigned i = 0; i < s->n_levels; i++)
		if (s->levels[i]->damage.reason[0])
			return s->levels[i]->damage.reason;
	return "";
}

int source_read(struct source *s, char *buf, size_t n, size_t *ret_n, struct err *err)
{
	struct stream *in = &s->levels[s->n_levels - 1]->s;
	size_t have = 0;
	while (have < n) {
		const char *p;
		size_t got;
		int rc = stream_read(in, &p, &got, err);
		if (rc < 0)
			return rc;
		if (!got)
			break;
		size_t take = MIN(got, n - have);
		memcpy(buf + have, p, take);
		have += take;
		if (take < got)
			stream_push(in, p + take, got - take);
	}
	*ret_n = have;
	return 0;
}

int source_end(struct source *s, unsigned char sha256[SHA256_BYTES], uint64_t *ret_bytes, bool *ret_complete,
	       struct err *err)
{
	const char *p;
	size_t n = 1;
	int rc = 0;
	while (rc == 0 && n)
		rc = s->file->s.fill(&s->file->s, &p, &n, err);
	if (rc < 0)
		return rc;
	*ret_bytes = s->file->bytes;
	*ret_complete = !s->file->failed;
	struct sha256 *sha = s->file->sha;
	s->file->sha = NULL;
	return sha256_end(sha, sha256, err);
}

uint64_t source_size(const struct source *s)
{
	return s->file_size;
}

int source_digest(struct source *s, unsigned char sha256[SHA256_BYTES], struct err *err)
{
	struct sha256 *sha = NULL;
	off_t at = 0;
	ssize_t n;
	int rc = sha256_new(&sha, err);
	if (rc < 0)
		return rc;
	while ((n = pread(s->file->fd, s->file->block, sizeof(s->file->block), at)) > 0 && rc == 0) {
		rc = sha256_add(sha, s->file->block, (size_t)n, err);
		at += n;
	}
	if (rc < 0 || n < 0) {
		sha256_free(sha);
		return rc < 0 ? rc : 1;
	}
	return sha256_end(sha, sha256, err);
}

int source_open(struct source **ret, const char *path, struct err *err)
{
	struct source *s = calloc(1, sizeof(*s));
	if (!s)
		return err_nomem(err);
	s->path = strdup(path);
	int rc = s->path ? file_open(s, err) : err_nomem(err);
	if (rc < 0) {
		source_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void source_close(struct source *s)
{
	if (!s)
		return;
	while (s->n_levels)
		pop_level(s);
	file_close(s->file);
	free(s->path);
	free(s->name);
	free(s->link);
	free(s);
}
