/* SPDX-License-Identifier: Apache-2.0 */
/* wrap_json.h - what the JSON wrappers share: labels and attributes that name an origin, times as numbers or texts */
#pragma once

#include "pagetrail/json_scan.h"
#include "pagetrail/wrapper.h"

/* A label by its name; value: what it says. Names as Kubernetes' collectors and OpenTelemetry's conventions have them. */
static void origin_label(struct wrapped *w, struct text name, struct text value)
{
	static const struct {
		const char *name;
		size_t at;
	} labels[] = {
	    {"pod", offsetof(struct wrapped, pod)},
	    {"pod_name", offsetof(struct wrapped, pod)},
	    {"k8s.pod.name", offsetof(struct wrapped, pod)},
	    {"k8s_pod_name", offsetof(struct wrapped, pod)},
	    {"kubernetes_pod_name", offsetof(struct wrapped, pod)},
	    {"container", offsetof(struct wrapped, container)},
	    {"container_name", offsetof(struct wrapped, container)},
	    {"k8s.container.name", offsetof(struct wrapped, container)},
	    {"k8s_container_name", offsetof(struct wrapped, container)},
	    {"container.name", offsetof(struct wrapped, container)},
	    {"kubernetes_container_name", offsetof(struct wrapped, container)},
	    {"host", offsetof(struct wrapped, host)},
	    {"hostname", offsetof(struct wrapped, host)},
	    {"node", offsetof(struct wrapped, host)},
	    {"node_name", offsetof(struct wrapped, host)},
	    {"nodename", offsetof(struct wrapped, host)},
	    {"pod_node_name", offsetof(struct wrapped, host)},
	    {"host.name", offsetof(struct wrapped, host)},
	    {"k8s.node.name", offsetof(struct wrapped, host)},
	    {"unit", offsetof(struct wrapped, unit)},
	    {"job", offsetof(struct wrapped, unit)},
	    {"app", offsetof(struct wrapped, unit)},
	    {"service_name", offsetof(struct wrapped, unit)},
	    {"service.name", offsetof(struct wrapped, unit)},
	    {"stream", offsetof(struct wrapped, stream)},
	    {"log.iostream", offsetof(struct wrapped, stream)},
	};

	if (name.len > 32 || !value.len)
		return;
	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
		struct text *to = (struct text *)(void *)((char *)w + labels[i].at);

		if (text_is(name, labels[i].name) && !to->len)
			*to = value;
	}
}

/* {"name":"…",…} as the value of a label, as Elastic's schema nests it; false: it is broken. */
static inline bool origin_named(struct json_scan *s, struct text label, struct arena *a, struct wrapped *w)
{
	struct text key, v, value;
	int r;

	if (!scan_open(s, '{'))
		return false;
	while ((r = scan_member(s, &key)) == 1) {
		if (!scan_value(s, &v))
			return false;
		if (text_is(key, "name") && v.ptr[0] == '"' && scan_scalar(v, a, &value))
			origin_label(w, label, value);
	}
	return r == 0;
}

/* An object of labels with strings, or objects that have a name, as values; false: it is broken. */
static inline bool origin_labels(struct json_scan *s, struct arena *a, struct wrapped *w)
{
	struct text key, v, value;
	int r;

	if (!scan_open(s, '{'))
		return false;
	while ((r = scan_member(s, &key)) == 1) {
		if (scan_peek(s) == '{') {
			if (!origin_named(s, key, a, w))
				return false;
			continue;
		}
		if (!scan_value(s, &v))
			return false;
		if (v.ptr[0] == '"' && scan_scalar(v, a, &value))
			origin_label(w, key, value);
	}
	return r == 0;
}

/* A time with a zone or an epoch; anything else leaves *ret as it is. */
static inline void outer_time(struct text raw, struct stamp *ret)
{
	struct stamp ts;
	size_t used;

	if (raw.len > 2 && raw.ptr[0] == '"')
		raw = text_sub(raw, 1, raw.len - 2);
	if (!raw.len)
		return;
	if (stamp_parse_iso(raw, &ts, &used) ? used == raw.len && ts.quality == STAMP_ZONED
					     : stamp_parse_epoch(raw, &ts) && ts.quality == STAMP_ZONED)
		*ret = ts;
}
