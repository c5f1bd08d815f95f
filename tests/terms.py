#!/usr/bin/env python3
"""terms.py - messages of the library name what a C caller can do; the program puts its own commands and options there

usage: terms.py SOURCE-FOLDER
"""
import pathlib
import re
import sys

top = pathlib.Path(sys.argv[1])
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|\'(?:\\.|[^\'\\\n])+\'|"(?:\\.|[^"\\\n])*"', re.S)
OF_PROGRAM = re.compile(r'(?<![\w-])(--[a-z][a-z-]*|-[a-zA-Z](?![\w-]))|\b(bloomery [a-z]+)')
OF_LIBRARY = re.compile(r'\bblm_[a-z0-9_]+(?:\(\)|\.[a-z0-9_]+)|\bBLM_[A-Z0-9_]+\b')


def literals(text):
    """Each string with its line; strings with only white space between are one."""
    at, line, all, behind = 0, 1, [], None
    for token in TOKEN.finditer(text):
        line += text.count('\n', at, token.start())
        at = token.start()
        if token[0][0] == '"':
            joins = behind is not None and not text[behind:token.start()].strip()
            if joins:
                all[-1] = (all[-1][0], all[-1][1] + token[0][1:-1])
            else:
                all.append((line, token[0][1:-1]))
            behind = token.end()
    return all


strings = [(path.relative_to(top), line, text)
           for path in sorted(top.glob('lib/**/*.[ch]')) for line, text in literals(path.read_text())
           if not re.search(r'#\s*include[^\n]*$', text)]
header = (top / 'lib/bloomery.h').read_text()
rows = dict(re.findall(r'\{ "((?:blm|BLM)_[^"]*)", "([^"]*)" \}', (top / 'tools/terms.c').read_text()))


def no_library_string_names_an_option_or_command():
    for path, line, text in strings:
        found = OF_PROGRAM.search(text.replace('`ulimit -l`', ''))	# of the shell
        if found:
            yield (f'{path}:{line}: "{found[0]}" is of the program: name the function or field of bloomery.h, '
                   'and give it a row in tools/terms.c')


def every_name_in_a_message_has_a_row_in_terms():
    for path, line, text in strings:
        for name in OF_LIBRARY.findall(text):
            if not any(name in row for row in rows):
                yield f'{path}:{line}: {name}: give it a row in tools/terms.c, with what a user of the program types'


def every_row_of_terms_is_used_and_in_the_header():
    for row in rows:
        name, field = re.match(r'(\w+)(?:\(\)|\.(\w+))?', row).groups()
        struct = re.search(rf'struct {name} {{(.*?)\n}};', header, re.S)
        if field and not (struct and re.search(rf'\b{field};', struct[1])) or not re.search(rf'\b{name}\b', header):
            yield f'tools/terms.c: {row}: bloomery.h has no such name'
        if not any(row in text for _, _, text in strings):
            yield f'tools/terms.c: {row}: no message of the library names it; take the row out'


def no_row_is_the_beginning_of_another():
    for row in rows:
        if any(other != row and other.startswith(row) for other in rows):
            yield f'tools/terms.c: {row}: is the beginning of another row'


tests = [no_library_string_names_an_option_or_command, every_name_in_a_message_has_a_row_in_terms,
         every_row_of_terms_is_used_and_in_the_header, no_row_is_the_beginning_of_another]
print(f'1..{len(tests)}')
failed = 0
if len(strings) < 1000 or len(rows) < 20:
    print(f'Bail out! {len(strings)} strings and {len(rows)} rows: terms.py does not see them')
    sys.exit(1)
for number, test in enumerate(tests, 1):
    wrong = list(test())
    failed += bool(wrong)
    print(f'{"not " if wrong else ""}ok {number} - {test.__name__.replace("_", " ")}')
    for text in wrong:
        print('#', text)
sys.exit(failed > 0)
