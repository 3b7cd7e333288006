// SPDX-License-Identifier: Apache-2.0
// duckdb.mjs - runs SQL in DuckDB and prints the rows: NODE_PATH-less, the folder with node_modules is the first argument
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
const require = createRequire(process.argv[2] + '/');
const { DuckDBInstance } = require('@duckdb/node-api');
const c = await (await DuckDBInstance.create(':memory:', { threads: process.argv[3] })).connect();
for (const sql of readFileSync(0, 'utf8').split(';').filter((s) => s.trim())) {
	const rows = (await c.runAndReadAll(sql)).getRows();
	for (const row of rows) console.log(row.join('|'));
}
