/* SPDX-License-Identifier: Apache-2.0 */
/* kind_exposed.c - notice to a tenant whose requests were, or may have been, read by others
 *
 * Says nothing by which one of those others could be told: counts are bands, times of reading are rounded.
 */
#include "facts.h"

static const struct blank blanks[] = {
    {"phase", "Phase", "first, follow-up or final notice (GDPR Art. 33(4): information may come in phases)"},
    {"approver", "Approval", "name, function, date; this issue is a draft"},
    {"contact", "Contact", "whom to ask (GDPR Art. 33(3)(b)): name, address, telephone"},
    {"aware", "When we became aware",
     "date and time with the reason; your own clocks may begin when you receive this (GDPR Art. 33(1), (2))"},
    {"data-categories", "Categories of data and of people",
     "yours to assess: the logs hold lengths and ids, no prompts (GDPR Art. 33(3)(a))"},
    {"consequences", "Likely consequences", "GDPR Art. 33(3)(c)"},
    {"measures", "Measures taken and planned",
     "what was done, when, with what effect; what is planned (GDPR Art. 33(3)(d))"},
    {"next-update", "Next update", "date, or what it waits for"},
};

static const struct section sections[] = {
    {.id = "requests",
     .title = "Your requests concerned",
     .query = "notice_exposed",
     .shown =
	 "class=Class,started_at=Began (exact),request=Request,model=Model,reads=Answers to others that read "
	 "it,recipients=Customers,own_reads=Own answers that read it,delivered=Delivered,tokens_at_most=Tokens read at "
	 "most,first_read_at=First read (rounded),last_read_at=Last read (rounded),grade=Grade",
     .text =
	 "Times of your requests are exact. Times of reading are other customers' too: they are rounded down. Counts "
	 "of "
	 "others are bands: 1, 2-5, more than 5. Grade physical: page logs name the pages. Grade temporal: the request "
	 "lived in the same memory before; it is a candidate, and its counts are upper bounds."},
};

static int refuse(struct facts *f)
{
	if (number_any(f, "E1 E2 E3 E5"))
		return 0;
	err_set(f->err, ERR_INPUT, "no request of this tenant was read by others, or may have been");
	return err_hint(f->err, "notice-none, or notice-recipient, is what there is to say");
}

const struct kind kind_exposed = {
    .name = "notice-exposed",
    .sheet = "notice.xsl",
    .readers = READERS_TENANT,
    .numbers = &tenant_numbers,
    .blanks = blanks,
    .n_blanks = ARRAY_SIZE(blanks),
    .sections = sections,
    .n_sections = ARRAY_SIZE(sections),
    .refuse = refuse,
};
