/* SPDX-License-Identifier: Apache-2.0 */
/* publish.c - a deployment as a CSAF document and as a statement, signed where a key is given */
#include "publish.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pagetrail/place.h"

enum { WORDS_MAX = 1000 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* http or https, a host by its name, perhaps a port, and a path, query and fragment of RFC 3986's characters. */
static bool is_url(const char *s)
{
	size_t host = 0, label = 0;
	if (strncmp(s, "https://", 8) != 0 && strncmp(s, "http://", 7) != 0)
		return false;
	for (s = strstr(s, "//") + 2; is_letter(*s) || is_digit(*s) || *s == '-' || *s == '.'; s++, host++) {
		if (*s == '.' && !label)
			return false;
		label = *s == '.' ? 0 : label + 1;
	}
	if (!host || !label)
		return false;
	if (*s == ':' && !is_digit(*++s))
		return false;
	while (is_digit(*s))
		s++;
	if (*s && !strchr("/?#", *s))
		return false;
	for (bool fragment = false; *s; s++) {
		if (*s == '%' ? !is_hex(s[1]) || !is_hex(s[2])
			      : !is_letter(*s) && !is_digit(*s) && !strchr("-._~!$&'()*+,;=:@/?#", *s))
			return false;
		if (*s == '#' && fragment)
			return false;
		fragment |= *s == '#';
	}
	return true;
}

static int check_words(const char *option, const char *words, struct err *err)
{
	size_t n = words ? strlen(words) : 1;
	if (n && n <= WORDS_MAX && (!words || text_utf8_valid(text_of(words))))
		return 0;
	return err_set(err, ERR_USAGE, "%s takes 1 to %d bytes of text", option, WORDS_MAX);
}

static int check_url(const char *option, const char *url, struct err *err)
{
	if (!url || (strlen(url) <= WORDS_MAX && is_url(url)))
		return 0;
	return err_set(err, ERR_USAGE, "%s takes an address such as https://example.org/security, not '%s'", option,
		       url);
}

/* Whatever their names: one file, or one that would be made at the same place. */
static bool same_file(const char *a, const char *b)
{
	struct stat x, y;
	if (!strcmp(a, b))
		return true;
	if (!stat(a, &x) && !stat(b, &y))
		return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
	const char *names[2] = {a, b};
	char *folders[2];
	for (int i = 0; i < 2; i++) {
		const char *slash = strrchr(names[i], '/');
		char *copy = slash ? strndup(names[i], (size_t)(slash - names[i]) + 1) : strdup(".");
		folders[i] = copy ? realpath(copy, NULL) : NULL;
		names[i] = slash ? slash + 1 : names[i];
		free(copy);
	}
	bool same = folders[0] && folders[1] && !strcmp(folders[0], folders[1]) && !strcmp(names[0], names[1]);
	free(folders[0]);
	free(folders[1]);
	return same;
}

int publish_check_files(const struct publish_name *list, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		const char *file = list[i].file;
		if (!file)
			continue;
		if (!list[i].input && (!*file || !strcmp(file, "-")))
			return err_set(err, ERR_USAGE, "%s takes a file: standard output has the rows", list[i].option);
		for (size_t k = i + 1; k < n; k++)
			if (list[k].file && !(list[i].input && list[k].input) && same_file(file, list[k].file))
				return err_set(err, ERR_USAGE, "%s: '%s' is named twice", list[i].option, file);
	}
	return 0;
}

int publish_places(struct case_file *c, const struct publish_name *list, size_t n, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; i < n && !rc; i++)
		if (list[i].file && !list[i].input)
			rc = place_check(c, list[i].file, list[i].option + strlen("--"), err);
	return rc;
}

static int check_needs(const char *option, bool given, const char *needs, bool there, struct err *err)
{
	return given && !there ? err_set(err, ERR_USAGE, "%s is for %s", option, needs) : 0;
}

int publish_check(struct publish *p, struct err *err)
{
	bool csaf = p->csaf != NULL, statement = p->statement != NULL;
	const struct publish_name files[] = {{"--csaf", p->csaf, false},    {"--statement", p->statement, false},
					     {"--key", p->key, true},       {"--inventory", p->inventory, true},
					     {"--policy", p->policy, true}, {"CASE", p->case_path, true}};
	int rc = publish_check_files(files, ARRAY_SIZE(files), err);
	if (!rc)
		rc = check_needs("--key", p->key != NULL, "--statement", statement, err);
	if (!rc)
		rc = check_needs("--issue", p->issue != 0, "--csaf and --statement", csaf || statement, err);
	if (!rc)
		rc = check_needs("--publisher", p->publisher != NULL, "--csaf", csaf, err);
	if (!rc)
		rc = check_needs("--namespace", p->name_space != NULL, "--csaf", csaf, err);
	if (!rc)
		rc = check_needs("--contact", p->contact != NULL, "--csaf", csaf, err);
	if (!rc)
		rc = check_needs("--replicas", p->replicas != NULL, "--csaf", csaf, err);
	if (!rc && (p->issue > ISSUE_MAX))
		rc = err_set(err, ERR_USAGE, "--issue takes a number from 1 to %d", ISSUE_MAX);
	if (!rc)
		rc = check_words("--publisher", p->publisher, err);
	if (!rc)
		rc = check_words("--contact", p->contact, err);
	if (!rc)
		rc = check_url("--namespace", p->name_space, err);
	if (!rc)
		rc = check_url("--replicas", p->replicas, err);
	return rc ? rc : publish_key(&p->signer, p->key, err);
}

int publish_allowed(const struct publish *p, struct case_file *c, struct err *err)
{
	const struct publish_name files[] = {{"--csaf", p->csaf, false}, {"--statement", p->statement, false}};
	return publish_places(c, files, ARRAY_SIZE(files), err);
}

int publish_key(struct dsse_key **ret, const char *file, struct err *err)
{
	int rc = file ? dsse_key_load(ret, file, err) : 0;
	if (rc || !file || dsse_key_signs(*ret))
		return rc;
	err_set(err, ERR_INPUT, "this is a public key: a private one signs");
	return err_where(err, "%s", file);
}

static int hash_of(struct text t, char hex[SHA256_HEX], struct err *err)
{
	unsigned char sha[SHA256_BYTES];
	int rc = sha256_once(t.ptr, t.len, sha, err);
	if (!rc)
		sha256_hex(sha, hex);
	return rc;
}

/* What was signed is checked as a reader would, before anybody gets it. */
int publish_sign(const struct dsse_key *k, const struct buf *payload, struct buf *out, struct err *err)
{
	CLEANUP(buf_done) struct buf type = BUF_INIT(4 * KIB), back = BUF_INIT(SIGNED_MAX_BYTES);
	int rc = dsse_sign(k, TEXT(STATEMENT_MEDIA_TYPE), buf_text(payload), out, err);
	if (!rc)
		rc = dsse_verify(k, buf_text(out), &type, &back, err);
	if (rc > 0 || (!rc && !text_eq(buf_text(payload), buf_text(&back))))
		rc = err_set(err, ERR_BUG, "the signature does not hold");
	return rc;
}

int publish_file(struct case_file *c, const char *kind, const char *file, const struct buf *bytes,
		 const struct dsse_key *k, struct buf *said, struct rows *r, struct err *err)
{
	CLEANUP(buf_done) struct buf name = BUF_INIT(64 * KIB);
	char hex[SHA256_HEX];
	int rc = write_file(c, kind, file, buf_text(bytes), err);
	if (!rc)
		rc = hash_of(buf_text(bytes), hex, err);
	if (!rc)
		rc = text_visible(text_of(file), CELL_MAX_BYTES, &name, err);
	if (!rc)
		rc = buf_printf(said, err, "%s{\"kind\":\"%s\",\"file\":", said->len > 1 ? "," : "", kind);
	if (!rc)
		rc = buf_json_string(said, text_of(file), err);
	if (!rc)
		rc = buf_printf(said, err, ",\"sha256\":\"%s\",\"keyid\":", hex);
	if (!rc)
		rc = k ? buf_printf(said, err, "\"%s\"}", dsse_key_id(k)) : buf_add_text(said, TEXT("null}"), err);
	if (!rc)
		rows_note(r, "wrote %s", name.ptr);
	return rc;
}

static int write_both(const struct publish *p, struct case_file *c, const struct deployed *d, struct rows *r,
		      struct err *err)
{
	CLEANUP(buf_done) struct buf csaf = BUF_INIT(SIGNED_MAX_BYTES), statement = BUF_INIT(SIGNED_MAX_BYTES);
	CLEANUP(buf_done) struct buf envelope = BUF_INIT(2 * SIGNED_MAX_BYTES), said = BUF_INIT(64 * KIB);
	char hex[SHA256_HEX];
	int rc = p->statement ? deployed_statement(d, &statement, err) : 0;
	if (!rc && p->statement)
		rc = hash_of(buf_text(&statement), hex, err);
	if (!rc && p->signer)
		rc = publish_sign(p->signer, &statement, &envelope, err);
	if (!rc && p->csaf)
		rc = deployed_csaf(d, p->statement ? hex : NULL, &csaf, err);
	if (!rc)
		rc = buf_add_char(&said, '[', err);
	if (!rc && p->statement)
		rc = publish_file(c, "statement", p->statement, p->signer ? &envelope : &statement, p->signer, &said, r,
				  err);
	if (!rc && p->csaf)
		rc = publish_file(c, "csaf", p->csaf, &csaf, NULL, &said, r, err);
	if (!rc)
		rc = buf_add_char(&said, ']', err);
	if (!rc)
		rows_extra(r, "published", buf_text(&said));
	return rc;
}

int publish_write(const struct publish *p, struct case_file *c, const struct ask *a, int64_t at_ns, struct rows *r,
		  struct err *err)
{
	struct publication what = {.issue = p->issue ? (int)p->issue : 1,
				   .at_ns = at_ns,
				   .as_of_ns = a->as_of_ns,
				   .policy = a->analysis.policy,
				   .inventory = a->analysis.inventory,
				   .publisher = p->publisher,
				   .name_space = p->name_space,
				   .contact = p->contact,
				   .replicas = p->replicas};
	struct deployed *d;
	if (!p->csaf && !p->statement)
		return 0;
	int rc = ask_as_of(c, a, &what.dated_ns, err);
	if (!rc)
		rc = deployed_load(&d, c, &what, err);
	if (rc)
		return rc;
	rc = write_both(p, c, d, r, err);
	deployed_free(d);
	return rc;
}

void publish_done(struct publish *p)
{
	dsse_key_free(p->signer);
	p->signer = NULL;
}
