/* SPDX-License-Identifier: Apache-2.0 */
/* kind_public.c - the public report: totals, no ids, no exact times
 *
 * Counts below 5 are not printed, nor what they could be computed from (cells.c). Sums over two populations are left out: each number is
 * a part of one whole at most.
 */
#include "facts.h"

static const struct blank blanks[] = {
    {"approver", "Approval", "name, function, date; this issue is a draft"},
    {"summary", "Summary", "what happened, in words for everybody; cause and when it was noticed"},
    {"data-categories", "What data could appear",
     "categories; the logs hold lengths and ids, no prompts (GDPR Art. 34(2), 33(3))"},
    {"fix", "Fix, and where it runs",
     "which release holds it, and on how many replicas of an inventory it is known to run, as of when"},
    {"actions", "What customers should do", "and how those concerned are told"},
    {"contact", "Contact", "whom to ask (GDPR Art. 33(3)(b))"},
    {"next-update", "Updates", "where and when; corrections are marked as such"},
};

static const struct number numbers[] = {
    {"population", "responses", NULL, COUNTED},
    {"C1", "responses", "population", FOUND | PART},
    {"C2", "responses", "population", FOUND | PART},
    {"C3", "responses", "population", FOUND | PART},
    {"C4", "responses", "population", PART},
    {"C5", "responses", "population", FOUND | PART},
    {"affected_tenants", "customers", NULL, FOUND},
    {"owners", "requests", NULL, COUNTED},
    {"E1", "requests", "owners", FOUND | PART},
    {"E2", "requests", "owners", FOUND | PART},
    {"E3", "requests", "owners", FOUND | PART},
    {"E4", "requests", "owners", PART},
    {"E5", "requests", "owners", FOUND | PART},
    {"exposed_tenants", "customers", NULL, FOUND},
    {"limit_least", "tokens", NULL, OPEN},
    {"records", "records", NULL, OPEN},
    {"unparsed", "records", "records", OPEN},
    {"sources", "sources", NULL, OPEN},
    {"sources_unread", "sources", "sources", OPEN},
    {"gaps", "gaps", NULL, OPEN},
    {"interrupted", "paths", NULL, OPEN},
    {"window_s", "worker-seconds", NULL, OPEN},
    {"seen_s", "worker-seconds", "window_s", OPEN},
    {"searchable", "responses", "population", COUNTED},
    {"tenant_unknown", "responses", "population", HIDDEN},
    {"l_known", "responses", "population", HIDDEN},
    {"twice", "responses", "population", HIDDEN},
};

static const struct limit limits[] = {
    {"lineage", "population", "l_known", "population", "with an unknown lineage: whose content was read is not logged"},
    {"tenant", "tenant_unknown", NULL, "population", "without a customer's name"},
    {"twice", "twice", NULL, "population",
     "at most may be counted twice: no id joins what gateways and engines say of them"},
    {"unread", "sources_unread", NULL, "sources", "could not be read to their end or recognised"},
    {"interrupted", "interrupted", NULL, NULL,
     "whose reading was stopped: files below them are not in the case, and nothing speaks for those"},
    {"unparsed", "unparsed", NULL, "records", "not understood"},
    {"gaps", "gaps", NULL, NULL, "known in sequences, sources and clocks"},
};

static const struct number_set public_numbers = {.numbers = numbers,
						 .n_numbers = ARRAY_SIZE(numbers),
						 .statements = case_statements,
						 .n_statements = N_CASE_STATEMENTS,
						 .limits = limits,
						 .n_limits = ARRAY_SIZE(limits)};

static const struct section sections[] = {
    {.id = "signals",
     .title = "Signs of deliberate use that were searched for",
     .query = "signals",
     .shown = "signal=Signal,searched_for=Searched for,matches=Matches,cannot_show=Records cannot show",
     .text =
	 "A match is a reason to look, not a finding of intent: an ordinary client that retries a long prompt matches "
	 "too. Not searched, because no record here holds it: content of prompts, client addresses, what recipients "
	 "did "
	 "with responses, knowledge and intent."},
};

const struct kind kind_public = {
    .name = "public",
    .sheet = "public.xsl",
    .readers = READERS_PUBLIC,
    .incident = true,
    .numbers = &public_numbers,
    .blanks = blanks,
    .n_blanks = ARRAY_SIZE(blanks),
    .sections = sections,
    .n_sections = ARRAY_SIZE(sections),
};
