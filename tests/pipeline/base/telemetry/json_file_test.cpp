#include "pipeline/base/telemetry/json_file.h"

#include <doctest/doctest.h>

#include <string>

#include "pipeline/base/telemetry/json_text.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::json_file_test {
namespace {

std::string nested(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

}  // namespace

TEST_CASE("JSON of others is read to a depth of 100, whatever brackets its texts hold") {
  CHECK(parse_json(nested(100)).is_array());
  CHECK(parse_json(nested(101)).is_discarded());
  CHECK(parse_json(nested(100'000)).is_discarded());
  CHECK(parse_json(std::string(100'000, '[')).is_discarded());
  CHECK(parse_json("[" + nested(98) + "," + nested(99) + "]").is_array());
  CHECK(parse_json("[\"" + std::string(200, '[') + "\\\"" + std::string(200, '{') + "\"]").is_array());
  CHECK(parse_json("{\"a\": 1").is_discarded());
  CHECK(parse_json<nlohmann::json>(R"({"a": 1})").at("a") == 1);
}

TEST_CASE("a file of JSON that is nested too deep is as one that is none") {
  const TempFolder folder;
  CHECK(json_of_file(folder.write("a.json", "{\"tokenizer\": " + nested(100'000) + "}")).is_null());
  CHECK(json_of_file(folder.write("b.json", "{\"tokenizer\": " + nested(9) + "}")).is_object());
}

}  // namespace flowtrain::json_file_test
