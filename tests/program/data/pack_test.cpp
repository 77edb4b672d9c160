// flowtrain pack: a packed data set is its source.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <thread>

#include "sampling/audio/sound.h"
#include "sampling/core/text.h"
#include "tests/program/idx_files.h"
#include "tests/program/picture_files.h"

namespace flowtrain::pack_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Every file below a folder with its content.
std::map<std::string, std::string> tree_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files[fs::relative(entry.path(), folder).string()] = read_text(entry.path());
  return files;
}

std::vector<std::string> names_of(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// The members of a shard, in order: name and content. Looks at what `pack` writes and nothing else.
std::vector<std::pair<std::string, std::string>> members_of(const fs::path& shard) {
  const auto bytes = read_text(shard);
  std::vector<std::pair<std::string, std::string>> members;
  for (std::size_t at = 0; at + 512 <= bytes.size() && bytes[at] != 0;) {
    const auto size = std::stoull(bytes.substr(at + 124, 11), nullptr, 8);
    members.emplace_back(bytes.substr(at, bytes.find('\0', at) - at), bytes.substr(at + 512, size));
    at += 512 + (size + 511) / 512 * 512;
  }
  return members;
}

/// The labels of a split in the order of its shards.
std::vector<int> labels_of(const fs::path& folder) {
  std::vector<int> labels;
  for (const auto& name : names_of(folder))
    if (name.ends_with(".tar"))
      for (const auto& [member, content] : members_of(folder / name))
        if (member.ends_with(".cls")) labels.push_back(std::stoi(content));
  return labels;
}

/// The packed set in the place of the one that tiny.toml names.
Words packed(const std::string& folder, const Words& more = {}) {
  return with({"--set", "data.dataset=webdataset", "--set", "data.path=" + folder}, more);
}

/// write_pictures() with all of them whole.
void write_whole_pictures(const TempRun& place) {
  write_pictures(place.folder());
  fs::copy_file(place.path("pictures/train/cat/7.jpg"), place.path("pictures/train/cat/5.jpg"),
                fs::copy_options::overwrite_existing);
}

/// `flowtrain pack tiny.toml` of these pictures.
Outcome pack_pictures(const TempRun& place, const Words& more) {
  return place.run(with(with({"pack", "tiny.toml"}, picture_count), more));
}

}  // namespace

TEST_CASE("packed picture files train as their source does, to the same parameters") {
  const TempRun place(without_shapes());
  write_whole_pictures(place);
  const auto outcome =
      pack_pictures(place, {"--out", "a/packed", "--shard-samples", "10", "--set", "loader.workers=4096"});
  REQUIRE_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "loader.workers = 4096 (--set): ");  // bounded, as a machine's cores are
  CHECK_PRINTS(outcome, "train: 24 samples in 3 shards");
  CHECK_PRINTS(outcome, "val: 24 samples in 3 shards");
  CHECK(names_of(place.path("a/packed")) == Words{"train", "val"});
  CHECK(names_of(place.path("a/packed/train")) ==
        Words{"classes.txt", "train-000000.tar", "train-000001.tar", "train-000002.tar"});
  CHECK(read_text(place.path("a/packed/train/classes.txt")) == "cat\ndog\n");
  const auto members = members_of(place.path("a/packed/val/val-000001.tar"));
  REQUIRE(members.size() == 20);
  CHECK(members[0] == std::pair<std::string, std::string>("000000010.cls", "0"));
  CHECK(members[1].first == "000000010.jpg");
  CHECK(members[1].second == read_text(place.path("pictures/val/cat/7.jpg")));

  const Words validated{"--set", "val.every=5", "--run-dir"};
  REQUIRE_EXIT(place.train(with(picture_count, with(validated, {"source"}))), 0);
  REQUIRE_EXIT(place.train(with(picture_count, packed("a/packed", with(validated, {"packed"})))), 0);
  CHECK(end_of(place.path("packed")) == end_of(place.path("source")));
  CHECK(metrics_of(place.path("packed"), "val") == metrics_of(place.path("source"), "val"));
}

TEST_CASE("packed pixels train as their source does, and equal data make equal shards") {
  const TempRun place(idx_config);
  write_idx(place.folder());
  REQUIRE_EXIT(place.run({"pack", "tiny.toml", "--out", "packed", "--workers", "1"}), 0);
  REQUIRE_EXIT(place.run({"pack", "tiny.toml", "--out", "again", "--workers", "5"}), 0);
  CHECK(tree_of(place.path("packed")) == tree_of(place.path("again")));
  CHECK(members_of(place.path("packed/train/train-000000.tar"))[1].first == "000000000.png");

  const Words as_pixels{"--set", "sampler.size=8",     "--set", "sampler.channels=1",   "--set", "sampler.crop=none",
                        "--set", "sampler.mean=[0.5]", "--set", "sampler.stddev=[0.5]", "--set", "val.every=10"};
  REQUIRE_EXIT(place.train({"--run-dir", "source", "--set", "val.every=10"}), 0);
  REQUIRE_EXIT(place.train(packed("packed", with(as_pixels, {"--run-dir", "again-trained"}))), 0);
  CHECK(end_of(place.path("again-trained")) == end_of(place.path("source")));
  CHECK(metrics_of(place.path("again-trained"), "val") == metrics_of(place.path("source"), "val"));
}

TEST_CASE("a sample's only recording is the part audio of the shards, and data without a split are packed once") {
  const TempRun place(std::string("[data]\ndataset = \"manifest\"\npath = \"a.jsonl\"\nval_share = 0\n"));
  std::vector<std::byte> wav;
  encode_wav({{0.5f, -0.5f, 0.25f, 0}, 1, 16000}, wav);
  place.folder().write("a.wav", {reinterpret_cast<const char*>(wav.data()), wav.size()});
  place.folder().write("a.jsonl", "{\"audio_filepath\": \"a.wav\", \"text\": \"hello\"}\n");
  const auto outcome = place.run({"pack", "tiny.toml", "--out", "packed"});
  REQUIRE_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "val: its records are those of train, so it is left out");
  CHECK(names_of(place.path("packed")) == Words{"train"});
  std::vector<std::string> names;
  for (const auto& [name, content] : members_of(place.path("packed/train/train-000000.tar"))) names.push_back(name);
  CHECK(names == Words{"000000000.wav", "000000000.text.txt"});
}

TEST_CASE("a part that a record lacks has no file in its shard, and parts that no file can hold are refused") {
  const TempRun place(std::string("[data]\ndataset = \"manifest\"\npath = \"a.jsonl\"\nval_share = 0\n"));
  place.folder().write("a.jsonl", "{\"text\": \"one\", \"n\": null}\n{\"text\": \"two\", \"n\": 3}\n");
  REQUIRE_EXIT(place.run({"pack", "tiny.toml", "--out", "packed"}), 0);
  std::vector<std::string> names;
  for (const auto& [name, content] : members_of(place.path("packed/train/train-000000.tar"))) names.push_back(name);
  CHECK(names == Words{"000000000.text.txt", "000000001.text.txt", "000000001.n.npy"});
  const auto refused = [&](const std::string& table, const std::string& says) {
    place.folder().write("a.jsonl", table);
    const auto outcome = place.run({"pack", "tiny.toml", "--out", "other"});
    CHECK_EXIT(outcome, 3);
    CHECK_SAYS(outcome, says);
  };
  refused("{\"a/b\": \"one\"}\n", "the part 'a/b' has a / in its name, as no file can");
  refused("{\"t\": \"one\", \"T\": \"two\"}\n", "the parts 't' and 'T' would have one file in a shard");
}

TEST_CASE("the order of a packed set: by label, or of a seed") {
  const TempRun place(idx_config);
  write_idx(place.folder());
  const auto pack = [&](const std::string& out, const Words& more) {
    REQUIRE_EXIT(place.run(with({"pack", "tiny.toml", "--split", "train", "--out", out}, more)), 0);
    CHECK(names_of(place.path(out)) == Words{"train"});
    return labels_of(place.path(out) / "train");
  };
  const auto stored = pack("stored", {});
  REQUIRE(stored.size() == 64);
  for (int i = 0; i < 64; ++i) CHECK(stored[static_cast<std::size_t>(i)] == i % 4);
  const auto sorted = pack("sorted", {"--sort"});
  for (int i = 0; i < 64; ++i) CHECK(sorted[static_cast<std::size_t>(i)] == i / 16);
  const auto shuffled = pack("shuffled", {"--shuffle", "3", "--shard-samples", "7"});
  CHECK(names_of(place.path("shuffled/train")).size() == 10 + 1);
  CHECK(shuffled != stored);
  CHECK(pack("same", {"--shuffle", "3", "--shard-samples", "7"}) == shuffled);
  CHECK(pack("other", {"--shuffle", "4", "--shard-samples", "7"}) != shuffled);
  // A member's name is the record's number in the source, wherever it stands.
  for (const auto& name : names_of(place.path("shuffled/train")))
    if (name.ends_with(".tar"))
      for (const auto& [member, content] : members_of(place.path("shuffled/train") / name))
        if (member.ends_with(".cls")) CHECK(std::stoi(member) % 4 == std::stoi(content));
}

TEST_CASE("shards end before they grow too large") {
  const TempRun place(R"(name = "tiny"
[data]
dataset = "shapes"
samples = 60
val_samples = 3
size = 150
)");
  REQUIRE_EXIT(place.run({"pack", "tiny.toml", "--out", "packed", "--shard-mb", "1"}), 0);
  const auto names = names_of(place.path("packed/train"));
  CHECK(names.size() > 3);
  for (const auto& name : names) CHECK(fs::file_size(place.path("packed/train") / name) <= 1 << 20);
  REQUIRE_EXIT(place.run({"pack", "tiny.toml", "--out", "small", "--resize", "75", "--encode", "jpeg"}), 0);
  CHECK(names_of(place.path("small/train")).size() == 2);
  CHECK(members_of(place.path("small/train/train-000000.tar"))[1].first == "000000000.jpg");
}

TEST_CASE("pack leaves bad samples out, in a log, or stops") {
  const TempRun place(without_shapes());
  write_pictures(place.folder());
  const auto outcome = pack_pictures(place, {"--out", "packed"});
  REQUIRE_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "bad sample 9 (pictures/train/cat/5.jpg): decode: JPEG: ");
  CHECK_PRINTS(outcome, "train: 23 samples");
  CHECK_PRINTS(outcome, "train: 1 bad sample left out, listed in packed/train/bad_samples.jsonl");
  const auto line = json::parse(read_text(place.path("packed/train/bad_samples.jsonl")));
  CHECK(line.at("split") == "train");
  CHECK(line.at("id") == 9);
  CHECK(line.at("name") == "pictures/train/cat/5.jpg");
  CHECK(line.at("stage") == "decode");
  CHECK(line.at("reason").get<std::string>().starts_with("JPEG: "));
  CHECK(labels_of(place.path("packed/train")).size() == 23);
  CHECK_FALSE(fs::exists(place.path("packed/val/bad_samples.jsonl")));
  CHECK_EXIT(place.train(with(picture_count, packed("packed", {"--set", "data.max_bad=0"}))), 0);

  for (const char* const change : {"data.bad=stop", "data.max_bad=0"}) {
    const auto stopped = pack_pictures(place, {"--out", "stopped", "--set", change});
    CHECK_EXIT(stopped, 3);
    CHECK_SAYS(stopped, "5.jpg");
    CHECK_SAYS(stopped, "data.bad");
    CHECK(names_of(place.path("stopped")).empty());
  }
  for (auto name : {"1.jpg", "3.jpg"})
    place.folder().write(std::string("pictures/train/cat/") + name, read_text(place.path("pictures/train/cat/5.jpg")));
  const auto stopped = pack_pictures(place, {"--out", "stopped", "--set", "data.max_bad=2"});
  CHECK_EXIT(stopped, 3);
  CHECK_SAYS(stopped, "that is more than data.max_bad = 2 allows");

  const auto whole = read_text(place.path("pictures/train/cat/7.jpg"));
  for (auto name : {"1.jpg", "3.jpg", "5.jpg"})  // only the last rows are missing: a warning
    place.folder().write(std::string("pictures/train/cat/") + name, whole.substr(0, whole.size() - 20));
  const auto accepted = pack_pictures(place, {"--out", "accepted", "--set", "sampler.warnings=accept"});
  REQUIRE_EXIT(accepted, 0);
  CHECK_PRINTS(accepted, "train: 24 samples");
}

TEST_CASE("what cannot be packed, and where to, is named") {
  const TempRun place(idx_config);
  write_idx(place.folder());
  const auto refused = [&](const Words& more, int code, const std::string& text) {
    const auto outcome = place.run(with({"pack", "tiny.toml"}, more));
    CHECK_EXIT(outcome, code);
    CHECK_SAYS(outcome, text);
  };
  refused({}, 2, "--out");
  refused({"--out", "p", "--split", "test"}, 2, "--split");
  refused({"--out", "p", "--shard-mb", "0"}, 2, "--shard-mb");
  refused({"--out", "p", "--shard-mb", "5", "--shard-samples", "5"}, 2, "--shard-");
  refused({"--out", "p", "--shuffle", "1", "--sort"}, 2, "--sort");
  refused({"--out", "p", "--encode", "gif"}, 2, "--encode");
  refused({"--out", "p", "--quality", "101"}, 2, "--quality");
  refused({"--out", "p", "--resize", "0"}, 2, "--resize");
  refused({"--out", "p", "--set", "data.path=nowhere"}, 3, "nowhere");
  refused({"--out", "tiny.toml"}, 4, "tiny.toml");
  CHECK_FALSE(fs::exists(place.path("p")));

  place.folder().write("full/notes.txt", "mine");
  refused({"--out", "full"}, 2, "--out full: the folder is not empty, it holds 'notes.txt'");
  fs::create_directory(place.path("empty"));
  REQUIRE_EXIT(place.run({"pack", "tiny.toml", "--out", "empty", "--split", "val"}), 0);
  REQUIRE_EXIT(place.run({"pack", "tiny.toml", "--out", "empty", "--split", "train"}), 0);
  refused({"--out", "empty", "--split", "train"}, 2, "it holds 'train'");

  place.folder().write("voc/ImageSets/Main/train.txt", "1\n");
  place.folder().write("voc/JPEGImages/1.jpg", "a picture that nobody looks at");
  place.folder().write("voc/Annotations/1.xml",
                       "<annotation><size><width>9</width><height>9</height></size><object><name>cat</name><bndbox>"
                       "<xmin>1</xmin><ymin>1</ymin><xmax>5</xmax><ymax>5</ymax></bndbox></object></annotation>");
  refused({"--out", "p", "--split", "train", "--set", "data.dataset=voc", "--set", "data.path=voc"}, 2,
          "pictures with boxes but without a label cannot be packed");
}

TEST_CASE("an interrupted pack leaves nothing that counts") {
  const TempRun place(R"(name = "tiny"
[data]
dataset = "shapes"
samples = 100000000
size = 32
)");
  const auto out = place.path("packed");
  const Words words{"pack", "tiny.toml", "--out", "packed", "--shard-samples", "20"};
  const auto has_shards = [&] {
    if (!fs::exists(out)) return false;
    for (const auto& entry : fs::recursive_directory_iterator(out))
      if (entry.path().filename() == "train-000003.tar") return true;
    return false;
  };
  const auto wait_for_shards = [&] {
    for (int i = 0; i < 60000 && !has_shards(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return has_shards();
  };
  SUBCASE("asked to end") {
    Process process(words, place.process_options());
    REQUIRE(wait_for_shards());
    process.send(SIGINT);
    const auto ended = process.wait();
    CHECK_EXIT(ended, 130);
    CHECK_SAYS(ended, "interrupted: packed/train was removed");
    CHECK_FALSE(fs::exists(out));
  }
  SUBCASE("asked to end, in a folder that was there") {
    fs::create_directory(out);
    Process process(words, place.process_options());
    REQUIRE(wait_for_shards());
    process.send(SIGINT);
    CHECK_EXIT(process.wait(), 130);
    CHECK(names_of(out).empty());
  }
  SUBCASE("killed") {
    {
      Process process(words, place.process_options());
      REQUIRE(wait_for_shards());
      process.send(SIGKILL);
      process.wait();
    }
    const auto left = names_of(out);
    REQUIRE(left.size() == 1);
    CHECK(left[0].starts_with("train.tmp-"));
    const auto unread = place.train(packed("packed", {"--set", "net.name=mlp", "--set", "run.max_iter=1"}));
    CHECK_EXIT(unread, 3);
    CHECK_SAYS(unread, "no .tar shards in packed");
    const auto again = place.run(words);
    CHECK_EXIT(again, 2);
    CHECK_SAYS(again, "an interrupted pack left it: remove it");
  }
  SUBCASE("the disk refuses") {
    auto small = place.process_options();
    small.file_bytes = 20'000;
    const auto failed = run_program(words, small);
    CHECK_EXIT(failed, 4);
    CHECK_SAYS(failed, "train-000000.tar: write");
    CHECK(names_of(out).empty());
  }
}

TEST_CASE("shards in a folder that cannot be written are read all the same") {
  const TempRun place(without_shapes());
  write_whole_pictures(place);
  REQUIRE_EXIT(pack_pictures(place, {"--out", "packed"}), 0);
  const auto hour_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const std::string split : {"train", "val"})
    fs::last_write_time(place.path(concat("packed/", split, "/", split, "-000000.tar")), hour_ago);
  fs::permissions(place.path("packed/train"), fs::perms::owner_read | fs::perms::owner_exec);
  auto bound = place.process_options();
  bound.bound_by_permissions = true;
  auto words = with(with({"tiny.toml"}, picture_count), packed("packed", {"--set", "val.every=5"}));
  const auto first = run_program(with(words, {"--run-dir", "first"}), bound);
  const auto second = run_program(with(words, {"--run-dir", "second"}), bound);
  fs::permissions(place.path("packed/train"), fs::perms::owner_all);
  REQUIRE_EXIT(first, 0);
  REQUIRE_EXIT(second, 0);
  CHECK(end_of(place.path("first")) == end_of(place.path("second")));
  CHECK(names_of(place.path("packed/train")) == Words{"classes.txt", "train-000000.tar"});
  CHECK(names_of(place.path("packed/val")) == Words{"classes.txt", "val-000000.tar", "val-000000.tar.index"});
}

}  // namespace flowtrain::pack_test
