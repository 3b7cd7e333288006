/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - plans of markers, and of probes with lengths around a limit
 *
 * Everything follows from the seed: names are cut from hashes of it, and so are lengths between limit and context.
 */
#include "plan.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#include "pagetrail/digest.h"
#include "pagetrail/limits.h"

/* Of which no two look alike. */
static const char alphabet[] = "abcdefghjkmnpqrstvwxyz0123456789";

static int hashed(const char *what, int64_t seed, int64_t number, unsigned char digest[SHA256_BYTES], struct err *err)
{
	char text[80];
	int n = snprintf(text, sizeof(text), "pagetrail %s %" PRId64 " %" PRId64, what, seed, number);
	return sha256_once(text, (size_t)n, digest, err);
}

/* prefix and n letters and digits: 5 bits each. */
static int name_of(const char *what, const char *prefix, size_t n, int64_t seed, int64_t number, char *out,
		   struct err *err)
{
	unsigned char digest[SHA256_BYTES];
	int rc = hashed(what, seed, number, digest, err);
	if (rc)
		return rc;
	size_t at = strlen(prefix);
	memcpy(out, prefix, at);
	for (size_t i = 0; i < n; i++)
		out[at + i] = alphabet[digest[i] % 32];
	out[at + n] = '\0';
	return 0;
}

static int random_bytes(void *to, size_t n, struct err *err)
{
	if (getrandom(to, n, 0) != (ssize_t)n)
		return err_set(err, ERR_IO, "no random numbers: %s", strerror(errno));
	return 0;
}

/* A plan's markers must not be known before, and never be those of another plan. */
static int random_seed(int64_t *ret, struct err *err)
{
	uint64_t seed = 0;
	int rc = random_bytes(&seed, sizeof(seed), err);
	*ret = (int64_t)(seed & INT64_MAX);
	return rc;
}

int plan_random_name(char *out, size_t n, struct err *err)
{
	unsigned char bytes[32];
	int rc = random_bytes(bytes, MIN(n, sizeof(bytes)), err);
	for (size_t i = 0; i < n; i++)
		out[i] = alphabet[bytes[i % sizeof(bytes)] % 32];
	out[n] = '\0';
	return rc;
}

/* --- probes --- */

/* The limit, the lengths beside it, the last one that the context has room for, then any between limit and context; each once
 * as a stream and once not. */
static int length_of(const struct plan_args *a, int64_t number, int64_t *ret, struct err *err)
{
	unsigned char digest[SHA256_BYTES];
	uint64_t some = 0;
	int64_t at = number / 2, last = MAX((a->context > 0 ? a->context : 2 * a->limit) - 1, a->limit + 1);
	const int64_t first[] = {a->limit, a->limit + 1, MAX(a->limit - 1, 1), last};
	if (at < (int64_t)ARRAY_SIZE(first)) {
		*ret = first[at];
		return 0;
	}
	int rc = hashed("length", a->seed, at, digest, err);
	memcpy(&some, digest, sizeof(some));
	*ret = a->limit + (int64_t)(some % (uint64_t)(last - a->limit + 1));
	return rc;
}

static int print_probe(const struct plan_args *a, int64_t number, bool marker, int64_t of_kind, struct err *err)
{
	char probe[32], name[32];
	int64_t tokens = 0;
	int rc = name_of("probe", "ptp", 16, a->seed, number, probe, err);
	if (!rc)
		rc = marker ? name_of("marker", "ptm", 26, a->seed, of_kind, name, err)
			    : length_of(a, of_kind, &tokens, err);
	if (rc)
		return rc;
	printf("{\"probe\":\"%s\",\"kind\":\"%s\",", probe, marker ? "marker" : "over_limit");
	if (marker)
		printf("\"marker\":\"%s\",", name);
	else
		printf("\"tokens\":%" PRId64 ",", tokens);
	printf("\"stream\":%s}", of_kind % 2 ? "true" : "false");
	return 0;
}

/* Markers and over-limit probes among each other, so that content of others is in memory when a limit is passed. */
static int print_probes(const struct plan_args *a, struct err *err)
{
	int64_t all = a->markers + a->over_limit, sent = 0;
	int rc = 0;
	puts(",\n\"probes\":[");
	for (int64_t i = 0; i < all && !rc; i++) {
		bool marker =
		    !i || sent >= a->over_limit ||
		    (i - sent < a->markers && (sent + 1) * (a->markers + 1) > (i - sent + 1) * (a->over_limit + 1));
		rc = print_probe(a, i, marker, marker ? i - sent : sent, err);
		sent += marker ? 0 : 1;
		fputs(i + 1 < all ? ",\n" : "\n", stdout);
	}
	fputs("]", stdout);
	return rc;
}

static int check(const struct plan_args *a, struct err *err)
{
	if (a->markers < 1 || a->markers > MARKERS_MAX)
		return err_set(err, ERR_USAGE, "--plan takes a number of markers, 1 to %d", MARKERS_MAX);
	if (a->over_limit < 0 && (a->limit >= 0 || a->context >= 0))
		return err_set(err, ERR_USAGE, "--limit and --context are for --over-limit");
	if (a->over_limit < 0)
		return 0;
	if (a->over_limit < 1 || a->over_limit + a->markers > LIVE_PROBES_MAX)
		return err_set(err, ERR_USAGE, "--over-limit takes a number of probes; with markers at most %d",
			       LIVE_PROBES_MAX);
	if (a->limit < 1 || a->limit > LIVE_PROBE_TOKENS_MAX / 2) {
		err_set(err, ERR_USAGE, "--over-limit needs --limit, 1 to %d tokens", LIVE_PROBE_TOKENS_MAX / 2);
		err_hint(err, "'pagetrail query CASE boots' has the input limits that were seen");
		return ERR_USAGE;
	}
	if (a->context >= 0 && (a->context <= a->limit || a->context > LIVE_PROBE_TOKENS_MAX))
		return err_set(err, ERR_USAGE, "--context takes more tokens than --limit, at most %d",
			       LIVE_PROBE_TOKENS_MAX);
	return 0;
}

static void print_note(const struct plan_args *a)
{
	printf("{\"note\":\"pagetrail canary --plan %" PRId64 " --seed %" PRId64, a->markers, a->seed);
	if (a->over_limit > 0)
		printf(" --over-limit %" PRId64 " --limit %" PRId64, a->over_limit, a->limit);
	if (a->context > 0)
		printf(" --context %" PRId64, a->context);
	puts("\",");
	if (a->over_limit > 0)
		printf("\"limit\":%" PRId64 ",\"context\":", a->limit);
	if (a->over_limit > 0 && a->context > 0)
		printf("%" PRId64 ",\n", a->context);
	else if (a->over_limit > 0)
		puts("null,");
	puts("\"markers\":[");
}

int plan_print(const struct plan_args *given, struct err *err)
{
	struct plan_args plan = *given, *a = &plan;
	int rc = check(a, err);
	if (!rc && a->seed < 0)
		rc = random_seed(&a->seed, err);
	if (rc)
		return rc;
	print_note(a);
	for (int64_t i = 0; i < a->markers && !rc; i++) {
		char name[32];
		rc = name_of("marker", "ptm", 26, a->seed, i, name, err);
		printf("{\"marker\":\"%s\",\"planted_request\":null,\"planted_tenant\":null,\"planted_at\":null}%s\n",
		       rc ? "" : name, i + 1 < a->markers ? "," : "");
	}
	fputs("]", stdout);
	if (!rc && a->over_limit > 0)
		rc = print_probes(a, err);
	puts("}");
	return rc ? rc : system_flush(err);
}
