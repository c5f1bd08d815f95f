#!/usr/bin/env python3
"""corpus_exact.py - judges the spans of `bloomery corpus dedup --attributes` by exact sets

usage: corpus_exact.py document|paragraph|ngram PROCESSES FOLDER FILE...

The attribute files of FILE are in FOLDER. N-grams are of 13 tokens with stride 4, the threshold is 0.8; they need python3-icu.
With one process the order of the decisions is that of the files: each unit that an exact set has seen must have a span, and a unit
that has one and was not seen was removed by mistake. With several processes the order is unknown: of equal units exactly one must
have no span, or none, and then one of them was removed by mistake. Prints how many units have keys, were
removed, were removed by mistake, and how many copies were kept; ends with 1 if there are any of the last.
"""
import functools
import json
import os
import sys
from math import ceil

N, STRIDE, THRESHOLD = 13, 4, 0.8


@functools.cache
def word_breaks():
	"""ICU's rules without what they change of UAX #29: the at sign is a letter, the colon is between no letters, and dictionaries
	find words where there are no spaces."""
	import icu
	rules = str(icu.BreakIterator.createWordInstance(icu.Locale.getRoot()).getRules())
	for own, plain in (('=ALetter}@]', '=ALetter}]'), ('-[\\:\\uFE55\\uFF1A]', ''), ('$dictionary=', '$none='), ('$KanaKanji$KanaKanji{400};', ''),
			('$ALetterPlus=[$ALetter-$dictionaryCJK[$ComplexContext-$Extend-$Control]]', '$ALetterPlus=$ALetter')):
		assert rules.count(own) == 1, f'{own} is not in the rules of ICU {icu.ICU_VERSION}'
		rules = rules.replace(own, plain)
	return icu.RuleBasedBreakIterator(rules)


def tokens(text):
	"""The segments between the word boundaries of UAX #29 that are not white space."""
	words, begin, raw = word_breaks(), 0, text.encode('utf-16-le')
	words.setText(text)
	for end in words:	# in units of UTF-16
		token = raw[2 * begin:2 * end].decode('utf-16-le')
		if not token.isspace():
			yield token
		begin = end


def ngrams(text):
	t = list(tokens(text))
	return [hash(tuple(t[i:i + N])) for i in range(0, max(len(t) - N, 0) + 1, STRIDE)] if t else []


def units(by, text):
	"""Spans and keys."""
	if by == 'document':
		return [((0, len(text.encode())), [text] if text.strip() else [])]
	ret, at = [], 0
	for piece in text.split('\n'):
		end = min(at + len(piece) + 1, len(text))
		if end > at:
			ret.append(((at, end), ngrams(piece) if by == 'ngram' else [piece] if piece.strip() else []))
		at = end
	return ret


def judged(by, folder, names):
	"""The keys of each unit, and whether the program removed it."""
	for name in names:
		attributes = open(os.path.join(folder, os.path.basename(name)), encoding='utf-8')
		for line, own in zip(open(name, encoding='utf-8', newline='\n'), attributes, strict=True):
			document, values = json.loads(line), json.loads(own)
			assert document['id'] == values['id']
			spans = {(s[0], s[1]) for value in values['attributes'].values() for s in value}
			for span, keys in units(by, document['text']):
				yield keys, span in spans
				spans.discard(span)
			assert not spans, f'{name}: {document["id"]} has spans of no unit'


def in_order(by, folder, names):
	seen, count, removed, kept, mistakes = set(), 0, 0, 0, 0
	for keys, gone in judged(by, folder, names):
		hits = sum(key in seen for key in keys)
		was_seen = hits > 0 and hits >= ceil(THRESHOLD * len(keys) - 1e-9)
		count += bool(keys)
		removed += gone
		kept += was_seen and not gone
		mistakes += gone and not was_seen
		if not gone or by != 'ngram':	# also the copies of what was removed by mistake are copies
			seen.update(keys)
	return count, removed, kept, mistakes


def in_any_order(by, folder, names):
	copies, all_kept, count, removed, mistakes = {}, set(), 0, 0, 0
	for keys, gone in judged(by, folder, names):
		if not keys:
			continue
		unit = hash(tuple(keys))
		count += 1
		removed += gone
		copies[unit] = copies.get(unit, 0) + (not gone)
		if not gone and by == 'ngram':
			all_kept.update(keys)
	for keys, gone in judged(by, folder, names) if by == 'ngram' else ():
		mistakes += gone and sum(key in all_kept for key in keys) < ceil(THRESHOLD * len(keys) - 1e-9)
	if by != 'ngram':
		mistakes = sum(kept == 0 for kept in copies.values())
	return count, removed, sum(kept - 1 for kept in copies.values() if kept > 1), mistakes


def main(by, processes, folder, *names):
	count, removed, kept, mistakes = (in_order if processes == '1' else in_any_order)(by, folder, names)
	print(count, removed, mistakes, kept)
	return kept > 0


sys.exit(main(*sys.argv[1:]))
