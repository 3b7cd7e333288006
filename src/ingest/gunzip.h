/* SPDX-License-Identifier: Apache-2.0 */
/* gunzip.h - gzip data as a stream that keeps what came before a cut */
#pragma once

#include "stream.h"

/* Takes `in` (closes it). */
int gunzip_open(struct stream **ret, struct stream *in, struct damage *damage, struct err *err) MUST_CHECK;
