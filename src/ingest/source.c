/* SPDX-License-Identifier: Apache-2.0 */
/* source.c - one stored file and what is packed in it
 *
 * A stack of levels: the first over the file, the next over a member of the one below. Reading goes forward only; the
 * stored bytes are hashed as they are read. A level counts once for each container it undoes, and ARCHIVE_DEPTH_MAX
 * bounds the sum. Only when packed bytes were left over is the file read a second time, as it is.
 */
#include "source.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "level.h"
#include "pagetrail/limits.h"

enum { NAME_MAX_SHOWN = 1024 };

struct source {
	char *path;
	struct file *file;
	struct level *levels[ARCHIVE_DEPTH_MAX + 1];
	unsigned n_levels;
	unsigned members, given; /* of archives; of all */
	bool begun, over;
	struct member member;
	char *name, *link;
	char note[320]; /* why the member at hand is not read, or not read as a log */

	/* the stored file as a member of itself */
	bool keep, kept, own_row; /* own_row: a member had the name of the stored file */
	char keep_reason[400];
	bool hollow; /* nothing is damaged, there is just nothing in it */
};

/* --- damage --- */

/* The first reason to keep the stored file as it is. */
PRINTF_LIKE(3, 4) static void keep(struct source *s, bool hollow, const char *fmt, ...)
{
	if (!s->keep) {
		va_list ap;
		va_start(ap, fmt);
		vsnprintf(s->keep_reason, sizeof(s->keep_reason), fmt, ap);
		va_end(ap);
	}
	s->hollow = s->keep ? s->hollow && hollow : hollow;
	s->keep = true;
}

static void keep_what_is_left(struct source *s)
{
	for (unsigned i = 0; i < s->n_levels; i++)
		if (s->levels[i]->damage.left)
			keep(s, false, "kept as it is, because not all of it could be read (%s)",
			     s->levels[i]->damage.reason);
}

/* The outermost cause is the cause. */
static const char *cause(const struct source *s)
{
	if (s->file->damage.reason[0])
		return s->file->damage.reason;
	for (unsigned i = 0; i < s->n_levels; i++)
		if (s->levels[i]->damage.reason[0])
			return s->levels[i]->damage.reason;
	return "";
}

/* Damage below concerns the member at hand when its own level feels it. */
const char *source_reason(const struct source *s)
{
	if (s->note[0])
		return s->note;
	if (s->file->damage.reason[0])
		return s->file->damage.reason;
	return s->n_levels && s->levels[s->n_levels - 1]->damage.reason[0] ? cause(s) : "";
}

/* --- levels --- */

static int push_level(struct source *s, struct stream *in, const char *name, bool as_it_is, struct err *err)
{
	struct level *lv = NULL;
	const struct level *below = s->n_levels && !as_it_is ? s->levels[s->n_levels - 1] : NULL;
	int rc = level_open(&lv, in, name, below, as_it_is, err);
	if (lv)
		s->levels[s->n_levels++] = lv;
	return rc;
}

static void pop_level(struct source *s)
{
	keep_what_is_left(s);
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
	s->own_row = s->own_row || !strcmp(s->name, s->path);
	s->given++;
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
static int present_broken(struct source *s, struct level *lv, const char *name, const struct member **ret,
			  struct err *err)
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
		return present_broken(s, lv, name, ret, err);
	snprintf(s->note, sizeof(s->note), "hard link to %.100s", link);
	free(s->link);
	if (asprintf(&s->link, "%s!%.*s", lv->name, NAME_MAX_SHOWN, link) < 0) {
		s->link = NULL;
		return err_nomem(err);
	}
	s->member.same_as = s->link;
	return present_broken(s, lv, name, ret, err);
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
		keep(s, false, "kept as it is: %.200s", s->note);
		s->note[0] = 0;
		s->over = true;
		return 0;
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
static int descend(struct source *s, struct level *lv, bool *ret_nothing, struct err *err)
{
	const char *p;
	size_t n;
	int rc = stream_peek(&lv->s, &p, &n, err);
	*ret_nothing = rc == 0 && !n;
	if (rc < 0 || !n || !container_of((struct text){p, n}))
		return rc;
	if (lv->depth >= ARCHIVE_DEPTH_MAX || s->n_levels == ARRAY_SIZE(s->levels)) {
		damage_set(&lv->damage, false, "nested deeper than %d containers, kept as it is", ARCHIVE_DEPTH_MAX);
		return 0;
	}
	rc = push_level(s, &lv->s, s->name, false, err);
	return rc < 0 ? rc : 1;
}

/* A container ended. What was not said with a member is said now: of the stored file with the stored file itself, of a
 * container inside it with a row of its own. */
static int end_of_level(struct source *s, struct level *lv, const struct member **ret, struct err *err)
{
	bool damaged = lv->damage.reason[0] && !lv->told;
	bool hollow = !damaged && level_is_archive(lv) && !lv->members;
	const char *why = hollow ? "an archive that holds no file" : damaged ? cause(s) : "";
	bool whole = !strcmp(lv->name, s->path);
	if (damaged && whole && !lv->damage.left)
		keep(s, false, "%s", why);
	else if (damaged)
		keep(s, false, "kept as it is, because not all of it could be read (%s)", why);
	else if (hollow && whole)
		keep(s, true, "%s", why);
	if (!why[0] || whole) {
		pop_level(s);
		return 0;
	}
	lv->told = true;
	lv->members++;
	snprintf(s->note, sizeof(s->note), "%s", why);
	return present_broken(s, lv, NULL, ret, err);
}

/* Asks the uppermost level: 1 presented, 0 go on with whatever level is uppermost then. */
static int next_of_level(struct source *s, struct level *lv, const struct member **ret, struct err *err)
{
	struct archive_entry *entry = NULL;
	bool nothing = false;
	int rc = level_next(lv, &entry, err);
	if (rc <= 0)
		return rc < 0 ? rc : end_of_level(s, lv, ret, err);
	if (!entry) {
		rc = set_name(s, lv->name, NULL, err);
		s->member.plain = lv->depth == 0;
		s->member.size_hint = lv->depth == 0 ? file_size(s->file) : 0;
		if (s->n_levels == 1)
			s->member.mtime_s = file_mtime(s->file);
	} else {
		rc = archive_member(s, lv, entry, ret, err);
		if (rc != 2)
			return rc;
		rc = 0;
	}
	if (rc == 0 && lv->depth > 0)
		rc = descend(s, lv, &nothing, err);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (nothing && !entry && lv->damage.reason[0])
		return 0; /* nothing came out of it: the level's end says so */
	return present(s, lv, ret);
}

/* --- the stored file as it is --- */

static int present_whole(struct source *s, const struct member **ret, struct err *err)
{
	int rc = file_finish(s->file, err);
	s->kept = true;
	if (rc < 0)
		return rc;
	bool again = file_rewind(s->file);
	rc = push_level(s, &s->file->s, s->path, true, err);
	if (rc < 0)
		return rc;
	struct level *lv = s->levels[0];
	s->member = (struct member){.mtime_s = file_mtime(s->file), .as_it_is = s->keep_reason};
	if (!s->hollow || !again)
		snprintf(s->note, sizeof(s->note), "%.230s%s", s->keep_reason,
			 again ? "" : "; its packed bytes could not be read twice");
	if (s->own_row) /* what was read out of it has that name */
		rc = set_name(s, s->path, "(packed)", err);
	else
		rc = set_name(s, s->path, NULL, err);
	if (rc < 0)
		return rc;
	s->member.plain = again;
	s->member.empty_handed = !again;
	s->member.size_hint = file_size(s->file);
	lv->begun = true;
	return present(s, lv, ret);
}

/* --- the source --- */

static void leave_member(struct source *s)
{
	s->note[0] = 0;
	s->member = (struct member){.mtime_s = INT64_MIN};
	if (s->file->damage.final)
		s->over = true;
	keep_what_is_left(s);
	for (unsigned i = 0; i < s->n_levels; i++) {
		struct level *lv = s->levels[i];
		lv->told = lv->told || lv->damage.reason[0];
		if (!lv->damage.final) /* its neighbours can be read */
			lv->damage.reason[0] = 0;
		lv->damage.left = false;
	}
}

int source_next(struct source *s, const struct member **ret, struct err *err)
{
	if (s->kept)
		return 0;
	if (s->begun) {
		leave_member(s);
	} else {
		s->begun = true;
		s->member.mtime_s = INT64_MIN;
		int rc = push_level(s, &s->file->s, s->path, false, err);
		if (rc < 0)
			return rc;
	}
	while (s->n_levels && !s->over) {
		int rc = next_of_level(s, s->levels[s->n_levels - 1], ret, err);
		if (rc != 0)
			return rc;
	}
	while (s->n_levels)
		pop_level(s);
	if (s->file->damage.reason[0] && !s->own_row)
		keep(s, false, "%s", s->file->damage.reason);
	return s->keep ? present_whole(s, ret, err) : 0;
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

const char *source_path(const struct source *s)
{
	return s->path;
}

unsigned source_count(const struct source *s)
{
	return s->given;
}

const char *source_changed(const struct source *s, bool *ret_lost)
{
	return file_changed(s->file, ret_lost);
}

int source_end(struct source *s, unsigned char sha256[SHA256_BYTES], uint64_t *ret_bytes, bool *ret_complete,
	       struct err *err)
{
	int rc = file_finish(s->file, err);
	if (rc < 0)
		return rc;
	memcpy(sha256, s->file->digest, SHA256_BYTES);
	*ret_bytes = s->file->bytes;
	*ret_complete = !s->file->failed;
	return 0;
}

uint64_t source_size(const struct source *s)
{
	return file_size(s->file);
}

uint64_t source_taken(const struct source *s)
{
	return file_taken(s->file);
}

int source_digest(struct source *s, unsigned char sha256[SHA256_BYTES], struct err *err)
{
	return file_digest(s->file, UINT64_MAX, sha256, err);
}

/* bytes: NULL: the file of that path. */
static int open_source(struct source **ret, const char *path, const struct text *bytes, struct err *err)
{
	struct source *s = calloc(1, sizeof(*s));
	if (!s)
		return err_nomem(err);
	s->path = strdup(path);
	int rc = !s->path ? err_nomem(err)
		 : bytes  ? file_of_bytes(&s->file, *bytes, err)
			  : file_open(&s->file, path, err);
	if (rc < 0) {
		source_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

int source_open(struct source **ret, const char *path, struct err *err)
{
	return open_source(ret, path, NULL, err);
}

int source_of_bytes(struct source **ret, const char *path, struct text bytes, struct err *err)
{
	return open_source(ret, path, &bytes, err);
}

void source_close(struct source *s)
{
	if (!s)
		return;
	while (s->n_levels)
		level_close(s->levels[--s->n_levels]);
	file_close(s->file);
	free(s->path);
	free(s->name);
	free(s->link);
	free(s);
}
