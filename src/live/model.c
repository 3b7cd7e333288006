/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - the one model that an endpoint serves, by its own word */
#include <stdio.h>
#include <stdlib.h>

#include "pagetrail/json.h"
#include "pagetrail/limits.h"
#include "pagetrail/live.h"

struct question {
	struct live_call call;
	bool asked;
};

static enum live_next next(void *ctx, struct live_call **ret)
{
	struct question *q = ctx;
	if (q->asked)
		return LIVE_END;
	q->asked = true;
	*ret = &q->call;
	return LIVE_CALL;
}

static int done(void *ctx, struct live_call *call, struct err *err)
{
	(void)ctx;
	(void)call;
	(void)err;
	return 0;
}

/* Adapters have a parent. 1: there is none, or several. */
static int only_model(struct json_value doc, struct buf *ret, struct err *err)
{
	struct json_value data = json_get(doc, "data"), v;
	struct text key, id, only = TEXT("");
	for (struct json_iter it = json_iter(data); json_type(data) == JSON_ARRAY && json_next(&it, &key, &v);) {
		if (json_given(json_get(v, "parent")) || !json_string(json_get(v, "id"), &id) || !id.len)
			continue;
		if (only.len && !text_eq(only, id))
			return 1;
		only = id;
	}
	return only.len && only.len <= NAME_MAX_BYTES ? buf_add_text(ret, only, err) : 1;
}

int live_model(const struct live_options *o, struct text endpoint, struct buf *ret, struct err *err)
{
	struct question q = {0};
	const struct live_source source = {next, done, &q};
	struct json_value doc;
	char *url = NULL;
	if (text_ends(endpoint, "/v1"))
		endpoint.len -= 3;
	if (asprintf(&url, "%.*s/v1/models", TEXT_ARG(endpoint)) < 0)
		return err_nomem(err);
	q.call.url = url;
	struct json *j = json_new();
	int rc = j ? live_run(o, &source, err) : err_nomem(err);
	if (!rc && q.call.outcome != LIVE_ANSWERED)
		rc = 1;
	if (!rc)
		rc = json_parse(j, buf_text(&q.call.answer), true, &doc, NULL, err);
	if (!rc)
		rc = only_model(doc, ret, err);
	if (rc == 1) {
		err_set(err, ERR_INPUT, "the endpoint does not name one model%s%s", q.call.why[0] ? ": " : "",
			q.call.why);
		err_where(err, "%s", url);
		err_hint(err, "say which with --model NAME");
		rc = ERR_INPUT;
	}
	json_free(j);
	live_call_done(&q.call);
	free(url);
	return rc;
}
