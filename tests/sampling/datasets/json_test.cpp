// The reader of JSON lists: every type, every refusal.

#include <doctest/doctest.h>

#include <limits>
#include <sstream>

#include "sampling/core/error.h"
#include "sampling/datasets/json_rows.h"
#include "sampling/datasets/json_stream.h"
#include "tests/support/failure_helper.h"

namespace flowtrain::json_test {
namespace {

using Take = std::function<void(const JsonRow&)>;

/// Reads the list "rows", whose objects have the keys id, box, name and flag.
std::vector<bool> rows_of(
    const std::string& json, const Take& take = [](const JsonRow&) {}, const std::string& list = "rows") {
  std::istringstream stream(json);
  return read_json_lists(stream, "a.json", {{list, {"id", "box", "name", "flag"}, take}});
}

/// Reads a list of one object with one value. Keys of four letters: the value begins at byte 10.
void read_value(const std::string& key, const std::string& json, const Take& take) {
  rows_of("[{\"" + key + "\": " + json + "}]", take, "");
}

/// Reads a value that nobody asked for.
void skip(const std::string& json) {
  read_value("more", json, [](const JsonRow&) {});
}

std::string text_of(const std::string& json) {
  std::string text;
  read_value("name", json, [&](const JsonRow& row) { text = row.text(2); });
  return text;
}

double real_of(const std::string& json) {
  double value = 0;
  read_value("id", json, [&](const JsonRow& row) { value = row.real(0); });
  return value;
}

std::int64_t integer_of(const std::string& json) {
  std::int64_t value = 0;
  read_value("id", json, [&](const JsonRow& row) { value = row.integer(0); });
  return value;
}

std::string quoted(const std::string& text) { return std::string(1, '"').append(text).append(1, '"'); }

void refused(
    const std::string& json, const std::string& part, const Take& take = [](const JsonRow&) {}) {
  CAPTURE(json);
  check_failure(failure_of([&] { rows_of(json, take); }), ExitCode::data, part);
}

}  // namespace

TEST_CASE("json: texts") {
  CHECK(text_of(R"( "a\"\\\/\b\f\n\r\t" )") == "a\"\\/\b\f\n\r\t");
  CHECK(text_of("\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"") == "A\u00e9\u20ac\U0001F600");
  CHECK(text_of("\"\u00e9\u20ac\U0001F600\"") == "\u00e9\u20ac\U0001F600");
  CHECK(rows_of("\xef\xbb\xbf{\"rows\": []}") == std::vector<bool>{true});
  CHECK(text_of("\"\\u0000\"") == std::string(1, '\0'));
  const auto wrong = [](const std::string& json, const std::string& part) {
    check_failure(failure_of([&] { text_of(json); }), ExitCode::data, part);
    check_failure(failure_of([&] { skip(json); }), ExitCode::data, part);
  };
  wrong("\"a", "a.json: malformed JSON at byte 14: it ends within a text");
  wrong("\"a\nb\"", "at byte 12: a control character");
  wrong(quoted(std::string(1, '\0')), "at byte 11: a control character");
  wrong("\"\\x\"", "an unknown escape");
  wrong("\"\\u12g4\"", "four hexadecimal digits");
  for (const auto* half : {"\\ud800", "\\ud800x", "\\ud800\\n", "\\ud800\\u0041", "\\udc00"})
    wrong(quoted(half), "half a surrogate pair");
  for (const auto* bytes : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                            "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xe2\x82"})
    wrong(quoted(bytes), "the text is not UTF-8");
  const auto long_text = quoted(std::string(JsonStream::max_text_bytes + 1, 'x'));
  check_failure(failure_of([&] { text_of(long_text); }), ExitCode::data, "longer than 65536 bytes");
  CHECK_NOTHROW(skip(long_text));
  const auto longest_text = std::string(JsonStream::max_text_bytes, 'x');
  CHECK(text_of(quoted(longest_text)) == longest_text);
}

TEST_CASE("json: numbers") {
  for (const auto& [text, value] : {std::pair{"0", 0.0},
                                    {"-0", -0.0},
                                    {"12", 12.0},
                                    {"-1.5", -1.5},
                                    {"1e3", 1e3},
                                    {"1.25E-2", 0.0125},
                                    {"0.1", 0.1},
                                    {"473.07", 473.07}})
    CHECK(real_of(text) == value);
  CHECK(integer_of("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  CHECK(integer_of("-7") == -7);
  CHECK(integer_of("1.0") == 1);
  CHECK(integer_of("1e3") == 1000);
  CHECK(integer_of("9007199254740992.0") == 9'007'199'254'740'992);
  for (const auto* text : {"9223372036854775808", "9007199254740994.0", "1.5"})
    CHECK_THROWS_AS(integer_of(text), UserError);
  for (const auto* text : {"-", "1.", ".5", "1e", "1e+", "+1", "NaN", "Infinity", "-Infinity"})
    CHECK_THROWS_AS(real_of(text), UserError);
  for (const auto* text : {"01", "1.2.3", "0x10", "1 2"}) CHECK_THROWS_AS(skip(text), UserError);
  check_failure(failure_of([] { real_of("1e999"); }), ExitCode::data, "a number out of range");
  // RapidJSON 1.1 reads beyond a table here, if it is left to compute the number.
  const std::string tiny = "0.00000000001e-2147483639";
  check_failure(failure_of([&] { real_of(tiny); }), ExitCode::data, "a number out of range");
  CHECK_NOTHROW(skip(tiny));
  const auto digits = std::string(JsonStream::max_number_bytes - 2, '7');
  CHECK(real_of("0." + digits) == 7.0 / 9);
  check_failure(failure_of([&] { real_of("0.7" + digits); }), ExitCode::data, "longer than 1024 bytes");
  CHECK_NOTHROW(skip("0." + std::string(200'000, '7')));
}

TEST_CASE("json: what is skipped must be well-formed too") {
  CHECK_NOTHROW(skip(R"({"a": [1, -2.5e3, true, false, null, "x", {}, []], "b": {"c": {}}})"));
  for (const auto* json : {"", "{", "[", "[1", "[1,", "[1,]", "[,]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",
                           "[1 2]", "[1}", "tru", "nul", "falsy", "]", "[] []", "{\"a\":1 \"b\":2}"}) {
    CAPTURE(json);
    check_failure(failure_of([&] { skip(json); }), ExitCode::data, "a.json: malformed JSON at byte ");
  }
  for (const auto& [json, part] : {std::pair{"tru]", "at byte 13: expected true, false or null"},
                                   {"[-]", "at byte 12: expected a digit"},
                                   {"[1,]", "at byte 13: expected a value"},
                                   {"[1 2]", "at byte 13: expected , or ]"},
                                   {"{\"a\":1 \"b\":2}", "at byte 17: expected , or }"},
                                   {"{\"a\"}", "at byte 14: expected :"},
                                   {"{a:1}", "at byte 11: expected \""}})
    check_failure(failure_of([&, json = json] { skip(json); }), ExitCode::data, part);
  refused("[", "this is not a JSON object");
  refused("{\"a\": ", "at byte 6: it ends here");
  CHECK_NOTHROW(skip(std::string(98, '[') + std::string(98, ']')));
  check_failure(failure_of([] { skip(std::string(1'000'000, '[')); }), ExitCode::data, "nested deeper than 100");
}

TEST_CASE("json: blocks") {
  refused(std::string(200'000, ' ') + "x", "at byte 200000: expected");
  for (int before = 65'500; before < 65'540; ++before) {  // the number begins in one block and ends in the next
    CAPTURE(before);
    const auto value = real_of(std::string(static_cast<std::size_t>(before), ' ') + "-473.0712345678");
    CHECK(value == -473.0712345678);
    CHECK(text_of(std::string(static_cast<std::size_t>(before), ' ') + R"("n\u00e9n")") == "n\u00e9n");
  }
}

TEST_CASE("json: lists of objects") {
  std::vector<std::string> names;
  const auto there = rows_of(
      R"({"other": [{"id": 9}], "rows": [
            {"id": 1, "name": "a", "box": [1, 2.5, 3, 4], "flag": true, "more": {"id": 7, "box": [[0]]}},
            {"id": 2, "name": "b", "box": null, "flag": 1}, {"id": 3, "id": 4}], "last": 1})",
      [&](const JsonRow& row) {
        CHECK(row.has(1) == (row.integer(0) == 1));
        if (row.has(1)) CHECK(row.box(1) == std::array{1.0, 2.5, 3.0, 4.0});
        CHECK(row.has(2) == (row.integer(0) != 4));
        if (!row.has(2)) return;
        names.push_back(row.text(2));
        CHECK(row.flag(3));
      });
  CHECK(there == std::vector<bool>{true});
  CHECK(names == std::vector<std::string>{"a", "b"});
  CHECK(rows_of("{}") == std::vector<bool>{false});
  int count = 0;
  rows_of(
      "[{\"id\":5},{}]", [&](const JsonRow&) { ++count; }, "");
  CHECK(count == 2);
}

TEST_CASE("json: lists that are none, objects that lack something") {
  refused("[]", "a.json: this is not a JSON object with lists");
  refused("{\"rows\": 1}", "a.json: 'rows' is not a list");
  refused("{\"rows\": [], \"rows\": []}", "a.json: 'rows' occurs twice");
  refused("{\"rows\": [{}, 1]}", "a.json: rows #1: this is not an object");
  refused("{\"rows\": []} x", "expected the end of the file");
  refused("\xef{}", "at byte 1: expected a value");
  refused(std::string("{\"rows\": []}\0", 13), "at byte 12: expected the end of the file");
  check_failure(failure_of([] {
                  rows_of(
                      "{}", [](const JsonRow&) {}, "");
                }),
                ExitCode::data, "a.json: the whole is not a list");
  const auto integer = [](const JsonRow& row) { row.integer(0); };
  refused("{\"rows\": [{}]}", "a.json: rows #0: 'id' is missing", integer);
  for (const auto* value : {"1.5", "true", "[1]", "{}", "9223372036854775808"})
    refused(std::string("{\"rows\": [{\"id\": ").append(value).append("}]}"), "rows #0: 'id' is not a whole number",
            integer);
  refused("{\"rows\": [{\"id\": \"1\"}]}", "rows 1: 'id' is not a whole number", integer);
  const auto box = [](const JsonRow& row) { row.box(1); };
  for (const auto* value : {"1", "[]", "[1,2,3]", "[1,2,3,4,5]", "[1,2,3,\"4\"]", "[1,2,3,[4]]", "[1,2,3,null]", "{}"})
    refused(std::string("{\"rows\": [{\"id\": 8, \"box\": ").append(value).append("}]}"),
            "rows 8: 'box' is not a list of four numbers", box);
  refused("{\"rows\": [{\"box\": [1,2,3,1e12]}]}", "rows #0: 'box' has a number that is too large", box);
  refused("{\"rows\": [{\"name\": 3}]}", "'name' is not a text", [](const JsonRow& row) { row.text(2); });
  refused("{\"rows\": [{\"flag\": 2}]}", "'flag' is not 0 or 1", [](const JsonRow& row) { row.flag(3); });
  refused("{\"rows\": [{\"id\": -1e12}]}", "'id' is too large", [](const JsonRow& row) { row.real(0); });
}

}  // namespace flowtrain::json_test
