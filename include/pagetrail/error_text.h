/* SPDX-License-Identifier: Apache-2.0 */
/* error_text.h - of an error text what is the program's own: words that such texts are made of, numbers, names of exceptions
 *
 * What a gateway or a library says of a request may quote it. No list of marks finds a prompt in there; a list of the words of error texts
 * finds what is none. Clauses most of which is made of other words are left out, and single other words: "…" stands for them.
 */
#pragma once

#include "pagetrail/arena.h"

/* Lives in the arena. ptr NULL where memory is short. */
struct text error_text(struct text t, struct arena *a);
