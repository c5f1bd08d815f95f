// duckdb.js - queries with the extension of DuckDB, and what they must answer: duckdb.js EXTENSION
'use strict';
const { DuckDBInstance } = require('@duckdb/node-api');

const answers = [
	["SELECT bloomery_test('seen', '42'), bloomery_test('seen', '43')", [[true, false]]],
	['SELECT bloomery_test(\'seen\', NULL::VARCHAR), bloomery_test(NULL, \'x\')', [[null, null]]],
	["SELECT count(*) FROM range(100001) t(i) WHERE bloomery_test('seen', i::VARCHAR)", [['50001']]],
	["SELECT count(*) FROM range(50) t(i) WHERE bloomery_test('seen', repeat('longer than 12 bytes', i::INT))", [['0']]],
	["SELECT count(*) FROM range(50) t(i) WHERE bloomery_claim('seen', repeat('longer than 12 bytes', i::INT + 1))", [['50']]],
	["SELECT bloomery_claim('seen', 42), bloomery_claim('seen', 42)", [[true, false]]],
	["SELECT count(*) FROM range(100000) t(i) WHERE bloomery_claim('seen', CASE WHEN i % 10 = 0 THEN i + 1000 END)", [['10000']]],
	["SELECT count(*) FILTER (a), count(a), count(*) FROM (SELECT bloomery_test('seen', nullif(i, 7)) a FROM range(5000) t(i))", [['401', '4999', '5000']]],
	["SELECT count(*) FROM (SELECT bloomery_test(if(i % 2 = 0, 'seen', NULL), '42') a FROM range(5000) t(i)) WHERE a", [['2500']]],
];

async function main() {
	const instance = await DuckDBInstance.create(':memory:', { allow_unsigned_extensions: 'true', threads: '2' });
	const connection = await instance.connect();
	await connection.run(`LOAD '${process.argv[2]}'`);
	for (const [sql, answer] of answers) {
		const rows = (await connection.runAndReadAll(sql)).getRowsJson();
		if (JSON.stringify(rows) !== JSON.stringify(answer))
			throw new Error(`${sql}: ${JSON.stringify(rows)}, not ${JSON.stringify(answer)}`);
	}
	const error = await connection.runAndReadAll("SELECT bloomery_test('none', 'x')").catch(e => e);
	if (!/none: no filter/.test(error.message))
		throw new Error(`a filter that is missing: ${error.message}`);
}

main().catch(error => { console.error(error); process.exit(1); });
