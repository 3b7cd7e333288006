/* SPDX-License-Identifier: Apache-2.0 */
/* secret.h - keys and tokens that stand where names or messages should: they never get into an event */
#pragma once

#include "pagetrail/text.h"

/* Does it begin like an API key, a token or an authorization header? */
bool secret_like(struct text t);
/* t, or nothing when it is one. */
struct text secret_not(struct text t);
/* t up to the first word that is one: error texts repeat keys ("Incorrect API key provided: sk-…"). */
struct text secret_cut(struct text t);
