#include "pipeline/base/snapshot/safetensors.h"

#include <doctest/doctest.h>

#include <cstring>

#include "pipeline/base/snapshot/hash.h"
#include "sampling/core/error.h"
#include "tests/support/snapshot_fixture.h"

namespace flowtrain::safetensors_test {

using namespace flowtrain::test;

namespace {

WrittenSafetensors write(const fs::path& path, const std::vector<TensorView>& tensors,
                         const SafetensorsMetadata& metadata = {}) {
  File file = File::create(path);
  auto written = write_safetensors(file, tensors, metadata);
  file.close();
  return written;
}

/// A file of this header and so many bytes of data.
std::string file_of(const std::string& header, std::size_t data_bytes = 0) {
  const std::uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  return file + header + std::string(data_bytes, 'x');
}

SafetensorsContent parse(const std::string& file) { return parse_safetensors(std::as_bytes(std::span(file)), "f"); }
std::string refusal(const std::string& file) {
  return message_of([&] { parse(file); });
}

const std::string good = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";

}  // namespace

TEST_CASE("safetensors: every dtype and odd size comes back as it went") {
  TempFolder folder;
  std::vector<Tensor> tensors;
  for (const char* dtype : {"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL"}) {
    const std::string name = dtype;
    tensors.emplace_back(name + ".scalar", dtype, std::vector<std::int64_t>{}, 1);
    tensors.emplace_back(name + ".none", dtype, std::vector<std::int64_t>{3, 0, 2}, 2);
    tensors.emplace_back(name + ".odd", dtype, std::vector<std::int64_t>{3, 1, 7}, 3);
  }
  tensors.emplace_back("naïve \"name\"\n", "U8", std::vector<std::int64_t>{1});
  std::vector<TensorView> views;
  for (const auto& tensor : tensors) views.push_back(tensor.view);
  const auto written = write(folder / "f", views, {{"format", "pt"}, {"k", ""}});

  const auto text = get(folder / "f");
  CHECK(written.bytes == text.size());
  CHECK(written.xxh64 == xxh64_hex(text));
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, text.data(), sizeof header_bytes);
  CHECK((sizeof header_bytes + header_bytes) % 64 == 0);

  const SafetensorsFile file(folder / "f");
  CHECK(file.metadata() == SafetensorsMetadata{{"format", "pt"}, {"k", ""}});
  REQUIRE(file.tensors().size() == views.size());
  for (std::size_t i = 0; i < views.size(); ++i) {
    CHECK(same_bytes(file.tensors()[i], views[i]));
    CHECK(written.tensor_xxh64[i].first == views[i].name);
    CHECK(written.tensor_xxh64[i].second == xxh64_hex(std::span(views[i].data, views[i].bytes)));
  }
}

TEST_CASE("safetensors: a file without tensors") {
  TempFolder folder;
  CHECK(write(folder / "f", {}).bytes == 64);
  CHECK(SafetensorsFile(folder / "f").tensors().empty());
}

TEST_CASE("safetensors: blanks after the header and tensors in another order than their data are legal") {
  const std::string b = R"("b":{"data_offsets":[2,4],"dtype":"I16","shape":[1]})";
  const std::string a = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  const auto file = file_of("{" + b + "," + a + "}   ", 4);
  const auto content = parse(file);
  REQUIRE(content.tensors.size() == 2);
  CHECK(content.tensors[0].name == "a");
  CHECK(content.tensors[1].name == "b");
}

TEST_CASE("safetensors: views that make no valid file are our own bug") {
  TempFolder folder;
  Tensor a("a", "F32", {2});
  auto wrong = a.view;
  wrong.bytes = 7;
  CHECK_THROWS_AS(write(folder / "1", {wrong}), InternalError);
  wrong = a.view;
  wrong.dtype = "F8";
  CHECK_THROWS_AS(write(folder / "2", {wrong}), InternalError);
  CHECK_THROWS_AS(write(folder / "3", {a.view, a.view}), InternalError);
  wrong = a.view;
  wrong.name = "__metadata__";
  CHECK_THROWS_AS(write(folder / "4", {wrong}), InternalError);
  wrong.name = "\xff";
  CHECK_THROWS_AS(write(folder / "5", {wrong}), InternalError);
}

TEST_CASE("safetensors: cut short anywhere, or made longer, it is refused") {
  TempFolder folder;
  Tensor a("a", "F32", {3, 2}), b("b", "U8", {5});
  write(folder / "f", {a.view, b.view});
  const auto whole = get(folder / "f");
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK(contains(refusal(whole.substr(0, length)), "f: "));
  CHECK(contains(refusal(whole + "x"), "f: 1 bytes after the last tensor"));
  CHECK(parse(whole).tensors.size() == 2);
}

TEST_CASE("safetensors: every single byte changed is refused or changes nothing but what it holds") {
  TempFolder folder;
  Tensor a("a", "F32", {3, 2}), b("b", "U8", {5});
  write(folder / "f", {a.view, b.view});
  const auto whole = get(folder / "f");
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      auto changed = whole;
      changed[at] ^= static_cast<char>(1 << bit);
      try {
        for (const auto& tensor : parse(changed).tensors) CHECK(tensor.bytes <= 24);
      } catch (const UserError&) {
      }
    }
}

TEST_CASE("safetensors: hostile lengths") {
  CHECK(refusal("") == "f: 0 bytes are no safetensors file");
  CHECK(contains(refusal(std::string("\0\0\0\0\0\0\0\x80", 8) + good), "a header of 9223372036854775808 bytes in 53"));
  CHECK(contains(refusal(std::string(8, '\xff')), "a header of 18446744073709551615 bytes in 0"));
  CHECK(contains(refusal(std::string("\x01\xe1\xf5\x05\0\0\0\0", 8) + std::string(100'000'001, ' ')),
                 "a header of 100000001 bytes"));
  CHECK(contains(refusal(file_of("")), "does not begin with '{'"));
}

TEST_CASE("safetensors: hostile headers") {
  const auto tensor = [](const std::string& fields) { return "{\"a\":{" + fields + "}}"; };
  const auto entry = [&](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return tensor("\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets);
  };
  struct Case {
    std::string header;
    std::size_t data_bytes;
    const char* message;
  };
  const Case cases[] = {
      {"[]", 0, "does not begin with '{'"},
      {" {}", 0, "does not begin with '{'"},
      {"{", 0, "not valid JSON"},
      {"{}{}", 0, "not valid JSON"},
      {"{}\xff", 0, "not valid JSON"},
      {"{\"\xff\":{}}", 0, "not valid JSON"},
      {"{\"a\":1}", 0, "tensor 'a': a number is not allowed"},
      {"{\"a\":[]}", 0, "tensor 'a': a list is not allowed"},
      {"{\"a\":null}", 0, "a null is not allowed"},
      {"{\"a\":true}", 0, "a boolean is not allowed"},
      {"{\"a\":{}}", 0, "tensor 'a' has no 'dtype'"},
      {tensor(R"("dtype":"U8")"), 0, "tensor 'a' has no 'shape'"},
      {tensor(R"("dtype":"U8","shape":[0])"), 0, "tensor 'a' has no 'data_offsets'"},
      {tensor(R"("dtype":"U8","dtype":"U8")"), 0, "'dtype' occurs twice"},
      {tensor(R"("stride":[1])"), 0, "unknown field 'stride'"},
      {tensor(R"("dtype":{})"), 0, "an object is not allowed"},
      {tensor(R"("dtype":8)"), 0, "a number is not allowed"},
      {entry("U8", "4", "[0,4]"), 4, "a number is not allowed"},
      {entry("U8", "[[4]]", "[0,4]"), 4, "a list is not allowed"},
      {entry("U8", "[-4]", "[0,4]"), 4, "a negative number"},
      {entry("U8", "[4.0]", "[0,4]"), 4, "a fraction or a huge number"},
      {entry("U8", "[99999999999999999999]", "[0,4]"), 4, "a fraction or a huge number"},
      {entry("U8", "[9223372036854775808]", "[0,4]"), 4, "the shape overflows"},
      {entry("U8", "[4294967296,4294967296]", "[0,0]"), 0, "the shape overflows"},
      {entry("F64", "[2305843009213693952]", "[0,0]"), 0, "the shape overflows"},
      {entry("U8", "[\"4\"]", "[0,4]"), 4, "a text is not allowed"},
      {entry("U8", "[4]", "[0]"), 4, "data_offsets must be two numbers"},
      {entry("U8", "[4]", "[0,4,4]"), 4, "data_offsets must be two numbers"},
      {entry("U8", "[4]", "[4,0]"), 4, "data_offsets [4, 0] are not within the 4 bytes"},
      {entry("U8", "[4]", "[0,5]"), 4, "data_offsets [0, 5] are not within the 4 bytes"},
      {entry("U8", "[4]", "[18446744073709551615,3]"), 4, "are not within"},
      {entry("U8", "[3]", "[0,4]"), 4, "U8 (3,) takes 3 bytes, not 4"},
      {entry("F32", "[]", "[0,3]"), 3, "F32 () takes 4 bytes, not 3"},
      {entry("F8", "[4]", "[0,4]"), 4, "unknown dtype 'F8'"},
      {entry("U8", "[3]", "[1,4]"), 4, "tensor 'a' comes after a gap"},
      {good, 5, "1 bytes after the last tensor"},
      {good.substr(0, good.size() - 1) + "," + good.substr(1), 4, "tensor 'a' occurs twice"},
      {good.substr(0, good.size() - 1) + R"(,"b":{"dtype":"U8","shape":[3],"data_offsets":[3,6]}})", 6,
       "tensor 'b' overlaps the one before"},
      {R"({"__metadata__":{"a":1}})", 0, "the header: a number is not allowed"},
      {R"({"__metadata__":{"a":"","a":""}})", 0, "metadata 'a' occurs twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", 0, "occurs twice"},
      {R"({"__metadata__":"text"})", 0, "a text is not allowed"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.header);
    CHECK(contains(refusal(file_of(each.header, each.data_bytes)), each.message));
  }
}

TEST_CASE("safetensors: deep and wide headers end at once") {
  const std::size_t depth = 1'000'000;
  std::string objects;
  for (std::size_t i = 0; i < depth; ++i) objects += "{\"a\":";
  CHECK(contains(refusal(file_of(objects)), "unknown field 'a'"));
  CHECK(contains(refusal(file_of("{\"__metadata__\":" + objects)), "an object is not allowed"));
  CHECK(contains(refusal(file_of("{\"a\":" + std::string(depth, '['))), "a list is not allowed"));
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  CHECK(contains(refusal(file_of(R"({"a":{"shape":[)" + ones + "]}}")), "more than 64 dimensions"));
}

TEST_CASE("safetensors: names out of a file are cut and cleaned for messages") {
  const auto message = refusal(file_of("{\"\\u001b[2J" + std::string(1000, 'n') + "\":{}}"));
  CHECK(contains(message, "tensor '?[2Jnnn"));
  CHECK(message.size() < 150);
}

TEST_CASE("safetensors: files that are not files") {
  TempFolder folder;
  CHECK(message_of([&] { SafetensorsFile file(folder / "none"); }) ==
        (folder / "none").string() + ": open: No such file or directory");
  CHECK(contains(message_of([&] { SafetensorsFile file(folder.path()); }), ": not a regular file"));
  put(folder / "empty", "");
  CHECK(contains(message_of([&] { SafetensorsFile file(folder / "empty"); }), ": 0 bytes are no safetensors file"));
}

}  // namespace flowtrain::safetensors_test
