// flowtrain pack --tokens: the shards hold the texts of the source, whatever stopped the packing on the way.

#include <doctest/doctest.h>

#include <map>

#include "sampling/core/text.h"
#include "sampling/datasets/text/token_shard.h"
#include "tests/support/temp_run.h"

namespace flowtrain::pack_tokens_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const char* const text_config = R"(name = "tiny"
[data]
dataset = "text"
path = "texts"
unit = "line"
)";

/// Returns every file below a folder with its content.
std::map<std::string, std::string> tree_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files[fs::relative(entry.path(), folder).string()] = read_text(entry.path());
  return files;
}

Words pack_words(const Words& more) { return with({"pack", "tiny.toml", "--split", "train", "--tokens"}, more); }

/// Returns the documents of a folder of shards of bytes, each with "|" where it ends.
std::string texts_of(const fs::path& folder) {
  std::string texts;
  for (int number = 0;; ++number) {
    const auto path = folder / concat("train-", std::string(6 - std::to_string(number).size(), '0'), number, ".tokens");
    if (!fs::exists(path)) return texts;
    const TokenShard shard(path);
    std::vector<std::int32_t> ids(shard.header().ids);
    shard.read(0, ids);
    for (const auto id : ids) texts += id == 256 ? '|' : static_cast<char>(id);
  }
}

/// Writes many lines of different lengths, of which some are not UTF-8.
void write_lines(const TempRun& place, int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i)
    text += concat("line ", i, std::string(static_cast<std::size_t>(i) * 7919 % 70, 'x'), i % 1000 == 77 ? "\xff" : "",
                   "\n");
  place.folder().write("texts/a.txt", text);
}

}  // namespace

TEST_CASE("packed texts are those of the source, in its order") {
  const TempRun place(text_config);
  place.folder().write("texts/b.txt", "three\n\nfour\n");
  place.folder().write("texts/a.txt", "one\r\ntwo");
  const auto outcome = place.run(pack_words({"bytes", "--out", "packed"}));
  REQUIRE_EXIT(outcome, 0);
  CHECK_PRINTS(outcome, "train: 4 documents, 19 tokens in 1 shard, ");
  const auto folder = place.path("packed/train");
  CHECK(texts_of(folder) == "one|two|three|four|");
  const TokenShard shard(folder / "train-000000.tokens");
  CHECK(shard.header().width == 2);
  CHECK(shard.header().vocabulary == 257);
  CHECK(shard.header().end == 256);
  const auto totals = json::parse(read_text(folder / "tokens.json"));
  CHECK(totals.at("shards") == 1);
  CHECK(totals.at("documents") == 4);
  CHECK(totals.at("ids") == 19);
  CHECK(totals.at("text_bytes") == 15);
  CHECK(totals.at("tokenizer") == "bytes");

  CHECK(read_text(folder / "train-000000.tokens").size() == 72 + 5 * 8 + 19 * 2);
  REQUIRE_EXIT(place.run(pack_words({"bytes", "--out", "plain", "--end", "none", "--shard-samples", "1"})), 0);
  CHECK(texts_of(place.path("plain/train")) == "onetwothreefour");
  CHECK(fs::exists(place.path("plain/train/train-000003.tokens")));
  REQUIRE_EXIT(place.run(pack_words({"bytes", "--out", "mixed", "--shuffle", "1"})), 0);
  CHECK(texts_of(place.path("mixed/train")).size() == 19);
}

TEST_CASE("windows of texts are not packed, as they overlap") {
  const TempRun place(text_config);
  place.folder().write("texts/a.txt", "some words");
  const auto outcome =
      place.run(pack_words({"bytes", "--out", "packed", "--set", "data.unit=file", "--set", "data.window=4"}));
  CHECK_EXIT(outcome, 2);
  CHECK_SAYS(outcome, "data.window: windows of a text are no documents");
}

TEST_CASE("a packing keeps its tokenizer beside the shards, and texts of tables are packed, too") {
  const TempRun place(text_config);
  place.folder().write("texts/a.txt", "a text of some words, and a text of some more words\n");
  REQUIRE_EXIT(place.run({"tokenizer", "train", "texts/a.txt", "--vocab", "270", "--out", "own.json", "--special",
                          "<|endoftext|>"}),
               0);
  place.folder().write("table.jsonl", "{\"q\": \"some words\", \"a\": \"a text\"}\n{\"q\": \"\", \"a\": \"more\"}\n");
  const Words table{"own.json", "--set", "data.dataset=manifest", "--set", "data.path=table.jsonl"};
  const auto several = place.run(pack_words(with(table, {"--out", "packed"})));
  CHECK_EXIT(several, 2);
  CHECK_SAYS(several, "the records have several texts: q, a");
  REQUIRE_EXIT(place.run(pack_words(with(table, {"--out", "packed", "--part", "q"}))), 0);
  const auto folder = place.path("packed/train");
  CHECK(read_text(folder / "tokenizer.json") == read_text(place.path("own.json")));
  const auto totals = json::parse(read_text(folder / "tokens.json"));
  CHECK(totals.at("tokenizer") == "tokenizer.json");
  CHECK(totals.at("tokenizer_xxh64").get<std::string>().size() == 16);
  CHECK(totals.at("records") == 2);
  CHECK(totals.at("documents") == 1);  // an empty text is none
  CHECK(totals.at("text_bytes") == 10);
}

TEST_CASE("a packing that is killed and repeated has the bytes of one that was not, with any number of workers") {
  const TempRun place(text_config);
  write_lines(place, 30'000);
  const auto words = [&](const std::string& out, const std::string& workers) {
    return pack_words(
        {"bytes", "--out", out, "--shard-samples", "500", "--workers", workers, "--set", "data.max_bad=100"});
  };
  const auto whole = place.run(words("whole", "1"));
  REQUIRE_EXIT(whole, 0);
  CHECK_PRINTS(whole, "train: 29,970 documents");
  CHECK_PRINTS(whole, "train: 30 bad samples left out, listed in whole/train/train-*.bad.jsonl");
  for (const int shard : {5, 20, 40}) {
    Process process(words("killed", "3"), place.process_options());
    const auto path = place.path(concat("killed/train.unfinished/train-0000", shard < 10 ? "0" : "", shard, ".tokens"));
    REQUIRE(process.wait_for([&] { return fs::exists(path); }));
    process.send(SIGKILL);
    process.wait();
  }
  if (!fs::exists(place.path("killed/train"))) {
    const auto last = place.run(words("killed", "2"));
    REQUIRE_EXIT(last, 0);
    CHECK_SAYS(last, "train: continues with sample ");
    CHECK_PRINTS(last, "train: 30 bad samples left out");
  }
  CHECK(tree_of(place.path("killed")) == tree_of(place.path("whole")));
  const auto again = place.run(words("killed", "2"));
  CHECK_EXIT(again, 0);
  CHECK_SAYS(again, "killed/train is packed already");
}

TEST_CASE("a packing that is asked to end keeps its shards") {
  const TempRun place(text_config);
  write_lines(place, 200'000);
  const auto words = pack_words({"bytes", "--out", "packed", "--shard-samples", "100", "--set", "data.max_bad=500"});
  {
    Process process(words, place.process_options());
    REQUIRE(process.wait_for([&] { return fs::exists(place.path("packed/train.unfinished/train-000003.tokens")); }));
    process.send(SIGINT);
    const auto ended = process.wait();
    CHECK_EXIT(ended, 130);
    CHECK_SAYS(ended, "interrupted: the same command continues packed/train.unfinished with sample ");
  }
  CHECK(fs::exists(place.path("packed/train.unfinished/train-000003.tokens")));
  CHECK_FALSE(fs::exists(place.path("packed/train")));
  const auto other = place.run(with(words, {"--end", "none"}));
  CHECK_EXIT(other, 2);
  CHECK_SAYS(other, "packed/train.unfinished was packed from other data (or from texts that have changed since), or");
}

TEST_CASE("a packing of a text that was changed since, to another one of its size, is not continued") {
  const TempRun place(text_config);
  place.folder().write("texts/a.txt", "one\ntwo\n");
  const auto words = pack_words({"bytes", "--out", "packed"});
  REQUIRE_EXIT(place.run(words), 0);
  CHECK_EXIT(place.run(words), 0);
  place.folder().write("texts/a.txt", "one\ntoo\n");
  const auto changed = place.run(words);
  CHECK_EXIT(changed, 2);
  CHECK_SAYS(changed, "packed/train was packed from other data (or from texts that have changed since), or");
  fs::rename(place.path("packed/train"), place.path("packed/train.unfinished"));
  const auto resumed = place.run(words);
  CHECK_EXIT(resumed, 2);
  CHECK_SAYS(resumed, "packed/train.unfinished was packed from other data (or from texts that have changed since), or");
}

TEST_CASE("what cannot be packed as tokens is named") {
  const TempRun place(text_config);
  place.folder().write("texts/a.txt", "one\ntwo\n");
  const auto refused = [&](const Words& more, int code, const std::string& text) {
    const auto outcome = place.run(pack_words(more));
    CHECK_EXIT(outcome, code);
    CHECK_SAYS(outcome, text);
  };
  refused({"none.json", "--out", "p"}, 3, "none.json");
  refused({"bytes", "--out", "p", "--end", "<s>"}, 2, "--end <s>: the tokenizer has no such special token");
  refused({"bytes", "--out", "p", "--part", "txt"}, 2, "--part txt: the records have no such text");
  refused({"bytes", "--out", "p", "--sort"}, 2, "--sort");
  refused({"bytes", "--out", "p", "--resize", "9"}, 2, "--resize");
  refused({"bytes", "--out", "p", "--set", "data.dataset=shapes"}, 2, "the records of this data set have no text");
  place.folder().write("full/notes.txt", "mine");
  refused({"bytes", "--out", "full"}, 2, "--out full: the folder is not empty, it holds 'notes.txt'");
  place.folder().write("texts/a.txt", "\n\n");
  refused({"bytes", "--out", "p"}, 3, "there is no text in the file");
}

}  // namespace flowtrain::pack_tokens_test
