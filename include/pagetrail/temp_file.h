/* SPDX-License-Identifier: Apache-2.0 */
/* temp_file.h - a file without a name, gone when it is closed */
#pragma once

/* Where SQLite puts its own: SQLITE_TMPDIR, TMPDIR, /var/tmp, /usr/tmp, /tmp, here. -1: there is no room for one. */
int temp_file(void);
