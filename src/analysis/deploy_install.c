/* SPDX-License-Identifier: Apache-2.0 */
/* deploy_install.c - lists of packages, images by their digest, containers
 *
 * What is in an image follows from the digest alone: a tag can be moved. A list of packages that belongs to no replica shows that the
 * fix was built, and nothing of anybody.
 */
#include "deploy.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is in an image, as lists of its packages say ---- */

struct in_image {
	struct text digest, package, version, commit;
	struct text named; /* the digest that the list itself has */
	struct ref ref, same;
	enum fix fix; /* what the policy says of it */
};

struct one_image { /* the two digests of one image */
	struct text digest, config;
	struct ref ref; /* of a record that has both */
};

struct images {
	struct in_image *at; /* by digest */
	size_t n, cap;
	struct one_image *same; /* by digest */
	size_t n_same, cap_same;
};

static int image_cmp(const void *a, const void *b)
{
	const struct in_image *x = a, *y = b;
	int c = text_cmp(x->digest, y->digest);
	if (!c)
		c = text_cmp(x->package, y->package);
	if (!c)
		c = text_cmp(x->version, y->version);
	if (!c)
		c = (x->ref.source > y->ref.source) - (x->ref.source < y->ref.source);
	return c ? c : (x->ref.off > y->ref.off) - (x->ref.off < y->ref.off);
}

static bool concerns(const struct deploy *d, struct text package, struct text version, struct text commit,
		     enum fix *ret)
{
	struct build b = {.package = package,
			  .version = version,
			  .commit = commit,
			  .disaggregated = TRI_UNKNOWN,
			  .transfer_backend = TEXT("")};
	*ret = policy_judge(d->policy, &b).fix;
	return *ret != FIX_UNCONCERNED;
}

static struct ref ref_at(struct sql *s, int col)
{
	return (struct ref){sql_get_int(s, col), (uint64_t)sql_get_int(s, col + 1), (uint64_t)sql_get_int(s, col + 2)};
}

static int load_same(struct deploy *d, struct images *im, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(
	    &s, d->c,
	    "SELECT source, byte_off, byte_len, image_digest, image_config FROM install_events WHERE image_digest "
	    "IS NOT NULL AND image_config IS NOT NULL ORDER BY image_digest, image_config, source, byte_off",
	    err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct one_image x = {sql_get_text(s, 3), sql_get_text(s, 4), ref_at(s, 0)};
		const struct one_image *before = im->n_same ? &im->same[im->n_same - 1] : NULL;
		if (before && text_eq(before->digest, x.digest) && text_eq(before->config, x.config))
			continue;
		rc = deploy_grow(d, (void **)&im->same, &im->cap_same, im->n_same, sizeof(x), err);
		if (!rc)
			rc = deploy_keep(d, &x.digest, err);
		if (!rc)
			rc = deploy_keep(d, &x.config, err);
		if (rc)
			return rc;
		im->same[im->n_same++] = x;
	}
	return rc;
}

/* By which digest an image is known here, whichever of its two a record has: that of its configuration. The one of an index has
 * several of them, one for each architecture, and so says of none what is in it. */
static struct text digest_of(const struct images *im, struct text digest, struct ref *ret_by)
{
	*ret_by = (struct ref){0};
	size_t lo = 0, hi = im->n_same;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (text_cmp(im->same[mid].digest, digest) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == im->n_same || !text_eq(im->same[lo].digest, digest))
		return digest;
	bool several = lo + 1 < im->n_same && text_eq(im->same[lo + 1].digest, digest);
	if (several)
		return digest;
	*ret_by = im->same[lo].ref;
	return im->same[lo].config;
}

static int load_images(struct deploy *d, struct images *im, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = load_same(d, im, err);
	if (rc)
		return rc;
	rc = sql_prepare(
	    &s, d->c,
	    "SELECT source, byte_off, byte_len, image_digest, package, version, commit_id FROM install_events "
	    "WHERE image_digest IS NOT NULL AND package IS NOT NULL",
	    err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct in_image x = {.named = sql_get_text(s, 3),
				     .package = sql_get_text(s, 4),
				     .version = sql_get_text(s, 5),
				     .commit = sql_get_text(s, 6),
				     .ref = ref_at(s, 0)};
		if (!concerns(d, x.package, x.version, x.commit, &x.fix))
			continue;
		x.digest = digest_of(im, x.named, &x.same);
		struct text *const texts[] = {&x.digest, &x.named, &x.package, &x.version, &x.commit};
		rc = deploy_grow(d, (void **)&im->at, &im->cap, im->n, sizeof(x), err);
		for (size_t i = 0; !rc && i < ARRAY_SIZE(texts); i++)
			rc = deploy_keep(d, texts[i], err);
		if (rc)
			return rc;
		im->at[im->n++] = x;
	}
	if (rc == 0 && im->n)
		qsort(im->at, im->n, sizeof(*im->at), image_cmp);
	return rc;
}

/* Everything that this image is known to hold becomes a claim about the replica. */
static int claim_image(struct deploy *d, const struct images *im, struct replica *r, struct claim c, bool *ret_holds,
		       struct err *err)
{
	struct ref same;
	struct text digest = digest_of(im, c.digest, &same);
	size_t lo = 0, hi = im->n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (text_cmp(im->at[mid].digest, digest) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	int rc = 0;
	*ret_holds = false;
	for (; !rc && lo < im->n && text_eq(im->at[lo].digest, digest); lo++) {
		*ret_holds = true;
		c.package = im->at[lo].package;
		c.version = im->at[lo].version;
		c.commit = im->at[lo].commit;
		memset(c.image, 0, sizeof(c.image));
		c.image[0] = im->at[lo].ref;
		if (!text_eq(im->at[lo].named, c.digest)) { /* two digests: why they are of one image */
			c.image[1] = same;
			c.image[2] = im->at[lo].same;
		}
		rc = deploy_claim(d, r, c, err);
	}
	return rc;
}

/* ---- containers ---- */

enum {
	K_WORKER = 3,
	K_AT,
	K_STARTED,
	K_ENDED,
	K_RESTARTS,
	K_DIGEST,
	K_IMAGE,
	K_CONTAINER,
	K_NODE,
	K_STATE,
	K_ROLE,
	K_RUNG,
	K_VAGUE
};

static int add_container(struct deploy *d, struct sql *s, struct replica *r, struct err *err)
{
	struct container_seen k = {.at_ns = sql_get_time(s, K_AT),
				   .started_ns = sql_get_time(s, K_STARTED),
				   .ended_ns = sql_get_time(s, K_ENDED),
				   .restarts =
				       sql_type(s, K_RESTARTS) == SQL_NULL ? UNSAID : sql_get_int(s, K_RESTARTS),
				   .digest = sql_get_text(s, K_DIGEST),
				   .image = sql_get_text(s, K_IMAGE),
				   .container = sql_get_text(s, K_CONTAINER),
				   .node = sql_get_text(s, K_NODE),
				   .state = sql_get_text(s, K_STATE),
				   .role = sql_get_text(s, K_ROLE),
				   .vague = sql_get_int(s, K_VAGUE),
				   .there = sql_get_int(s, K_RUNG) >= RUNG_THERE,
				   .ref = ref_at(s, 0)};
	struct text *const texts[] = {&k.digest, &k.image, &k.container, &k.node, &k.state, &k.role};
	int rc = deploy_grow(d, (void **)&r->containers, &r->cap_containers, r->n_containers, sizeof(k), err);
	for (size_t i = 0; !rc && i < ARRAY_SIZE(texts); i++)
		rc = deploy_keep(d, texts[i], err);
	if (rc)
		return rc;
	r->containers[r->n_containers++] = k;
	if (!k.vague)
		deploy_last(d, r, k.at_ns);
	return 0;
}

static int load_containers(struct deploy *d, const struct images *im, struct err *err)
{
	static const char sql[] = "SELECT e.source, e.byte_off, e.byte_len, e.worker, e.at_ns, e.started_ns, "
				  "e.ended_ns, e.restarts, e.image_digest, e.image, e.container, e.node, e.state, "
				  "e.role, e.rung, e.ts_quality = 4 "
				  "FROM install_events e WHERE e.what = 'container' AND e.worker IS NOT NULL";
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, d->c, sql, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct replica *r;
		if (!sql_get_text(s, K_WORKER).len)
			continue;
		rc = deploy_replica(d, sql_get_text(s, K_WORKER), &r, err);
		if (!rc)
			rc = add_container(d, s, r, err);
		if (rc)
			return rc;
		struct container_seen *k = &r->containers[r->n_containers - 1];
		/* what does not run was ordered only */
		struct claim c = {.rung = k->there ? RUNG_THERE : RUNG_ORDERED,
				  .at_ns = k->at_ns,
				  .vague = k->vague,
				  .digest = k->digest,
				  .ref = k->ref};
		if (k->digest.len)
			rc = claim_image(d, im, r, c, &k->holds, err);
	}
	return rc;
}

/* ---- packages ---- */

/* A list in a folder that nobody else speaks of belongs to no replica; one that says whose it is does. */
static int replica_of_list(struct deploy *d, struct text worker, struct text own, struct text basis,
			   struct replica **ret, struct err *err)
{
	*ret = deploy_find(d, worker);
	if (*ret || !worker.len)
		return 0;
	bool said = !text_eq(worker, own) || !(text_is(basis, "path") || !basis.len);
	return said ? deploy_replica(d, worker, ret, err) : 0;
}

static int load_packages(struct deploy *d, struct err *err)
{
	static const char sql[] = "SELECT e.source, e.byte_off, e.byte_len, e.worker, e.at_ns, e.package, e.version, "
				  "e.commit_id, e.image_digest, e.rung, o.worker, o.worker_basis, "
				  "e.installed_ns, e.ts_quality = 4 FROM "
				  "install_events e JOIN source o USING(source) WHERE e.package IS NOT NULL";
	CLEANUP(sql_endp) struct sql *s = NULL;
	int rc = sql_prepare(&s, d->c, sql, err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1) {
		struct claim c = {.rung = RUNG_THERE,
				  .at_ns = sql_get_time(s, 4),
				  .package = sql_get_text(s, 5),
				  .version = sql_get_text(s, 6),
				  .commit = sql_get_text(s, 7),
				  .digest = sql_get_text(s, 8),
				  .vague = sql_get_int(s, 13),
				  .ref = ref_at(s, 0)};
		struct replica *r = NULL;
		enum fix fix;
		if (!concerns(d, c.package, c.version, c.commit, &fix))
			continue;
		enum rung rung =
		    sql_get_int(s, 9) >= RUNG_THERE ? RUNG_THERE : (enum rung)MAX(sql_get_int(s, 9), RUNG_BUILT);
		rc = rung == RUNG_THERE
			 ? replica_of_list(d, sql_get_text(s, 3), sql_get_text(s, 10), sql_get_text(s, 11), &r, err)
			 : 0;
		if (!rc && r) {
			if (c.at_ns == TIME_UNKNOWN)
				c.at_ns = sql_get_time(s, 12);
			rc = deploy_claim(d, r, c, err);
		} else if (!rc && fix == FIX_FIXED) {
			d->fleet_rung = MAX(d->fleet_rung, rung == RUNG_ORDERED ? RUNG_ORDERED : RUNG_BUILT);
		}
	}
	return rc;
}

/* What was ordered by digest, by an order or by the inventory. */
static int load_orders(struct deploy *d, const struct images *im, struct err *err)
{
	CLEANUP(sql_endp) struct sql *s = NULL;
	struct ref by;
	int rc = sql_prepare(
	    &s, d->c,
	    "SELECT DISTINCT image_digest FROM install_events WHERE what = 'order' AND image_digest IS NOT NULL", err);
	while (rc >= 0 && (rc = sql_step(s, err)) == 1)
		for (size_t i = 0; i < im->n; i++)
			if (im->at[i].fix == FIX_FIXED &&
			    text_eq(im->at[i].digest, digest_of(im, sql_get_text(s, 0), &by)))
				d->fleet_rung = RUNG_ORDERED;
	for (size_t i = 0; rc >= 0 && i < d->n; i++) {
		const struct inventory_row *row = d->replicas[i]->listed;
		struct claim c = {
		    .rung = RUNG_ORDERED, .at_ns = TIME_UNKNOWN, .digest = row ? row->image_digest : TEXT("")};
		bool holds;
		if (c.digest.len)
			rc = claim_image(d, im, d->replicas[i], c, &holds, err);
	}
	return MIN(rc, 0);
}

int deploy_installs(struct deploy *d, struct err *err)
{
	struct images im = {0};
	int rc = load_images(d, &im, err);
	if (!rc)
		rc = load_containers(d, &im, err);
	if (!rc)
		rc = load_packages(d, err);
	return rc ? rc : load_orders(d, &im, err);
}
