#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""schema_doc.py - docs/schema.md follows from src/store/schema.sql and the event kinds; fails when it does not

  tests/lint/schema_doc.py           compare
  tests/lint/schema_doc.py --write   write docs/schema.md anew
"""
import difflib
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOC = ROOT / 'docs' / 'schema.md'
TYPES = {'COLUMN_INT': 'INTEGER', 'COLUMN_TEXT': 'TEXT', 'COLUMN_PAGES': 'TEXT (JSON)'}


def cell(text):
    return text.strip().replace('|', '\\|')


def table_rows(body):
    """(name, type and constraints, meaning) of each column; a comment belongs to the last column of its line."""
    rows, constraints = [], []
    for line in body.splitlines():
        code, _, comment = line.partition('--')
        code = code.strip().rstrip(',')
        if not code:
            continue
        if code.startswith('PRIMARY KEY('):
            constraints.append(code)
            continue
        parts = [p.strip() for p in re.split(r',(?![^(]*\))', code) if p.strip()]
        for i, part in enumerate(parts):
            name, _, rest = part.partition(' ')
            rows.append((name, ' '.join(rest.split()), comment if i == len(parts) - 1 else ''))
    return rows, constraints


def stored_tables(sql):
    out = []
    section = ''
    pattern = re.compile(r'^-- ---- (?P<section>[^\n]*)$|^CREATE TABLE (?P<name>\w+)\((?P<body>.*?)^\) STRICT', re.M | re.S)
    for m in pattern.finditer(sql):
        if m['section'] is not None:
            section = m['section']
            out.append(f'\n## {section[0].upper()}{section[1:]}\n')
            continue
        head, _, rest = m['body'].partition('\n')
        about = head.partition('--')[2].strip()
        rows, constraints = table_rows(rest)
        out.append(f'\n### `{m["name"]}`\n')
        if about:
            out.append(f'\n{about[0].upper()}{about[1:]}.\n')
        out.append('\n| column | type | meaning |\n|---|---|---|\n')
        out += [f'| `{name}` | {cell(kind)} | {cell(what)} |\n' for name, kind, what in rows]
        out += [f'\n{c}\n' for c in constraints]
    return out


def virtual_tables(header, kinds_source):
    helps = dict(re.findall(r'\[EVENT_\w+\] = \{"(\w+)", "([^"]*)"', kinds_source))
    out = ['\n## Virtual tables\n\nRead-only, there on every connection of the program. `source = …`, `byte_off = …` and ranges of '
           '`ts_ns` are\nhanded down: chunks outside are not read, columns that are not asked for are not decompressed.\n',
           '\n### `records`\n\nThe lines of the evidence, without their LF or CR LF.\n',
           '\n| column | type | meaning |\n|---|---|---|\n| `source` | INTEGER | |\n',
           '| `byte_off` | INTEGER | where the record begins in the content of its source |\n',
           '| `byte_len` | INTEGER | its length without LF or CR LF |\n| `ref` | TEXT | `S<source>@<byte_off>+<byte_len>` |\n',
           '| `text` | TEXT | its bytes (the first 16 MiB of a longer one); may hold any byte |\n']
    common = [('source', 'INTEGER', ''), ('byte_off', 'INTEGER', 'record that says this'), ('byte_len', 'INTEGER', ''),
              ('ref', 'TEXT', '`S<source>@<byte_off>+<byte_len>`'),
              ('ts_ns', 'INTEGER', 'as the record says it, before zone and clock correction'),
              ('ts_quality', 'INTEGER', '0 none, 1 zoned, 2 naive, 3 no year, 4 interpolated, 5 monotonic'),
              ('worker', 'TEXT', 'that the record names, else the one of the source')]
    hidden = [('at_ns', '`ts_ns`, corrected as the table `clock` says; NULL: no time, or one that only orders'),
              ('skew_ns', 'what the clock was ahead there; other times of the record are ahead as much')]
    for kind, body in re.findall(r'#define EVENT_(\w+)_COLUMNS\(X\)(.*?)\n\n', header, re.S):
        name = kind.lower()
        columns = re.findall(r'X\(\w+, "(\w+)", (\w+), "(\w*)",\s*\\?\s*"([^"]*)"\)', body)
        if len(columns) != body.count('X('):
            raise SystemExit(f'event.h: cannot read the columns of {name}')
        about = helps.get(name, '')
        out.append(f'\n### `{name}_events`\n\n{about[:1].upper()}{about[1:]}.\n')
        out.append('\n| column | type | unit | meaning |\n|---|---|---|---|\n')
        out += [f'| `{n}` | {t} | {"ns" if n == "ts_ns" else ""} | {w} |\n' for n, t, w in common]
        for column, kind_of, unit, what in columns:
            if kind_of == 'COLUMN_PAGES':
                what += ', as `[[first,count],…]`'
            out.append(f'| `{column}` | {TYPES[kind_of]} | {unit} | {cell(what)} |\n')
        out += [f'| `{n}` | INTEGER, hidden | ns | {w} |\n' for n, w in hidden]
    return out


def request_tables(header):
    """Tables whose rows lie in row_chunk."""
    out = ['\n## Requests\n\nRead-only, kept in `row_chunk`. A row\'s number, `request`, `request.name` and `alias.value` are looked up\n'
           'without reading the rest; rows come in the order of `request`. What a log did not say is NULL.\n']
    for table, body in re.findall(r'#define ROWS_(\w+)_COLUMNS\(X\)(.*?)\n\n', header, re.S):
        columns = re.findall(r'X\(\w+, "(\w+)", ROW_(\w+), "(\w*)",\s*\\?\s*"([^"]*)"\)', body)
        if len(columns) != body.count('X('):
            raise SystemExit(f'row_tables.h: cannot read the columns of {table.lower()}')
        out.append(f'\n### `{table.lower()}`\n\n| column | type | unit | meaning |\n|---|---|---|---|\n')
        kinds = {'INT': 'INTEGER', 'TEXT': 'TEXT', 'REFS': 'TEXT (JSON)'}
        out += [f'| `{name}` | {kinds[kind]} | {unit} | {cell(what)} |\n' for name, kind, unit, what in columns]
    return out


def main():
    sql = (ROOT / 'src/store/schema.sql').read_text()
    header = (ROOT / 'include/pagetrail/event.h').read_text()
    kinds = (ROOT / 'src/base/event.c').read_text()
    rows = (ROOT / 'include/pagetrail/row_tables.h').read_text()
    intro = ' '.join(line[3:] for line in sql.splitlines()[1:3])
    intro = intro.partition('the only DDL. ')[2]
    want = '# Tables of a case\n\nGenerated from `src/store/schema.sql`, `include/pagetrail/row_tables.h` and `include/pagetrail/event.h` by\n' \
           '`tests/lint/schema_doc.py --write`: do not edit.\n\n' + textwrap.fill(intro, 110) + '\n'
    want += ''.join(stored_tables(sql)) + ''.join(request_tables(rows)) + ''.join(virtual_tables(header, kinds))
    if '--write' in sys.argv:
        DOC.write_text(want)
        return 0
    have = DOC.read_text() if DOC.exists() else ''
    if have == want:
        return 0
    sys.stdout.writelines(difflib.unified_diff(have.splitlines(True), want.splitlines(True), 'docs/schema.md', 'schema.sql'))
    print("docs/schema.md is not what the schema says: run 'tests/lint/schema_doc.py --write'")
    return 1


if __name__ == '__main__':
    sys.exit(main())
