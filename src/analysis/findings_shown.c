/* SPDX-License-Identifier: Apache-2.0 */
/* findings_shown.c - what the page log of one leg shows: that the request was seen to read, and what arrived for it
 *
 * A log without a hole from alloc to free proves nothing about reading that it never records. The rules are written down
 * in docs/method.md.
 */
#include "findings.h"

/* Does the log show the reading of all that the prompt can have lain in? tokens, page_size: UNSAID (or 0) when not known. */
bool cover_shows_reading(const struct cover *c, int64_t tokens, int64_t page_size, enum reason *ret_why)
{
	*ret_why = REASON_NO_READ_LOGGED;
	if (!c->read)
		return false;
	*ret_why = REASON_READ_IN_PART;
	if (!c->unread) /* all that it ever held */
		return true;
	if (c->page_size > 0)
		page_size = c->page_size;
	uint64_t need = 0;
	if (tokens > 0 && page_size > 0)
		need = (uint64_t)(tokens / page_size) + (tokens % page_size != 0);
	if (need && c->shown >= need) /* what is left was taken for tokens that never came */
		return true;
	return !c->idle && (!need || c->held < need);
}

int cover_got(const struct cover *c)
{
	bool more = c->got_untold ? c->got_pages > 1 : c->got_tokens > 1;
	return more ? 1 : c->broken || c->open ? -1 : 0;
}
