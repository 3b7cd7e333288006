/* SPDX-License-Identifier: Apache-2.0 */
/* literals.c - literals.h over Hyperscan (or Vectorscan, which has the same interface) */
#include "pagetrail/literals.h"

#include <hs.h>
#include <stdlib.h>

#include "pagetrail/err.h"

struct literals {
	hs_database_t *db;
};

struct literals_thread {
	hs_scratch_t *scratch;
};

static int fault(struct err *err, hs_error_t e, const char *what)
{
	if (e == HS_NOMEM)
		return err_nomem(err);
	if (e == HS_ARCH_ERROR)
		return err_set(err, ERR_LIMIT, "this CPU cannot search for many strings at once (SSSE3 is needed)");
	return err_set(err, ERR_BUG, "%s: fault %d of the search library", what, (int)e);
}

static int compile(hs_database_t **ret, const struct text *list, size_t n, struct err *err)
{
	const char **texts = calloc(n, sizeof(*texts));
	size_t *lens = calloc(n, sizeof(*lens));
	unsigned *ids = calloc(n, sizeof(*ids));
	hs_compile_error_t *why = NULL;
	int rc = texts && lens && ids ? 0 : err_nomem(err);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		texts[i] = list[i].ptr;
		lens[i] = list[i].len;
		ids[i] = (unsigned)i;
	}
	if (rc == 0) {
		hs_error_t e =
		    hs_compile_lit_multi(texts, NULL, ids, lens, (unsigned)n, HS_MODE_BLOCK, NULL, ret, &why);
		if (e != HS_SUCCESS)
			rc = e == HS_COMPILER_ERROR && why
				 ? err_set(err, ERR_BUG, "the search library does not take the strings: %s",
					   why->message)
				 : fault(err, e, "strings to search for");
		hs_free_compile_error(why);
	}
	free(texts);
	free(lens);
	free(ids);
	return rc;
}

int literals_compile(struct literals **ret, const struct text *list, size_t n, struct err *err)
{
	hs_error_t e = hs_valid_platform();
	if (e != HS_SUCCESS)
		return fault(err, e, "platform");
	struct literals *l = calloc(1, sizeof(*l));
	int rc = l ? 0 : err_nomem(err);
	if (rc == 0 && n) /* without strings nothing is found, and nothing compiled */
		rc = compile(&l->db, list, n, err);
	if (rc < 0) {
		literals_free(l);
		return rc;
	}
	*ret = l;
	return 0;
}

void literals_free(struct literals *l)
{
	if (!l)
		return;
	hs_free_database(l->db);
	free(l);
}

int literals_thread_new(struct literals_thread **ret, const struct literals *l, struct err *err)
{
	struct literals_thread *t = calloc(1, sizeof(*t));
	if (!t)
		return err_nomem(err);
	hs_error_t e = l->db ? hs_alloc_scratch(l->db, &t->scratch) : HS_SUCCESS;
	if (e != HS_SUCCESS) {
		literals_thread_free(t);
		return fault(err, e, "scratch");
	}
	*ret = t;
	return 0;
}

void literals_thread_free(struct literals_thread *t)
{
	if (!t)
		return;
	hs_free_scratch(t->scratch);
	free(t);
}

struct search {
	int (*found)(void *ctx, size_t which, size_t end);
	void *ctx;
	int rc;
};

static int on_match(unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void *ctx)
{
	struct search *s = ctx;
	(void)from;
	(void)flags;
	s->rc = s->found(s->ctx, id, (size_t)to);
	return s->rc != 0;
}

int literals_search(const struct literals *l, struct literals_thread *t, struct text bytes,
		    int (*found)(void *ctx, size_t which, size_t end), void *ctx, struct err *err)
{
	struct search s = {.found = found, .ctx = ctx};
	if (!l->db || !bytes.len)
		return 0;
	if (bytes.len > INT32_MAX)
		return err_set(err, ERR_BUG, "more bytes than are searched at once");
	hs_error_t e = hs_scan(l->db, bytes.ptr, (unsigned)bytes.len, 0, t->scratch, on_match, &s);
	if (e == HS_SCAN_TERMINATED)
		return s.rc;
	return e == HS_SUCCESS ? 0 : fault(err, e, "search");
}
