#!/usr/bin/env bash
# Refuses comments, helps and messages that open with a fragment, and helps of commands and options without a verb.
#   tests/prose.sh [FILE|FOLDER...]  checks these (default: the product, the benchmarks and what tests share)
#   tests/prose.sh --self-test       checks the checker, on good and bad snippets
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
exec python3 - "$@" <<'PYTHON'
import ast
import io
import pathlib
import re
import sys
import tokenize

PLACES = ("sampling", "nets", "stages", "pipeline", "python", "benchmarks", "cmake", "tests")

# A text that opens with one of these has no subject of its own: the reader must look for it in the text before, in the
# name, or in the code. Openings such as "If", "When" and "In" begin a good sentence where its main clause follows a
# comma: "If the file is gone, the request fails." Without a comma, they begin a fragment: "In the order of records."
FRAGMENTS = set("""of what where who whom whose which why how whoever whatever wherever its their those hers ours
    likewise also else too nothing none not nor but or and as from for beside besides without than that""".split())
WITH_COMMA = set("""if when while once unless until because since after before at by in on to with within under over
    between during inside outside through beyond""".split())
# Verbs that begin a help of a command or an option. Another verb is added here.
VERBS = set("""add allow analyse apply ask average begin build cache call change check choose classify compare complete
    compute connect continue convert copy count create cut decode delete detect disable download draw drop enable encode
    end evaluate explain export fetch find fix follow force freeze give go group hide hold ignore include initialize
    inspect install keep learn leave limit link list listen load log look make map mark match measure merge name omit
    open order
    overwrite pack pass pick plan plot post-process predict prepare print profile put raise read rebuild record refuse
    rename repeat replace replay report require resample resize restart resume run sample save search seed select send
    serve set show shrink shuffle skip sort split start state stop store summarize sweep take test time trace train
    trust
    try turn unpack use validate verify wait warn watch write""".split())

CPP = (".h", ".hpp", ".c", ".cpp", ".cu", ".cuh")
TOKEN = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*(?:.|\n)*?\*/')
CALL = re.compile(r"\b(?:UserError|SampleError|InternalError|log_\w+|fail|warn|error)\(")
OPTION = re.compile(r"\b(?:add_option|add_flag|add_path|add_argument|add_subcommand|FLOWTRAIN_COMMAND)\(")
DESCRIPTION = re.compile(r"\bCLI::App \w+\(")
HELP = re.compile(r'\.help\s*=\s*(?=")')
KEY = re.compile(r"(?<=[{,])\s*(?:Kind::\w+|std::move\(choices\))")
# Lines of keys (pipeline/base/config/key_lines.h): what the key decides, its name, …, its help. Tables have helps, too.
KEY_LINE = re.compile(r"(?<![\w.>])(?:key|choice|number_or)\((?=[^()\"]*,\s*\")")
KEY_TABLE = re.compile(r"(?<![\w.>])(?:table|list)\(\s*\"[\w.]*\",\s*\w")
LITERALS = re.compile(r'\s*((?:"(?:\\.|[^"\\\n])*"\s*)+)')


def fragment(text, note=False):
    """Returns why this opening is refused, or None. A note at a line's end may be a phrase: "in pixels", "from 0"."""
    text = "" if re.match(r"[`(\[{<$]|--", text) else re.sub(r"^[\W_]+", "", text)
    word = re.match(r"[\w-]*", text).group().lower()
    if text[len(word):].startswith(("::", "(", "=")) or (note and re.match(r"from \d", text)):
        return None
    if word in FRAGMENTS or text.lower().startswith("the same"):
        return f"'{text[:8] if word == 'the' else text[:len(word)]}' begins a fragment"
    if word in WITH_COMMA and not note and "," not in re.split(r"[.:;](?=\s|$)", text)[0]:
        return f"'{text[:len(word)]}' without a main clause after a comma begins a fragment"
    return None


def verbless(text, third_person=False):
    word = re.match(r"[\w-]*", text.strip()).group()
    forms = {re.sub(*ending, word.lower()) for ending in (("s$", ""), ("es$", ""), ("ies$", "y"))}
    known = (forms if third_person else {word}) & VERBS
    return None if known else f"'{word}' is not a verb; a new one is added to VERBS in tests/prose.sh"


def literal(text):
    """Returns the text of C++ or Python literals that stand at the beginning; None where there are none."""
    text = re.sub(r"^\s*(?:\w+::)*(?:concat|f|string|text)\(?(?=\s*\")", "", text)
    found = LITERALS.match(text)
    return "".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', found[1])).replace('\\"', '"') if found else None


def arguments(code, begin):
    """Yields (position, text) of the arguments of a call, from behind its parenthesis; code has no comments."""
    depth, start, at = 0, begin, begin
    while at < len(code):
        char = code[at]
        if char in "\"'" or code.startswith('R"', at):
            token = TOKEN.match(code, at)
            at = token.end() if token else at + 1
            continue
        if char in "([{":
            depth += 1
        elif char in ")]}" or (char == "," and depth == 0):
            if depth == 0:
                yield start, code[start:at]
                if char != ",":
                    return
                start = at + 1
            else:
                depth -= 1
        at += 1


def comments(text):
    """Yields (position, text, is_note) of comments; lines of one comment are joined."""
    last = None
    for token in TOKEN.finditer(text):
        if token[0][:2] not in ("//", "/*"):
            continue
        line = text.rfind("\n", 0, token.start()) + 1
        before = text[line:token.start()]
        words = re.sub(r"^/[/*]+[!<]*|\*/$", "", token[0]).strip()
        follows = last and not before.strip() and not text[last[2]:token.start()].strip() and \
            text.count("\n", last[2], token.start()) == 1 and last[3] == len(before)
        if follows:
            last[1] += " " + words
            last[2] = token.end()
            continue
        if last:
            yield last[0], last[1], last[4]
        note = bool(before.strip()) or token[0].startswith("///<")
        skip = re.match(r"namespace\b|NOLINT|clang-format|fallthrough", words)
        last = None if skip else [token.start(), words, token.end(), len(before), note]
    if last:
        yield last[0], last[1], last[4]


def helps_and_messages(code):
    for call in OPTION.finditer(code):
        found = list(arguments(code, call.end()))
        name = literal(found[0][1]) if found else None
        if "FLOWTRAIN_COMMAND" in call[0]:
            help_at = found[-1] if len(found) > 3 else None
        elif "add_argument" in call[0]:
            help_at = next(((at, text.split("=", 1)[1]) for at, text in found if re.match(r"\s*help=", text)), None)
        elif "add_subcommand" in call[0]:
            help_at = found[1] if len(found) > 1 else None
        else:
            help_at = next((each for each in found[2:] if literal(each[1]) is not None), None)
            if "add_path" in call[0]:
                name = literal(found[1][1]) if len(found) > 1 else None
        text = literal(help_at[1]) if help_at else None
        if text and (not name or name.startswith("-") or "_COMMAND" in call[0] or "add_sub" in call[0]):
            yield call.start(), text, verbless(text, third_person=text[0].isupper())
        elif text:
            yield call.start(), text, fragment(text, note=True)
    for call in DESCRIPTION.finditer(code):
        for _, argument in list(arguments(code, call.end()))[:1]:
            if (text := literal(argument)) is not None:
                yield call.start(), text, verbless(text, third_person=True)
    for found in HELP.finditer(code):
        text = literal(code[found.end():])
        yield found.start(), text, fragment(text, note=True)
    for found in KEY.finditer(code):
        for at, argument in list(arguments(code, found.start()))[2:3]:
            if (text := literal(argument)) is not None:
                yield at, text, fragment(text, note=True)
    for call in KEY_LINE.finditer(code):
        at, help_text = list(arguments(code, call.end()))[-1]
        if (text := literal(help_text)) is not None:
            yield at, text, fragment(text, note=True)
    for call in KEY_TABLE.finditer(code):
        found = list(arguments(code, code.index("(", call.start()) + 1))
        if len(found) > 3 and (text := literal(found[2][1])) is not None:
            yield found[2][0], text, fragment(text, note=True)
    for call in CALL.finditer(code):
        named = call[0] == "error(" and code[call.start() - 1] == "."
        for at, argument in list(arguments(code, call.end()))[1 if named else 0:]:
            if (text := literal(argument)) is not None:
                yield at, text, fragment(text, note=True)


def cpp(text, first_only):
    for at, words, note in comments(text):
        if first_only and text.count("\n", 0, at) > 2:
            return
        yield at, words, fragment(words, note)
    if first_only:
        return
    # Positions stay: comments become blanks.
    code = TOKEN.sub(lambda token: re.sub(r"[^\n]", " ", token[0]) if token[0][0] == "/" else token[0], text)
    yield from helps_and_messages(code)


def hashes(text, first_only):
    """Comments that begin with # and stand on lines of their own."""
    for found in re.finditer(r"^[ \t]*#(?!!)[ \t]*(\S[^\n]*(?:\n[ \t]*#[^\n]*)*)", text, re.M):
        words = re.sub(r"\n[ \t]*#[ \t]*", " ", found[1])
        yield found.start(1), words, fragment(words)
        if first_only:
            return


def python(text, first_only):
    offsets = [0]
    for line in text.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    tree = ast.parse(text)
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds) and ast.get_docstring(node):
            words = " ".join(ast.get_docstring(node).split())
            yield offsets[node.body[0].lineno - 1], words, fragment(words)
        if first_only:
            return
    code, last = list(text), None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        (row, column), words = token.start, token.string.lstrip("#!").strip()
        at = offsets[row - 1] + column
        code[at:at + len(token.string)] = " " * len(token.string)
        alone = not token.line[:column].strip()
        if not (alone and last == (row - 1, column)) and not token.string.startswith("#!"):
            whole = re.match(r"#[^\n]*(?:\n[ \t]*#[^\n]*)*" if alone else r"#[^\n]*", text[at:])[0]
            words = re.sub(r"\n?[ \t]*#[ \t]*", " ", whole).strip()
            yield at, words, fragment(words, note=not alone)
        last = (row, column) if alone else None
    yield from helps_and_messages("".join(code))


def check(name, text, first_only=False):
    """Returns what is refused: (line, text, why)."""
    suffix = pathlib.Path(name).suffix
    if suffix in CPP:
        found = cpp(text, first_only)
    elif suffix in (".py", ".pyi") or (not suffix and text.startswith("#!/usr/bin/env python3")):
        found = python(text, first_only)
    else:
        found = hashes(text, first_only)
    return [(text.count("\n", 0, at + len(text[at:]) - len(text[at:].lstrip())) + 1, words, why)
            for at, words, why in found if why]


def files(places):
    for place in map(pathlib.Path, places):
        for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
            known = file.suffix in (*CPP, ".py", ".pyi", ".sh", ".cmake") or file.name == "CMakeLists.txt" or \
                (not file.suffix and file.stat().st_mode & 0o100)
            if known and file.is_file() and "__pycache__" not in file.parts:
                yield file


GOOD = [
    ("a.h", "/// Returns the rows."), ("a.h", "// If the file is gone, the request fails."),
    ("a.h", "int a;  ///< in pixels"), ("a.h", "int a;  ///< from 0"), ("a.h", "/// at::add() is used."),
    ("a.h", "// One line.\n// of two"), ("a.h", "/// When X ends,\n/// Y begins."),
    ("a.h", "// The order holds for all ranks."), ("a.h", 'auto x = "// of a text";'), ("a.h", "}  // namespace of"),
    ("a.cpp", 'throw UserError(ExitCode::data, concat(path, ": of"), "write it");'),
    ("a.cpp", 'throw settings.error("from", "expected a name");'),
    ("a.cpp", 'app.add_flag("--json", json, "print JSON");'), ("a.cpp", 'app.add_option("RUN", run, "a run");'),
    ("a.cpp", 'CLI::App app("Prints a page.", "x");'), ("a.cpp", '{"size", Kind::integer, one, "pixels of an edge"}'),
    ("a.cpp", 'key(training | tests, "size", 0, {0, 9}, "number of pixels")'),
    ("a.cpp", 'number_or(order, "size", {"of"}, 1, {0, 9}, "number of pixels of " + unit)'),
    ("list.h", 'FLOWTRAIN_COMMAND(train, "train", "[train] CONFIG", "train a net")'),
    ("a.py", 'def a():\n    """Returns 1."""\n    b()  # in bytes'), ("a.sh", "#!/bin/sh\n# Runs all."),
    ("a.py", 'p.add_argument("--seed", help="seed the weights")'),
]
BAD = [
    ("a.h", "/// Of the rows."), ("a.h", "// Whose an operation is."), ("a.h", "/// The same; null: none."),
    ("a.h", "int a;  ///< as annotated"), ("a.h", "int a;\n\n  // Likewise."), ("a.h", "/* What is left. */"),
    ("a.h", "// In the order of records."), ("a.h", "// When it was last written: nanoseconds, from 1970."),
    ("a.h", "f();  // nothing to filter"), ("a.h", "auto x = 1'000;  // of it"),
    ("a.cpp", 'throw UserError(ExitCode::data, "nothing is here");'),
    ("a.cpp", 'throw SampleError(concat("not a ", kind));'), ("a.cpp", 'throw settings.error("a", "as in 1 of 2");'),
    ("a.cpp", 'app.add_flag("--json", json, "JSON");'), ("a.cpp", 'CLI::App app("A page.", "x");'),
    ("a.cpp", 'app.add_option("RUN", run, "where it lies");'), ("a.cpp", 'x.help = "of all";'),
    ("a.cpp", '{"size", Kind::integer, one,\n "of an edge"}'),
    ("a.cpp", 'path(key(training, "file", "", "where it lies"))'), ("a.cpp", 'table("x", nothing, "of it", {}, no)'),
    ("a.cpp", 'choice(net | own, "size", {"a", "b"},\n "what it does")'),
    ("a.cpp", 'number_or(order, "size", {}, 1, {0, 9}, "of pixels: " + unit)'),
    ("list.h", 'FLOWTRAIN_COMMAND(plan, "plan", "plan CONFIG", "what a run will do")'),
    ("a.py", 'def a():\n    """What it does."""'), ("a.py", "a = 1  # of all\n"), ("a.sh", "# Nothing here."),
    ("a.py", 'p.add_argument("--seed", help="of weights")'),
]


def main(words):
    if words == ["--self-test"]:
        wrong = [f"refused: {name}: {text}" for name, text in GOOD if check(name, text)]
        wrong += [f"not refused: {name}: {text}" for name, text in BAD if len(check(name, text)) != 1]
        print("\n".join(wrong) or "prose: every bad snippet was refused, every good one passed")
        return 1 if wrong else 0
    count = 0
    for file in files(words or PLACES):
        # Tests have titles that are sentences, so only the heads of their files are read.
        first_only = file.parts[0] == "tests" and file.parts[1] != "support"
        for line, text, why in check(file.name, file.read_text(), first_only):
            print(f'{file}:{line}: "{text[:70]}{"…" if len(text) > 70 else ""}": {why}')
            count += 1
    print(f"prose: {count} fragments" if count else "prose: comments, helps and messages are sentences")
    return 1 if count else 0


sys.exit(main(sys.argv[1:]))
PYTHON
