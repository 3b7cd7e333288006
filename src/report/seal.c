/* SPDX-License-Identifier: Apache-2.0 */
/* seal.c - check sums of a document's files, and a signed statement of them
 *
 * The statement says which files, and which kind and issue of a report they are; nothing that the files themselves do not say, so it goes
 * wherever they go.
 */
#include "seal.h"

#include <string.h>

#include "deployed.h"

#define SEAL_PREDICATE "urn:pagetrail:report-seal:1"

static const char *name_of(const struct output *o, size_t at)
{
	const char *path = output_path(o, at), *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

int seal_sums(const struct output *o, size_t first, struct buf *b, struct err *err)
{
	int rc = 0;
	for (size_t i = first; !rc && i < output_count(o); i++)
		rc = buf_printf(b, err, "%s  %s\n", output_sha256(o, i), name_of(o, i));
	return rc;
}

static int statement(const struct facts *f, const struct output *o, size_t first, struct buf *b, struct err *err)
{
	struct jot j = {b, err, 0};
	jot_statement(&j);
	for (size_t i = first; !j.rc && i < output_count(o); i++)
		jot_subject(&j, text_of(name_of(o, i)), text_of(output_sha256(o, i)));
	jot_close(&j, ']');
	jot_text(&j, "predicateType", TEXT(SEAL_PREDICATE));
	jot_open(&j, "predicate", '{');
	jot_text(&j, "tool", TEXT("pagetrail " PAGETRAIL_VERSION));
	jot_text(&j, "kind", text_of(f->kind->name));
	jot_int(&j, "issue", f->o->issue);
	jot_text(&j, "state", f->o->approved ? TEXT("approved") : TEXT("draft"));
	jot_close(&j, '}');
	jot_close(&j, '}');
	return j.rc;
}

/* TimeStampReq of RFC 3161, 2.4.1, in DER: version 1; SHA-256, which has NULL for its parameters; certReq. No nonce and no policy: the
 * same case gives the same bytes, and the policy is the authority's. */
int seal_request(struct text sums, struct buf *b, struct err *err)
{
	static const unsigned char head[] = {0x30, 0x39, 0x02, 0x01, 0x01, 0x30, 0x31, 0x30,
					     0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65,
					     0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, SHA256_BYTES},
				   tail[] = {0x01, 0x01, 0xff};
	unsigned char digest[SHA256_BYTES];
	_Static_assert(sizeof(head) - 2 + sizeof(digest) + sizeof(tail) == 0x39,
		       "the length of what stands in the sequence");
	int rc = sha256_once(sums.ptr, sums.len, digest, err);
	if (!rc)
		rc = buf_add(b, head, sizeof(head), err);
	if (!rc)
		rc = buf_add(b, digest, sizeof(digest), err);
	return rc ? rc : buf_add(b, tail, sizeof(tail), err);
}

int seal_statement(const struct facts *f, const struct output *o, size_t first, struct buf *b, struct err *err)
{
	CLEANUP(buf_done) struct buf payload = BUF_INIT(MIB);
	int rc = statement(f, o, first, &payload, err);
	return rc ? rc : dsse_sign(f->o->sign, TEXT(STATEMENT_MEDIA_TYPE), buf_text(&payload), b, err);
}
