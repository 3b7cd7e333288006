/* SPDX-License-Identifier: Apache-2.0 */
/* kind_none.c - answer to a tenant that asks, and of which nothing is known on either side
 *
 * It never says "not affected": it says how many were looked at and what excludes them, and where some could not be determined (C5,
 * E5) it is another letter, with their list.
 */
#include "facts.h"

static const struct blank blanks[] = {
    {"approver", "Approval", "name, function, date; this issue is a draft"},
    {"contact", "Contact", "whom to ask"},
    {"question", "What was asked", "by whom, when, with what words"},
    {"next-update", "Next update", "date, or what it waits for; corrections will be sent as corrections"},
};

static const struct section sections[] = {
    {.id = "excluded",
     .title = "What excludes your responses",
     .query = "notice_excluded",
     .shown = "rule=Rule,excluded_by=What was found out,responses=Responses",
     .text = "What excludes a response was found out; a lack of evidence excludes nothing."},
    {.id = "open-responses",
     .title = "Responses that could not be determined",
     .query = "notice_recipient",
     .shown = "class=Class,started_at=Began,request=Request,model=Model,prompt_tokens=Your prompt (tokens)",
     .empty = "0 of your responses could not be determined",
     .text = "For these the evidence does not decide whether they hold what is not yours."},
    {.id = "open-requests",
     .title = "Requests that could not be determined",
     .query = "notice_exposed",
     .shown = "class=Class,started_at=Began,request=Request,model=Model",
     .empty = "0 of your requests could not be determined",
     .text = "For these the evidence does not decide whether others read their content."},
};

static int refuse(struct facts *f)
{
	if (!number_any(f, "C1 C2 C3 E1 E2 E3"))
		return 0;
	err_set(f->err, ERR_INPUT, "this tenant has responses or requests that are confirmed, probable or possible");
	return err_hint(f->err, "notice-exposed and notice-recipient tell of them");
}

const struct kind kind_none = {
    .name = "notice-none",
    .sheet = "notice.xsl",
    .readers = READERS_TENANT,
    .numbers = &tenant_numbers,
    .blanks = blanks,
    .n_blanks = ARRAY_SIZE(blanks),
    .sections = sections,
    .n_sections = ARRAY_SIZE(sections),
    .refuse = refuse,
};
