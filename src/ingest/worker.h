/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - the name of the worker whose log a file is, out of its path or its start line */
#pragma once

#include "pagetrail/arena.h"
#include "pagetrail/buf.h"
#include "pagetrail/event.h"

/* The nearest directory or file stem that is not a generic word; {NULL,0} when out of memory, "" when the path holds
 * none. */
struct text worker_of_path(struct arena *a, const char *path);
/* The pod of a container log's path (/var/log/pods/NS_POD_UID/CONTAINER/N.log and /var/log/containers/…); "" otherwise.
 */
struct text worker_of_pod(const char *path);
/* host:port of a start line, when it can only mean one server; "" otherwise. */
struct text worker_of_boot(struct arena *a, const struct event *e);
bool worker_is_generic(struct text word);
/* Appends what a wrapper's facts name as worker: the pod, else the host with what runs on it, as far as that says more
 * than a kind of program; nothing when they name none. */
int worker_of_facts(struct buf *out, struct text host, struct text unit, struct text pod, struct text container,
		    struct err *err) MUST_CHECK;
