/* SPDX-License-Identifier: Apache-2.0 */
/* vtab.c - the virtual tables of a case (registered on every connection) */
#include "store.h"

int vtab_register(struct case_file *c, struct err *err)
{
	(void)c, (void)err;
	return 0;
}
