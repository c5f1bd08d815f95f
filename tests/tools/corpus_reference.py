#!/usr/bin/env python3
"""corpus_reference.py - what `bloomery corpus dedup` must write, by sets

usage: corpus_reference.py make DOCUMENTS FILE...            documents with planted copies, dealt to the files
       corpus_reference.py expect MODE DIR FILE...           the files that one process writes into DIR
       corpus_reference.py one-copy MODE DIR FILE...         fails unless DIR has one copy of what the files have
       corpus_reference.py kill JOURNAL UNITS COMMAND...     kills it when the journal has so many units; says if it did
       corpus_reference.py reboot FILE...                    makes journals look as if they were from before the machine started
       corpus_reference.py cut JOURNAL UNITS                 ... and takes all answers but those of the first units

MODE: document, url, paragraph, ngram-paragraph, ngram-document, ngram-both, and all- before one of ngram-, where the keys of
what is removed are added, too, as partitions do. N-grams are of 5 tokens with stride 2, the
threshold is 0.8.
"""
import json
import pathlib
import random
import re
import struct
import subprocess
import sys
import time

N, STRIDE, THRESHOLD = 5, 2, 0.8


def quoted(text):
	return json.dumps(text, ensure_ascii=False)


def make(count, *names):
	r = random.Random(3)
	words = [''.join(r.choices('abcdefghijklmnopqrstuvwxyzé', k=r.randint(2, 9))) for _ in range(5000)]

	def paragraph():
		return ' '.join(r.choices(words, k=r.randint(1, 40))) + r.choice(['.', ' . ', '', ' "quoted"\t', '\\'])

	documents, lines = [], []
	for number in range(count):
		text = '\n'.join(paragraph() if r.random() < .9 else '' for _ in range(r.randint(1, 6)))
		url, kind = f'u{number}', r.random()
		if documents and kind < .3:
			other = r.choice(documents)
			text, url = other['text'], other['url'] if r.random() < .5 else url
			if kind < .1:	# one paragraph more, or some that another document has
				text += '\n' + r.choice([paragraph(), r.choice(documents)['text']])
		documents.append({'text': text, 'url': url})
		string = json.dumps(text, ensure_ascii=r.random() < .5)
		lines.append('{"id" : "d%d", "text":  %s ,"metadata":{"url":"%s", "n":[1, {"text":"no"}]}, "group": 1.50}' % (number, string, url))
	for i, name in enumerate(names):
		pathlib.Path(name).write_text(''.join(line + '\n' for line in lines[i::len(names)]), encoding='utf-8')


def ngrams(text):
	tokens = re.findall(r'[a-zé]+|[^\sa-zé]', text)
	if len(tokens) < N:
		return [tuple(tokens)] if tokens else []
	return [tuple(tokens[i:i + N]) for i in range(0, len(tokens) - N + 1, STRIDE)]


def is_seen(keys, seen):
	hits = sum(key in seen for key in keys)
	return hits > 0 and hits / len(keys) >= THRESHOLD


def pieces(text):
	"""The paragraphs, each with the end of its line."""
	return re.findall(r'[^\n]*\n|[^\n]+$', text)


def dedup_all(mode, text, seen):
	units = [text] if mode == 'ngram-document' else pieces(text)
	keys, removed, hits = [ngrams(unit) for unit in units], [], 0
	for own in keys:
		removed.append(is_seen(own, seen))
		hits += sum(key in seen for key in own)
		seen.update(own)
	if mode == 'ngram-both' and hits and hits / sum(map(len, keys)) >= THRESHOLD:
		return None
	left = ''.join(unit for unit, gone in zip(units, removed) if not gone)
	return left if left == text or left.strip() else None


def dedup_text(mode, text, seen):
	"""What is left of it; None: nothing."""
	if mode.startswith('all-'):	# the keys of all units are added
		return dedup_all(mode[4:], text, seen)
	if mode == 'ngram-document':
		keys = ngrams(text)
		if is_seen(keys, seen):
			return None
		seen.update(keys)
		return text
	if mode == 'ngram-both' and is_seen([key for piece in pieces(text) for key in ngrams(piece)], seen):
		return None
	left, added = '', []
	for piece in pieces(text):
		keys = ngrams(piece) if mode != 'paragraph' else [piece.rstrip('\n')] if piece.strip() else []
		if (is_seen(keys, seen) if mode != 'paragraph' else keys and keys[0] in seen):
			continue
		left += piece
		(added.extend if mode == 'ngram-both' else seen.update)(keys)
	seen.update(added)
	return left if left == text or left.strip() else None


def dedup_line(mode, line, seen):
	document = json.loads(line)
	if mode in ('document', 'url'):
		key = document['text'] if mode == 'document' else document['metadata']['url']
		return None if key.strip() and (key in seen or seen.add(key)) else line
	left = dedup_text(mode, document['text'], seen)
	if left is None or left == document['text']:
		return line if left is not None else None
	at = line.index('"text":') + len('"text":  ')
	_, end = json.JSONDecoder().raw_decode(line, at)
	return line[:at] + quoted(left) + line[end:]


def lines_of(names):
	return [line for name in names for line in open(name, encoding='utf-8', newline='\n').read().splitlines(keepends=True)]


def expect(mode, folder, *names):
	seen = set()
	pathlib.Path(folder).mkdir()
	for name in names:
		lines = [dedup_line(mode, line, seen) for line in lines_of([name])]
		pathlib.Path(folder, pathlib.Path(name).name).write_text(''.join(line for line in lines if line is not None), encoding='utf-8', newline='\n')


def keys_of(mode, line):
	document = json.loads(line)
	if mode == 'url':
		return [document['metadata']['url']]
	if mode == 'paragraph':
		return [piece.rstrip('\n') for piece in pieces(document['text']) if piece.strip()]
	return [document['text']] if document['text'].strip() else []


def one_copy(mode, folder, *names):
	want = {key for line in lines_of(names) for key in keys_of(mode, line)}
	got = [key for line in lines_of(sorted(pathlib.Path(folder).glob('*'))) for key in keys_of(mode, line)]
	twice = len(got) - len(set(got))
	missing = len(want - set(got)) if not mode.startswith('ngram') else 0
	if mode.startswith('ngram'):	# a text is kept, or one that is like it: then it is like what was kept
		seen, kept = {key for text in got for key in ngrams(text)}, set(got)
		missing = sum(text not in kept and not is_seen(ngrams(text), seen) for text in want)
	assert not twice and not missing and set(got) <= want, f'{mode}: {twice} kept twice, {missing} lost'


def units_in(journal):
	try:
		with open(journal, 'rb') as file:
			return struct.unpack('<8xQ', file.read(16))[0] % 2**40 // 2
	except (OSError, struct.error):
		return -1


def kill(journal, units, *command):
	process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
	while process.poll() is None and units_in(journal) < int(units):
		time.sleep(0.0003)	# for the processes that work
	process.kill()
	print('killed' if process.wait() < 0 else 'finished')


def reboot(*names):
	boot = pathlib.Path('/proc/sys/kernel/random/boot_id').read_bytes().strip()
	for name in names:
		file = pathlib.Path(name)
		file.write_bytes(file.read_bytes().replace(boot, bytes([boot[0] ^ 1]) + boot[1:]))


def checksum(mark, place, value):
	"""XXH3 (64 bits) of both numbers, with the first 8 bytes of the mark as its seed."""
	wide, seed = 2**64 - 1, struct.unpack('<Q', mark[:8])[0]
	low = place ^ ((0x1f67b3b7a4a44072 ^ 0x78e5c0cc4ee679cb) + seed & wide)
	high = value ^ ((0x2172ffcc7dd05a82 ^ 0x8e2443f7744608b8) - seed & wide)
	product = low * high
	h = 16 + int.from_bytes(low.to_bytes(8, 'little'), 'big') + high + (product & wide ^ product >> 64) & wide
	h = (h ^ h >> 37) * 0x165667919e3779f9 & wide
	return h ^ h >> 32


def cut(journal, units):
	reboot(journal)
	with open(journal, 'r+b') as file:
		mark = file.read(48)[16:]
		file.seek(88)
		file.write(struct.pack('<Q', checksum(mark, 2**64 - 2, 0) % 2**24 << 40))	# no unit was on the disk for certain
		file.truncate(8192 + 8 * int(units))


if sys.argv[1] == 'make':
	make(int(sys.argv[2]), *sys.argv[3:])
else:
	{'expect': expect, 'one-copy': one_copy, 'kill': kill, 'reboot': reboot, 'cut': cut}[sys.argv[1]](*sys.argv[2:])
