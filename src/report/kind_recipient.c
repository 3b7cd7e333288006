/* SPDX-License-Identifier: Apache-2.0 */
/* kind_recipient.c - notice to a tenant whose responses hold, or may hold, what is another's; whose, it does not say */
#include "facts.h"

static const struct blank blanks[] = {
    {"phase", "Phase", "first, follow-up or final notice"},
    {"approver", "Approval", "name, function, date; this issue is a draft"},
    {"contact", "Contact", "where the reply goes, and whom to ask"},
    {"legal-basis", "Ground of the request to delete",
     "contract, law (GDPR Art. 28(3), 32; 45 CFR 164.402: extent of mitigation)"},
    {"reply-until", "Reply until", "date"},
    {"reply-found", "Reply: found and where it was kept", "yours to complete: systems, logs, caches, files, back-ups"},
    {"reply-forwarded", "Reply: passed on", "yours to complete: to whom, when; also to automatic systems"},
    {"reply-deleted", "Reply: deleted", "yours to complete: yes or no by response, date"},
    {"reply-name", "Reply: signed by", "yours to complete: name, function, date"},
};

static const struct section sections[] = {
    {.id = "responses",
     .title = "Your responses concerned",
     .query = "notice_recipient",
     .shown =
	 "class=Class,started_at=Began,finished_at=Ended,request=Request,response_ids=Ids that you have "
	 "seen,model=Model,prompt_tokens=Your prompt (tokens),content_of=Content of,delivered=Delivered,grade=Grade",
     .text = "Answers to your own requests. 'Content of' says whether what they hold is another customer's, your own, "
	     "or not "
	     "known; this paper does not say whose."},
};

static int refuse(struct facts *f)
{
	if (number_any(f, "C1 C2 C3 C5"))
		return 0;
	err_set(f->err, ERR_INPUT, "the responses of this tenant are excluded");
	return err_hint(f->err, "notice-none, or notice-exposed, is what there is to say");
}

const struct kind kind_recipient = {
    .name = "notice-recipient",
    .sheet = "notice.xsl",
    .readers = READERS_TENANT,
    .numbers = &tenant_numbers,
    .blanks = blanks,
    .n_blanks = ARRAY_SIZE(blanks),
    .sections = sections,
    .n_sections = ARRAY_SIZE(sections),
    .refuse = refuse,
};
