/* SPDX-License-Identifier: Apache-2.0 */
/* flat.c - leads that are met for the first time, and what is read over */
#include "pagetrail/flat.h"

static uint8_t slot_of(struct text key, const char *const *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (text_is(key, names[i]))
			return (uint8_t)i;
	return FLAT_OTHER;
}

static struct flat_lead *known(struct flat *f, const struct flat_lead *l)
{
	for (unsigned i = 1; i < f->n_leads; i++)
		if (f->leads[i].len == l->len && memcmp(f->leads[i].word, l->word, sizeof(l->word)) == 0)
			return &f->leads[i];
	return NULL;
}

/* The lead at from, which ends before f->p; the place that stands for leads nobody remembers when there is no room. */
static struct flat_lead *learn(struct flat *f, const char *from, uint8_t slot)
{
	struct flat_lead l = {.len = (uint8_t)(f->p - from), .slot = slot}, *to;

	memcpy(l.word, from, l.len);
	to = known(f, &l);
	if (to)
		return to;
	if (f->n_leads == 0)
		f->n_leads = 1;
	if (f->n_leads == FLAT_LEADS)
		return NULL;
	memset(l.mask, 0xff, l.len);
	to = &f->leads[f->n_leads++];
	*to = l;
	return to;
}

static bool take_char(struct flat *f, char c)
{
	if (f->p >= f->end || *f->p != c)
		return false;
	f->p++;
	return true;
}

int flat_next_new(struct flat *f, const char *const *names, unsigned n)
{
	const char *from = f->p;
	bool first = f->at == &f->leads[0] && *f->p == '{';
	struct flat_lead *lead;
	struct text key;
	uint8_t slot;

	flat_blanks(f);
	if (!first && take_char(f, '}')) {
		flat_blanks(f);
		return f->p == f->end ? FLAT_END : FLAT_ODD;
	}
	if (!take_char(f, first ? '{' : ','))
		return FLAT_ODD;
	flat_blanks(f);
	if (f->p >= f->end || !flat_string(f, &key))
		return FLAT_ODD;
	flat_blanks(f);
	if (!take_char(f, ':'))
		return FLAT_ODD;
	flat_blanks(f);
	if (f->p >= f->end)
		return FLAT_ODD;
	slot = slot_of(key, names, n);
	lead = f->p - from <= FLAT_LEAD_MAX ? learn(f, from, slot) : NULL;
	if (lead) {
		f->at->next[1] = f->at->next[0];
		f->at->next[0] = (uint8_t)(lead - f->leads);
		f->at = lead;
	} else {
		f->at = &f->leads[FLAT_LEADS - 1];
	}
	return slot;
}

bool flat_more_digits(const char *p, const char **ret_end, uint64_t *v)
{
	unsigned n = 8, all = 8;

	for (; n == 8; p += n) {
		uint64_t more = flat_few(p, &n);

		all += n;
		if (all > 19)
			return false;
		*v = *v * flat_power(n) + more;
	}
	*ret_end = p;
	return true;
}

bool flat_number(struct flat *f, struct text *ret)
{
	const char *from = f->p, *p = from, *dot;

	while (p < f->end && *p >= '0' && *p <= '9')
		p++;
	if (p == from || (*from == '0' && p - from > 1))
		return false;
	if (p < f->end && *p == '.') {
		dot = p++;
		while (p < f->end && *p >= '0' && *p <= '9')
			p++;
		if (p == dot + 1)
			return false;
	}
	*ret = (struct text){from, (size_t)(p - from)};
	f->p = p;
	return true;
}

bool flat_skip(struct flat *f)
{
	struct text t;

	switch (*f->p) {
	case '"': return flat_string(f, &t);
	case 'n': return flat_null(f);
	case 't':
		if (memcmp(f->p, "true", 4) != 0)
			return false;
		f->p += 4;
		return true;
	case 'f':
		if (memcmp(f->p, "false", 5) != 0)
			return false;
		f->p += 5;
		return true;
	default: return flat_number(f, &t);
	}
}
