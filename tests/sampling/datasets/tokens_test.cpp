#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <map>

#include "sampling/core/text.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/text/token_shard.h"
#include "sampling/named_dataset.h"
#include "tests/support/failure_helper.h"
#include "tests/support/http_server.h"
#include "tests/support/read_text.h"
#include "tests/support/settings_helper.h"
#include "tests/support/temp_folder.h"
#include "tests/support/token_shards.h"

namespace flowtrain::tokens_test {
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

TEST_CASE("tokens: windows within documents split those that are too long, and end with the id of the end") {
  TempFolder temp;
  write_shards(temp, 2);
  const auto within = [&](std::int64_t window) {
    return open(temp.path() / "t", {{"window", window}, {"within_documents", true}});
  };
  const auto set = within(2);
  CHECK(ids_of(*set) == std::vector<Ids>{{1, 2, 3}, {3, 9}, {4, 5, 6}, {6, 7, 9}});
  CHECK(set->describe(1) == (temp.path() / "t/a-0.tokens, document 0, token 2").string());
  CHECK(name_of(*set, 2) == name_of(*set, 3));
  CHECK(ids_of(*within(100)) == std::vector<Ids>{{1, 2, 3, 9}, {4, 5, 6, 7, 9}});
  CHECK(set->fingerprint() != open(temp.path() / "t", windows(2))->fingerprint());
  CHECK_THROWS_WITH_AS(open(temp.path() / "t", {{"within_documents", true}}),
                       doctest::Contains("a record is a whole document where there is no window"), UserError);
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
  CHECK(message_of(temp, 40, std::uint32_t{10}) ==
        "the header is damaged: the end of a text is the id 10, which is not below the vocabulary, 10");
  CHECK(message_of(temp, 16, std::uint64_t{6}) ==
        "the shard is cut: its 106 bytes are too few for 2 documents of 6 ids");
  CHECK(message_of(temp, 16, ~std::uint64_t{0}).starts_with("the shard is cut: "));
  CHECK(message_of(temp, 24, ~std::uint64_t{0}).starts_with("the shard is cut: "));
  CHECK(message_of(temp, 16, std::uint64_t{4}) == "the shard has more bytes than its ids take");
  CHECK(message_of(temp, 72, std::uint64_t{1}) == "the places of its documents are not those of its ids");
  CHECK(message_of(temp, 80, std::uint64_t{6}) ==
        "the places of its documents are not in order: document 1 ends before it begins");
  CHECK(message_of(temp, 100, std::uint16_t{1}) == "document 0 ends with the id 1, not with the end of a text, 9");
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
                "b.tokens: the shard has a vocabulary of 11 and no end of a text, but " +
                    (temp.path() / "t/a-0.tokens").string() + " has a vocabulary of 10 and the end of a text 9");
}

TEST_CASE("tokens: a shard that is cut after the start makes damaged records") {
  TempFolder temp;
  const auto path = temp.write("a.tokens", token_shard({{1, 2, 9}}, 10, 9));
  const auto set = open(path);
  ReadBuffer buffer;
  CHECK(set->read(0, buffer).parts.size() == 1);
  for (const std::uintmax_t size : {90, 0}) {
    fs::resize_file(path, size);
    CHECK(std::string(failure_of<SampleError>([&] { set->read(0, buffer); }).what())
              .find(concat("document 0: the file ends ", size == 90 ? 2 : 4, " bytes early: was it cut since?")) !=
          std::string::npos);
    CHECK(set->describe(0).ends_with("document 0"));
  }
}

TEST_CASE("tokens: shards on a server have the ids of local ones, and are fetched ahead by ranges") {
  TempFolder temp;
  write_shards(temp, 2);
  std::map<std::string, std::string> files;
  for (const std::string name : {"a-0.tokens", "a-1.tokens"})
    files["/t/" + name] = testing::read_text(temp.path() / "t" / name);
  HttpServer server([&](const HttpServer::Request& request, int) {
    const auto found = files.find(request.target.substr(0, request.target.find('?')));
    return found == files.end() ? HttpServer::Reply{.status = 404} : HttpServer::range_of(found->second, request);
  });
  for (const std::int64_t window : {0, 4}) {
    const auto local = open(temp.path() / "t", windows(window));
    const auto remote = open(server.url("t/a-{0..1}.tokens?key=secret"), windows(window));
    CHECK(ids_of(*remote) == ids_of(*local));
    CHECK(remote->fingerprint() == local->fingerprint());
    CHECK(name_of(*remote, 1) == name_of(*local, 1));
    REQUIRE(remote->takes_hints());
    CHECK(remote->describe(0) == server.url("t/a-0.tokens") + (window ? ", token 0" : ", document 0"));
  }
  // A window of both shards is fetched before it is read.
  const auto set = open(server.url("t"), {{"window", std::int64_t{8}}, {"split", std::string("a-{0..1}.tokens")}});
  const auto before = server.requests().size();
  set->hint(0);
  set->prefetch(0);
  ReadBuffer buffer;
  CHECK(set->read(0, buffer).parts[0].shape[0] == 9);
  CHECK(server.requests().size() == before + 2);
  set->hint(0);
  set->forget(0);

  check_failure(failure_of([&] { open(server.url("t/")); }), ExitCode::data, "a folder on a server cannot be listed");
  check_failure(failure_of([&] { open(server.url("t/none.tokens")); }), ExitCode::data, "t/none.tokens: ");
  check_failure(failure_of([&] { open(server.url("t/a.tar")); }), ExitCode::data, "t/a.tar is no .tokens");
  auto damaged = files["/t/a-0.tokens"];
  damaged[damaged.size() - 2] = 10;  // a local shard is checked at the start, one on a server when it is read
  files["/t/bad.tokens"] = damaged;
  const auto bad = open(server.url("t/bad.tokens"), windows(100));
  CHECK(std::string(failure_of<SampleError>([&] { bad->read(0, buffer); }).what())
            .find("bad.tokens, token 0: id 10 at place 4 is not below the vocabulary, 10") != std::string::npos);
}

}  // namespace flowtrain::tokens_test
