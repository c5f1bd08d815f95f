#!/usr/bin/env python3
"""corpus_texts.py - lines of JSON made from the texts of the packages that are installed

usage: corpus_texts.py MEGABYTES FILE

Each line is a document: id, text, metadata.url. The texts are pieces of 2 to 16 KB of what is in /usr/share/doc,
/usr/share/man and Python's sources, which end at an end of a line. 30 % of the documents are copies of documents before
them; of these a half has another url, and a third has one more line at its end.
"""
import gzip
import json
import pathlib
import random
import sys

FOLDERS = '/usr/share/doc', '/usr/share/man', '/usr/share/perl', '/usr/lib/python3'
BINARY = {'.pyc', '.so', '.png', '.jpg', '.gif', '.pdf', '.svgz', '.ico', '.woff', '.whl'}


def texts():
	"""Pieces of files, in an order that is the same each time."""
	files = sorted(f for folder in FOLDERS for f in pathlib.Path(folder).rglob('*') if f.is_file() and f.suffix not in BINARY)
	random.Random(1).shuffle(files)
	for file in files:
		try:
			text = (gzip.decompress(file.read_bytes()) if file.suffix == '.gz' else file.read_bytes()).decode()
		except (OSError, UnicodeDecodeError, EOFError):
			continue
		while text:
			end = text.find('\n', 2000 + hash(len(text)) % 14000) + 1
			piece, text = (text[:end], text[end:]) if end else (text, '')
			if '\0' not in piece:
				yield str(file), piece


def main(bytes_wanted, out):
	r, kept, written, copies = random.Random(2), [], 0, 0
	for number, (name, text) in enumerate(texts()):
		document = {'id': f'd{number}', 'text': text, 'metadata': {'url': f'file://{name}#{number}', 'length': len(text)}}
		if kept and r.random() < 0.3:
			document, copies = dict(r.choice(kept), id=f'd{number}'), copies + 1
			if r.random() < 0.5:
				document['metadata'] = {'url': f'file://copy/{number}', 'length': len(document['text'])}
			if r.random() < 0.33:
				document['text'] += f'the copy with number {number}\n'
		elif len(kept) < 20000:
			kept.append(document)
		written += out.write(json.dumps(document, ensure_ascii=False) + '\n')
		if written >= bytes_wanted:
			break
	print(f'{number + 1} documents, {copies} of these copies, {written} characters', file=sys.stderr)


with open(sys.argv[2], 'w', encoding='utf-8') as file:
	main(int(float(sys.argv[1]) * 1e6), file)
