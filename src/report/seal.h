/* SPDX-License-Identifier: Apache-2.0 */
/* seal.h - private to report: what shows that the files of a document are as they were written */
#pragma once

#include "facts.h"
#include "output.h"

/* Files from `first` on, for `sha256sum -c` in their folder; appended. */
int seal_sums(const struct output *o, size_t first, struct buf *b, struct err *err) MUST_CHECK;
/* What a time stamping authority is asked with (RFC 3161) to say that these bytes were there; appended. */
int seal_request(struct text sums, struct buf *b, struct err *err) MUST_CHECK;
/* The same as an in-toto Statement v1, signed (DSSE) with the key of f->o; appended. */
int seal_statement(const struct facts *f, const struct output *o, size_t first, struct buf *b,
		   struct err *err) MUST_CHECK;
