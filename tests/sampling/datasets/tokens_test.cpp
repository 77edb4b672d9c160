#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>

#include "sampling/datasets/entries.h"
#include "sampling/datasets/text/token_shard.h"
#include "sampling/named_dataset.h"
#include "tests/support/failure_helper.h"
#include "tests/support/settings_helper.h"
#include "tests/support/temp_folder.h"
#include "tests/support/token_shards.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

using Ids = std::vector<std::int32_t>;
using Values = std::vector<std::pair<std::string, Value>>;

std::unique_ptr<Dataset> open(const fs::path& path, Values values = {}, bool training = true) {
  const auto entry = tokens_entry();
  values.emplace_back("path", path.string());
  return entry.make(settings_for(entry.keys, values), {training});
}

Values windows(std::int64_t window) { return {{"window", window}}; }

std::vector<Ids> ids_of(const Dataset& set) {
  std::vector<Ids> all;
  ReadBuffer buffer, outline_buffer;
  for (std::uint64_t id = 0; id < set.size(); ++id) {
    const auto record = set.read(id, buffer);
    REQUIRE(record.parts.size() == 1);
    const auto& part = record.parts[0];
    CHECK(part.name == "tokens");
    CHECK(part.dtype == DType::i32);
    Ids ids(part.bytes.size() / 4);
    if (!ids.empty()) std::memcpy(ids.data(), part.bytes.data(), part.bytes.size());
    Record outline;
    REQUIRE(set.outline(id, outline, outline_buffer));
    for (const auto* shape : {&part.shape, &outline.parts[0].shape}) {
      REQUIRE(shape->size() == 1);
      CHECK(shape->front() == static_cast<std::int64_t>(ids.size()));
    }
    all.push_back(std::move(ids));
  }
  return all;
}

/// Three documents in two shards, each of which ends with 9.
void write_shards(const TempFolder& temp, std::uint32_t width) {
  temp.write("t/a-0.tokens", token_shard({{1, 2, 3, 9}, {9}}, 10, 9, width));
  temp.write("t/a-1.tokens", token_shard({{4, 5, 6, 7, 9}}, 10, 9, width));
}

/// Writes one number into a shard of right_shard(), and returns the message of opening it.
template <class T>
std::string message_of(const TempFolder& temp, std::size_t place, T value) {
  auto bytes = token_shard({{1, 2, 9}, {3, 9}}, 10, 9);
  std::memcpy(bytes.data() + place, &value, sizeof value);
  const auto path = temp.write("wrong.tokens", bytes);
  const auto failure = failure_of([&] { open(path); });
  CHECK(failure.code() == ExitCode::data);
  const std::string message = failure.what();
  REQUIRE(message.starts_with(path.string() + ": "));
  return message.substr(path.string().size() + 2);
}

}  // namespace

TEST_CASE("tokens: a record is a document without the id of its end") {
  TempFolder temp;
  for (const std::uint32_t width : {2u, 4u}) {
    write_shards(temp, width);
    const auto set = open(temp.path() / "t");
    CHECK(ids_of(*set) == std::vector<Ids>{{1, 2, 3}, {}, {4, 5, 6, 7}});
    CHECK(set->describe(2) == (temp.path() / "t/a-1.tokens, document 0").string());
    CHECK(name_of(*set, 1) == "a-0.tokens#1");
  }
  const auto path = temp.write("plain.tokens", token_shard({{1, 2}, {3}}, 4, TokenHeader::no_end));
  CHECK(ids_of(*open(path)) == std::vector<Ids>{{1, 2}, {3}});
}

TEST_CASE("tokens: windows overlap by one id, and go on over documents and shards") {
  TempFolder temp;
  write_shards(temp, 2);
  const auto set = open(temp.path() / "t", windows(4));
  CHECK(ids_of(*set) == std::vector<Ids>{{1, 2, 3, 9, 9}, {9, 4, 5, 6, 7}, {7, 9}});
  CHECK(set->describe(1) == (temp.path() / "t/a-0.tokens, token 4").string());
  CHECK(ids_of(*open(temp.path() / "t", windows(100))) == std::vector<Ids>{{1, 2, 3, 9, 9, 4, 5, 6, 7, 9}});
  CHECK(ids_of(*open(temp.path() / "t", windows(9))).size() == 1);
  CHECK(ids_of(*open(temp.path() / "t", windows(8))).size() == 2);
}

TEST_CASE("tokens: a warm read does not move the buffer") {
  TempFolder temp;
  write_shards(temp, 2);
  const auto set = open(temp.path() / "t", windows(4));
  ReadBuffer buffer;
  const auto* const first = set->read(0, buffer).parts[0].bytes.data();
  for (const std::uint64_t id : {2, 1, 0}) CHECK(set->read(id, buffer).parts[0].bytes.data() == first);
}

TEST_CASE("tokens: splits are folders or shards named after them") {
  TempFolder temp;
  temp.write("t/train/train-000000.tokens", token_shard({{1}, {2}}, 3, TokenHeader::no_end));
  temp.write("t/val/val-000000.tokens", token_shard({{0}}, 3, TokenHeader::no_end));
  CHECK(ids_of(*open(temp.path() / "t")) == std::vector<Ids>{{1}, {2}});
  CHECK(ids_of(*open(temp.path() / "t", {}, false)) == std::vector<Ids>{{0}});
  CHECK(ids_of(*open(temp.path() / "t/train")) == std::vector<Ids>{{1}, {2}});
}

TEST_CASE("tokens: a damaged shard is one line with its name") {
  TempFolder temp;
  CHECK(message_of(temp, 0, 'x') == "this is not a shard of token ids");
  CHECK(message_of(temp, 8, std::uint32_t{2}) == "the shard has version 2, but this program reads version 1");
  CHECK(message_of(temp, 12, std::uint32_t{3}) == "the header is damaged: ids of 3 bytes, 10 of a vocabulary");
  CHECK(message_of(temp, 16, std::uint64_t{6}) ==
        "the shard is cut: its 106 bytes are too few for 2 documents of 6 ids");
  CHECK(message_of(temp, 16, ~std::uint64_t{0}).starts_with("the shard is cut: "));
  CHECK(message_of(temp, 24, ~std::uint64_t{0}).starts_with("the shard is cut: "));
  CHECK(message_of(temp, 16, std::uint64_t{4}) == "the shard has more bytes than its ids take");
  CHECK(message_of(temp, 72, std::uint64_t{1}) == "the places of its documents are not those of its ids");
  CHECK(message_of(temp, 80, std::uint64_t{6}) ==
        "the places of its documents are not in order: document 1 ends before it begins");
  CHECK(message_of(temp, 98, std::uint16_t{10}) == "id 10 at place 1 is not below the vocabulary, 10");
  const auto cut = temp.write("cut.tokens", token_shard({{1, 2, 9}}, 10, 9).substr(0, 50));
  check_failure(failure_of([&] { open(cut); }), ExitCode::data,
                "the shard is cut: it has 50 bytes, fewer than a header");
  const auto none = temp.write("none.tokens", token_shard({}, 10, 9));
  CHECK_THROWS_AS(open(none), EmptyDataset);
}

TEST_CASE("tokens: shards of two tokenizers are refused") {
  TempFolder temp;
  write_shards(temp, 2);
  temp.write("t/b.tokens", token_shard({{1}}, 11, TokenHeader::no_end));
  check_failure(failure_of([&] { open(temp.path() / "t"); }), ExitCode::data,
                "b.tokens: the shard has a vocabulary of 11 and no end of a text, but ");
}

TEST_CASE("tokens: a shard that is cut after the start makes damaged records") {
  TempFolder temp;
  const auto path = temp.write("a.tokens", token_shard({{1, 2, 9}}, 10, 9));
  const auto set = open(path);
  ReadBuffer buffer;
  CHECK(set->read(0, buffer).parts.size() == 1);
  fs::resize_file(path, 90);
  CHECK(std::string(failure_of<SampleError>([&] { set->read(0, buffer); }).what())
            .find("document 0: the shard has become shorter") != std::string::npos);
}

}  // namespace flowtrain
