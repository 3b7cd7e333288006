/* SPDX-License-Identifier: Apache-2.0 */
/* account.c - the sums that must hold: every byte and every record has one class */
#include "account.h"

void account_extend(struct account *a, enum verdict v, uint64_t bytes)
{
	a->bytes += bytes;
	switch (v) {
	case RECORD_PARSED: a->bytes_parsed += bytes; break;
	case RECORD_CONTEXT: a->bytes_context += bytes; break;
	case RECORD_UNPARSED:
	case RECORD_CONTINUES: a->bytes_unparsed += bytes; break;
	}
}

void account_add(struct account *a, enum verdict v, uint64_t bytes)
{
	account_extend(a, v, bytes);
	a->records++;
	switch (v) {
	case RECORD_PARSED: a->parsed++; break;
	case RECORD_CONTEXT: a->context++; break;
	case RECORD_UNPARSED:
	case RECORD_CONTINUES: a->unparsed++; break;
	}
}

void account_duplicate(struct account *a, bool record, uint64_t bytes)
{
	a->records += record;
	a->duplicate += record;
	a->bytes += bytes;
	a->bytes_duplicate += bytes;
}

void account_sum(struct account *a, const struct account *b)
{
	a->records += b->records;
	a->parsed += b->parsed;
	a->context += b->context;
	a->unparsed += b->unparsed;
	a->duplicate += b->duplicate;
	a->bytes += b->bytes;
	a->bytes_parsed += b->bytes_parsed;
	a->bytes_context += b->bytes_context;
	a->bytes_unparsed += b->bytes_unparsed;
	a->bytes_duplicate += b->bytes_duplicate;
}

bool account_holds(const struct account *a)
{
	return a->records == a->parsed + a->context + a->unparsed + a->duplicate &&
	       a->bytes == a->bytes_parsed + a->bytes_context + a->bytes_unparsed + a->bytes_duplicate;
}
