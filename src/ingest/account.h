/* SPDX-License-Identifier: Apache-2.0 */
/* account.h - the sums that must hold: every byte and every record has one class */
#pragma once

#include "pagetrail/ingest.h"

/* A record of this class with its line end. */
void account_add(struct account *a, enum verdict v, uint64_t bytes);
/* More bytes for the class of the record before. */
void account_extend(struct account *a, enum verdict v, uint64_t bytes);
/* Bytes that another source has, too; record: they begin one. */
void account_duplicate(struct account *a, bool record, uint64_t bytes);
/* Another source's numbers on top. */
void account_sum(struct account *a, const struct account *b);
bool account_holds(const struct account *a);
