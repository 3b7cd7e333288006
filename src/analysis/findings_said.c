/* SPDX-License-Identifier: Apache-2.0 */
/* findings_said.c - what the tables say of a response beside what its class rests on, read from the chunks of rows */
#include "findings.h"

static bool is_near(const struct row_range *r, int64_t response)
{
	return r && r->n && response >= r->first && response < r->first + r->n;
}

static int open_books(struct findings *f, struct err *err)
{
	int rc =
	    f->said_responses
		? 0
		: row_book_open(&f->said_responses, f->c, ROWS_RESPONSE,
				1u << RESPONSE_STATUS | 1u << RESPONSE_STREAMED | 1u << RESPONSE_DELIVERED_BASIS, err);
	if (rc == 0 && !f->said_requests)
		rc =
		    row_book_open(&f->said_requests, f->c, ROWS_REQUEST, 1u << REQUEST_NAME | 1u << REQUEST_MODEL, err);
	return rc;
}

int findings_said(struct findings *f, const struct finding *x, struct said *ret, struct err *err)
{
	int rc = open_books(f, err);
	if (rc < 0)
		return rc;
	if (!is_near(f->said[f->last_said].responses, x->response)) /* as in findings_get() */
		f->last_said = !f->last_said;
	struct said_at *at = &f->said[f->last_said];
	rc = row_range_goto(&at->responses, f->said_responses, x->response, err);
	if (rc == 0)
		rc = row_range_turn(&at->requests, f->said_requests, x->request, err);
	if (rc == 0)
		rc = row_range_seek(at->requests, x->request, err);
	if (rc == 0 || (rc == 1 && row_range_request(at->requests) != x->request))
		rc = err_set(err, ERR_DAMAGED, "the request of a response is not there");
	if (rc < 0)
		return rc;
	*ret = (struct said){.name = row_range_text(at->requests, REQUEST_NAME),
			     .model = row_range_text(at->requests, REQUEST_MODEL),
			     .delivered_basis = row_range_text(at->responses, RESPONSE_DELIVERED_BASIS),
			     .status = row_range_int(at->responses, RESPONSE_STATUS),
			     .streamed = row_range_int(at->responses, RESPONSE_STREAMED)};
	return 0;
}

void findings_said_close(struct findings *f)
{
	for (unsigned i = 0; i < ARRAY_SIZE(f->said); i++) {
		row_range_free(f->said[i].responses);
		row_range_free(f->said[i].requests);
	}
	row_book_close(f->said_responses);
	row_book_close(f->said_requests);
}
