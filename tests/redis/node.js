// node.js - what npm's `redis` with `@redis/bloom` sees of a server, in both protocols: node.js SOCKET
'use strict';
const assert = require('node:assert');
const { createClient, RESP_TYPES } = require('redis');

async function bloom(client) {
	const { bf } = client;
	assert.equal(await bf.reserve('f', 0.001, 1000, { EXPANSION: 4 }), 'OK');
	assert.deepEqual([await bf.add('f', 'a'), await bf.add('f', 'a')], [true, false]);
	assert.deepEqual(await bf.mAdd('f', ['a', 'b']), [false, true]);
	assert.deepEqual(await bf.insert('f', ['b', 'c'], { NOCREATE: true }), [false, true]);
	assert.deepEqual(await bf.insert('g', ['x'], { CAPACITY: 50, ERROR: 0.1, EXPANSION: 2 }), [true]);
	assert.deepEqual([await bf.exists('f', 'c'), await bf.exists('f', 'd'), await bf.exists('none', 'a')], [true, false, false]);
	assert.deepEqual(await bf.mExists('f', ['a', 'd']), [true, false]);
	assert.deepEqual([await bf.card('f'), await bf.card('none')], [3, 0]);
	const info = await bf.info('f');
	assert(info.Size > 0);
	assert.deepEqual({ ...info, Size: 0 }, { Capacity: 1000, Size: 0, 'Number of filters': 1, 'Number of items inserted': 3, 'Expansion rate': 4 });
	assert.equal(await bf.reserve('n', 0.01, 1, { NONSCALING: true }), 'OK');
	assert.equal(await bf.add('n', '1'), true);
	await assert.rejects(bf.add('n', '2'), /non scaling filter is full/);
	await assert.rejects(bf.reserve('f', 0.1, 10), /item exists/);
	await assert.rejects(bf.info('none'), /not found/);
	await assert.rejects(bf.insert('none', ['a'], { NOCREATE: true }), /not found/);
}

async function cuckoo(client) {
	const { cf } = client;
	assert.equal(await cf.reserve('c', 100, { BUCKETSIZE: 4, MAXITERATIONS: 30, EXPANSION: 2 }), 'OK');
	assert.deepEqual([await cf.add('c', 'a'), await cf.addNX('c', 'a'), await cf.addNX('c', 'b')], [true, false, true]);
	assert.deepEqual(await cf.insert('c', ['a', 'e']), [true, true]);
	assert.deepEqual(await cf.insertNX('c', ['a', 'd'], { NOCREATE: true }), [false, true]);
	assert.deepEqual([await cf.count('c', 'a'), await cf.count('c', 'none')], [2, 0]);
	assert.deepEqual([await cf.exists('c', 'b'), await cf.exists('c', 'none')], [true, false]);
	assert.deepEqual(await cf.mExists('c', ['b', 'none']), [true, false]);
	assert.deepEqual([await cf.del('c', 'b'), await cf.del('c', 'b')], [true, false]);
	const info = await cf.info('c');
	assert.deepEqual([info['Number of items inserted'], info['Number of items deleted'], info['Bucket size'], info['Expansion rate'],
		info['Max iteration'] ?? info['Max iterations']], [4, 1, 4, 2, 30]);
	await assert.rejects(cf.info('none'), /not found/i);
}

// A key in chunks, from one name to another.
async function chunks(client, commands, from, to) {
	const raw = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })[commands];
	for (let iterator = 0; ;) {
		const piece = await raw.scanDump(from, iterator);
		if (!(iterator = piece.iterator))
			break;
		assert.equal(await raw.loadChunk(to, iterator, piece.chunk), 'OK');
	}
}

async function main() {
	for (const RESP of [2, 3]) {
		const client = createClient({ RESP, socket: { path: process.argv[2], tls: false } });
		await client.connect();
		await client.flushAll();
		await bloom(client);
		await cuckoo(client);
		await chunks(client, 'bf', 'f', 'f2');
		assert.deepEqual(await client.bf.mExists('f2', ['a', 'b', 'c', 'd']), [true, true, true, false]);
		await chunks(client, 'cf', 'c', 'c2');
		assert.deepEqual(await client.cf.mExists('c2', ['a', 'b', 'd']), [true, false, true]);
		client.destroy();
		console.log(`ok RESP${RESP}`);
	}
}

main().catch(error => { console.error(error); process.exit(1); });
