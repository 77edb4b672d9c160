#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "sampling/core/text.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/kept_index.h"
#include "sampling/samplers/entries.h"
#include "tests/support/failure_helper.h"
#include "tests/support/http_server.h"
#include "tests/support/settings_helper.h"
#include "tests/support/tar_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::webdataset_test {
namespace {

using Texts = std::vector<std::string>;

std::unique_ptr<Dataset> open(const std::filesystem::path& path, const std::string& split = "", int classes = 0,
                              bool training = true) {
  const auto entry = webdataset_entry();
  const Value count = static_cast<std::int64_t>(classes);
  return entry.make(settings_for(entry.keys, {{"path", path.string()}, {"split", split}, {"classes", count}}),
                    {training});
}

/// A shard of labelled pictures; each picture's bytes are its key.
std::string shard(const std::vector<std::pair<std::string, int>>& samples) {
  TarBytes bytes;
  for (const auto& [key, label] : samples) bytes.entry(key + ".cls", std::to_string(label)).entry(key + ".jpg", key);
  return bytes.end();
}

Texts contents(const Dataset& set) {
  ReadBuffer buffer;
  Texts all;
  for (std::uint64_t id = 0; id < set.size(); ++id) {
    const auto bytes = set.read(id, buffer).bytes;
    all.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return all;
}

TEST_CASE("webdataset: runs of files with one key are samples") {
  TempFolder temp;
  const auto path = temp.write("s.tar", TarBytes()
                                            .entry("./a/0001.json", "{}")
                                            .entry("a/0001.seg.png", "mask")
                                            .entry("a/0001.JPG", "first")
                                            .entry("a/0001.png", "second")
                                            .entry("a/0001.cls", " 2\n")
                                            .entry("b/0001.cls", "0")
                                            .entry("b/0001.jpeg", "third")
                                            .entry("._b.jpg", "hidden")
                                            .entry("notes.txt", "no picture")
                                            .entry("plain", "")
                                            .end());
  const auto set = open(path);
  REQUIRE(set->size() == 2);
  CHECK(contents(*set) == Texts{"first", "third"});
  CHECK(set->label(0) == 2);
  CHECK(set->label(1) == 0);
  CHECK(set->classes() == Texts{"0", "1", "2"});
  CHECK(set->describe(0) == path.string() + ":a/0001.JPG");
  CHECK_FALSE(set->resident());
  ReadBuffer buffer;
  const auto record = set->read(1, buffer);
  CHECK(record.id == 1);
  CHECK(record.encoding == Encoding::image);
  CHECK(record.label == 0);
  CHECK(open(path, "", 10)->classes().size() == 10);
}

TEST_CASE("webdataset: endings count in any case") {
  TempFolder temp;
  const auto path = temp.write("s.tar", TarBytes()
                                            .entry("a.CLS", "1")
                                            .entry("a.PNG", "first")
                                            .entry("b.Jfif", "second")
                                            .entry("b.cls", "0")
                                            .entry("c.jpe", "third")
                                            .entry("c.cls", "1")
                                            .end());
  const auto set = open(path);
  CHECK(contents(*set) == Texts{"first", "second", "third"});
  CHECK(set->label(0) == 1);
  CHECK(set->label(1) == 0);
}

TEST_CASE("webdataset: a key that stands twice is named with its shard") {
  TempFolder temp;
  const auto check = [&](TarBytes& bytes, const std::string& says) {
    const auto path = temp.write("s.tar", bytes.end());
    const auto failure = failure_of([&] { open(path); });
    check_failure(failure, ExitCode::data, path.string() + ": sample 'im': it has two ." + says + " files");
    CHECK(failure.hint().find("a key of its own") != std::string::npos);
  };
  // Two samples one after the other: the picture of one must not get the label of the other.
  check(TarBytes().entry("im.cls", "0").entry("im.jpg", "x").entry("im.cls", "1").entry("im.jpg", "y"), "cls");
  check(TarBytes().entry("im.jpg", "x").entry("im.cls", "0").entry("im.jpg", "y").entry("im.cls", "1"), "jpg");
  check(TarBytes().entry("im.jpg", "x").entry("im.JPG", "y").entry("im.cls", "1"), "jpg");
  check(TarBytes().entry("im.jpg", "x").entry("im.json", "").entry("im.json", "").entry("im.cls", "1"), "json");
  const auto path =
      temp.write("s.tar", TarBytes().entry("im.wav", "x").entry("im.flac", "y").entry("im.txt", "words").end());
  check_failure(failure_of([&] { open(path); }), ExitCode::data, "s.tar: sample 'im': it has two recordings");
}

TEST_CASE("webdataset: a label without a picture is named, as a picture without a label is") {
  TempFolder temp;
  const auto failure = [&](TarBytes& bytes) { return failure_of([&] { open(temp.write("s.tar", bytes.end())); }); };
  TarBytes labels_only;
  labels_only.entry("a.jpg", "x").entry("a.cls", "0").entry("b.cls", "1").entry("c.jpg", "y").entry("c.cls", "0");
  check_failure(failure(labels_only), ExitCode::data, "s.tar: sample 'b': it has a label (.cls), but no image (.jpg, ");
  TarBytes last;
  last.entry("a.jpg", "x").entry("a.cls", "0").entry("b.cls", "1").entry("b.bmp", "y");
  check_failure(failure(last), ExitCode::data, "sample 'b': it has a label (.cls), but no image");
  TarBytes apart;  // all pictures, then all labels
  apart.entry("a.jpg", "x").entry("b.jpg", "y").entry("a.cls", "0").entry("b.cls", "1");
  const auto error = failure(apart);
  check_failure(error, ExitCode::data, "sample 'a': it has a label (.cls), but no image");
  CHECK(error.hint().find("next to each other") != std::string::npos);
}

TEST_CASE("webdataset: where there are no labels, what was looked for is told") {
  TempFolder temp;
  const auto path = temp.write("s.tar", TarBytes().entry("a.jpg", "1").entry("a.json", "{\"label\": 1}").end());
  const auto set = open(path);
  CHECK(set->classes().empty());
  CHECK(set->missing_labels().starts_with("no image has a .cls beside it, for example " + path.string() + ":a.jpg; "));
  CHECK(set->missing_labels().find(".json") != std::string::npos);
  const auto entry = classify_entry();
  const auto failure = failure_of([&] { entry.make(settings_for(with_name(entry), {}, "sampler"), {*set, true}); });
  check_failure(failure, ExitCode::data, "needs a data set with classes, but this one has none: no image has a .cls");
  CHECK(open(temp.write("t.tar", shard({{"a", 0}})))->missing_labels().empty());
}

TEST_CASE("webdataset: the fingerprint is that of the shards' names and sizes, and of what the samples are") {
  TempFolder temp;
  temp.write("a/s0.tar", shard({{"a", 0}}));
  temp.write("a/s1.tar", shard({{"b", 1}}));
  const auto first = open(temp.path() / "a")->fingerprint();
  std::filesystem::rename(temp.path() / "a", temp.path() / "b");
  CHECK(open(temp.path() / "b")->fingerprint() == first);
  temp.write("b/s1.tar", shard({{"b", 1}, {"c", 1}}));
  const auto longer = open(temp.path() / "b")->fingerprint();
  CHECK(longer != first);
  std::filesystem::rename(temp.path() / "b/s1.tar", temp.path() / "b/s2.tar");
  CHECK(open(temp.path() / "b")->fingerprint() != longer);
}

TEST_CASE("webdataset: ids follow the shards' order") {
  TempFolder temp;
  for (int i = 0; i < 12; ++i) {
    const auto digits = std::string(i < 10 ? "0" : "") + std::to_string(i);
    const auto key = "k" + digits;
    temp.write("d/s-" + digits + ".tar",
               i == 4 ? TarBytes().end() : shard({{key + "a", i}, {key + "b", i}}));  // one shard is empty
  }
  const auto all = open(temp.path() / "d");
  REQUIRE(all->size() == 22);
  CHECK(all->describe(8).ends_with("s-05.tar:k05a.jpg"));
  CHECK(all->label(21) == 11);
  CHECK(contents(*all) == contents(*open(temp.path() / "d/s-{00..11}.tar")));
  const auto some = open(temp.path() / "d/s-{08..10}.tar");
  CHECK(contents(*some) == Texts{"k08a", "k08b", "k09a", "k09b", "k10a", "k10b"});
  CHECK(contents(*open(temp.path() / "d", "s-{0..1}{0..1}.tar")).size() == 8);

  std::vector<std::jthread> threads;  // for the race detectors
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { contents(*all); });
}

TEST_CASE("webdataset: splits are sub-folders, shards or patterns") {
  TempFolder temp;
  temp.write("d/train/s.tar", shard({{"t", 0}}));
  CHECK(contents(*open(temp.path() / "d", "", 0, false)) == Texts{"t"});
  temp.write("d/val/s.tar", shard({{"v", 0}}));
  temp.write("d/extra.tar", shard({{"x", 0}}));
  CHECK(contents(*open(temp.path() / "d")) == Texts{"t"});
  CHECK(contents(*open(temp.path() / "d", "", 0, false)) == Texts{"v"});
  CHECK(contents(*open(temp.path() / "d", "val")) == Texts{"v"});
  CHECK(contents(*open(temp.path() / "d", "extra.tar")) == Texts{"x"});
}

TEST_CASE("webdataset: shards of one folder are divided by the splits in their names") {
  TempFolder temp;
  const auto both = [&](const std::string& folder) {
    std::string text;
    for (const bool training : {true, false}) {
      for (const auto& key : contents(*open(temp.path() / folder, "", 0, training))) text += key;
      text += training ? "|" : "";
    }
    return text;
  };
  const auto write = [&](const std::string& name, const std::string& key) { temp.write(name, shard({{key, 0}})); };
  write("a/imagenet-train-000000.tar", "t");
  write("a/imagenet-train-000001.tar", "u");
  CHECK(both("a") == "tu|tu");  // one set, of which validation samples may be held out
  write("a/imagenet-val-000000.tar", "v");
  CHECK(both("a") == "tu|v");
  write("a/imagenet-test-000000.tar", "x");
  CHECK(both("a") == "tu|v");
  write("b/Train_0-of-2.tar", "t");
  write("b/Train_1-of-2.tar", "u");
  write("b/Validation_0-of-1.tar", "v");
  CHECK(both("b") == "tu|v");
  write("c/Training/0.tar", "t");
  write("c/Testing/0.tar", "x");
  CHECK(both("c") == "t|x");
  write("e/data/set/train/0.tar", "t");
  write("e/data/set/dev/0.tar", "v");
  CHECK(both("e") == "t|v");  // below folders that hold nothing else
  write("d/bus-0.tar", "b");
  write("d/train-0.tar", "t");
  const auto failure = failure_of([&] { open(temp.path() / "d"); });
  check_failure(failure, ExitCode::data, "train- may be a split, or data like bus-");
  CHECK(failure.hint().find("split_names = \"ignore\"") != std::string::npos);
}

TEST_CASE("webdataset: a set without labels has no classes") {
  TempFolder temp;
  const auto set = open(temp.write("s.tar", TarBytes().entry("a.png", "1").end()));
  CHECK(set->label(0) == -1);
  CHECK(set->classes().empty());
}

TEST_CASE("webdataset: what is wrong is named") {
  TempFolder temp;
  const auto failure = [&](const std::string& bytes, int classes = 0) {
    return failure_of([&] { open(temp.write("s.tar", bytes), "", classes); });
  };
  check_failure(failure(shard({{"a", 0}, {"dir/b", 3}}), 3), ExitCode::data,
                "s.tar: sample 'dir/b': label 3 is not within 0 to 2");
  check_failure(failure(shard({{"a", -1}})), ExitCode::data, "sample 'a': label -1 is not within 0 to");
  check_failure(failure(shard({{"a", 2'000'000'000}})), ExitCode::data, "label 2000000000 is not within 0 to 1048575");
  for (const std::string& label : Texts{"", "x", "1.5", "99999999999999999999", std::string(100, '1')})
    check_failure(failure(TarBytes().entry("a.cls", label).entry("a.jpg", "").end()), ExitCode::data,
                  "sample 'a': the .cls is not an integer");
  const auto mixed = TarBytes().entry("a.jpg", "").entry("b.jpg", "").entry("b.cls", "0").end();
  check_failure(failure(mixed), ExitCode::data, "s.tar: a.jpg has no .cls beside it");
  check_failure(failure(TarBytes().entry("a.jpg", "").end(), 5), ExitCode::data, "a.jpg has no .cls beside it");
  check_failure(failure(TarBytes().entry("a.gif", "").end()), ExitCode::data,
                "s.tar: there are no samples with an image");
  check_failure(failure("junk"), ExitCode::data, "s.tar: at byte 0");

  const auto at = [](const std::filesystem::path& path, const std::string& split = "") {
    return failure_of([&] { open(path, split); });
  };
  check_failure(at(""), ExitCode::data, "data.path: this data set needs a .tar");
  check_failure(at("no/such.tar"), ExitCode::data, "data.path: no such shard: no/such.tar");
  check_failure(at(temp.path() / "s{0..1}.tar"), ExitCode::data, "s0.tar");
  check_failure(at(temp.path(), "none"), ExitCode::data,
                "data.split: no such shard: " + (temp.path() / "none").string());
  check_failure(at(temp.path() / "s.tar", "val"), ExitCode::usage, "data.split: only a folder can have splits");
  for (const char* pattern : {"{0..", "{a..b}", "{3..1}", "{0-9}", "{0..x}", "{}", "{..}"})
    check_failure(at(pattern), ExitCode::usage, std::string("this is not a pattern of names: ") + pattern);
  check_failure(at("{0..99999999999}"), ExitCode::usage, "more than 100000 shards");
  check_failure(at("{0..9999}{0..9999}"), ExitCode::usage, "more than 100000 shards");
  std::filesystem::create_directory(temp.path() / "empty");
  check_failure(at(temp.path() / "empty"), ExitCode::data, "no .tar shards in");
}

TEST_CASE("webdataset: the first damaged shard is reported, whichever thread met it") {
  TempFolder temp;
  for (int i = 0; i < 9; ++i) temp.write("d/s" + std::to_string(i) + ".tar", i < 3 ? shard({{"a", 0}}) : "junk");
  for (int round = 0; round < 20; ++round)
    check_failure(failure_of([&] { open(temp.path() / "d"); }), ExitCode::data, "s3.tar");
}

TEST_CASE("webdataset: a shard cut after it was indexed gives bad samples") {
  TempFolder temp;
  const auto path = temp.write("s.tar", shard({{"a", 0}}));
  const auto set = open(path);
  std::filesystem::resize_file(path, 1024);
  ReadBuffer buffer;
  const auto error = failure_of<SampleError>([&] { set->read(0, buffer); });
  CHECK(std::string(error.what()) == path.string() + ":a.jpg: the file ends 1 bytes early: was it cut since?");
}

TEST_CASE("webdataset: a second start reads indices, not headers") {
  TempFolder temp;
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  const auto write = [&](const std::string& name, const std::string& bytes) {
    auto path = temp.write(name, bytes);
    std::filesystem::last_write_time(path, old);
    return path;
  };
  const auto first = shard({{"a", 0}, {"dir/b", 2}}), second = shard({{"c", 1}});
  const auto path = write("d/s0.tar", first);
  write("d/s1.tar", second);
  const auto check = [&] {
    const auto set = open(temp.path() / "d");
    CHECK(contents(*set) == Texts{"a", "dir/b", "c"});
    CHECK(set->describe(1) == path.string() + ":dir/b.jpg");
    for (const auto& [id, label] : {std::pair(0, 0), std::pair(1, 2), std::pair(2, 1)})
      CHECK(set->label(static_cast<std::uint64_t>(id)) == label);
  };
  check();
  CHECK(std::filesystem::exists(temp.path() / "d/s0.tar.index"));
  // The labels are those of the index, not of the shard.
  const auto index = [&] { return KeptIndex(path.string(), Descriptor::file(path.c_str())); };
  auto kept = index().recall();
  REQUIRE(kept);
  (*kept)[16] = std::byte{1};  // the first sample's label
  index().keep(*kept);
  CHECK(open(temp.path() / "d")->label(0) == 1);
  // A shard of the same size and time that was written anew is scanned.
  write("d/s0.tar", first);
  check();
  check_failure(failure_of([&] { open(temp.path() / "d", "", 2); }), ExitCode::data, "label 2 is not within 0 to 1");

  write("d/s0.tar", first + std::string(512, '\0'));  // another size
  check();
  write("d/s1.tar", second);
  std::filesystem::resize_file(temp.path() / "d/s1.tar.index", 20);
  check();
  std::ofstream(temp.path() / "d/s0.tar.index", std::ios::in | std::ios::binary).seekp(60).put('~');
  check();
  check_failure(failure_of([&] { open(temp.path() / "d", "", 2); }), ExitCode::data, "label 2 is not within 0 to 1");
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_CASE("webdataset: classes.txt beside the shards names the classes") {
  TempFolder temp;
  const auto path = temp.write("d/train/s.tar", shard({{"a", 0}, {"b", 1}}));
  temp.write("d/train/classes.txt", "\xef\xbb\xbfwhite cell\r\n platelet \nred cell\n\r\n\n");
  const auto set = open(temp.path() / "d");
  CHECK(set->classes() == Texts{"white cell", "platelet", "red cell"});
  CHECK(open(path)->classes() == set->classes());
  CHECK(open(temp.path() / "d", "", 2)->classes() == Texts{"0", "1"});
  temp.write("d/train/classes.txt", "one\n");
  const auto failure = failure_of([&] { open(path); });
  check_failure(failure, ExitCode::data, "classes.txt: it names 1 classes, but there is label 1");
  CHECK(failure.hint().find("data.classes") != std::string::npos);
  temp.write("d/train/classes.txt", "one\ntwo\n\nthree\n");
  check_failure(failure_of([&] { open(path); }), ExitCode::data,
                "classes.txt:3: the line is empty, but others that name classes follow");
  temp.write("d/train/classes.txt", "one\ntwo\none\n");
  check_failure(failure_of([&] { open(path); }), ExitCode::data, "classes.txt:3: 'one' is the name of line 1, too");
  temp.write("d/train/classes.txt", "");
  CHECK(open(path)->classes() == Texts{"0", "1"});
  std::filesystem::remove(temp.path() / "d/train/classes.txt");
  temp.write("d/train/classes.txt/no", "file");
  check_failure(failure_of([&] { open(path); }), ExitCode::data, "classes.txt: the file cannot be read");
}

/// Serves the files of a folder.
HttpServer::Handler files_of(const std::filesystem::path& folder) {
  return [folder](const HttpServer::Request& request, int) {
    std::ifstream stream(folder / request.target.substr(1), std::ios::binary);
    if (!stream) return HttpServer::Reply{.status = 404};
    return HttpServer::range_of(std::string(std::istreambuf_iterator<char>(stream), {}), request);
  };
}

std::unique_ptr<Dataset> open_remote(const std::string& path, std::vector<std::pair<std::string, Value>> values = {}) {
  const auto entry = webdataset_entry();
  values.insert(values.end(), {{"path", path}, {"retries", std::int64_t{0}}});
  return entry.make(settings_for(entry.keys, values), {});
}

std::vector<std::int64_t> labels(const Dataset& set) {
  std::vector<std::int64_t> all;
  for (std::uint64_t id = 0; id < set.size(); ++id) all.push_back(set.label(id));
  return all;
}

TEST_CASE("webdataset: remote shards are read as local ones are, and from the cache the next time") {
  TempFolder temp;
  for (int i = 0; i < 12; ++i) {
    const auto digits = std::string(i < 10 ? "0" : "") + std::to_string(i);
    temp.write("d/s-" + digits + ".tar", shard({{"a" + digits, i}, {std::string(80, 'n') + digits, 11 - i}}));
  }
  HttpServer server(files_of(temp.path()));
  const auto local = open(temp.path() / "d/s-{00..11}.tar");
  const auto check_same = [&](const Dataset& set) {
    CHECK(contents(set) == contents(*local));
    CHECK(labels(set) == labels(*local));
    CHECK(set.classes() == local->classes());
    CHECK(set.describe(3) == server.url("d/s-01.tar:") + local->describe(3).substr(local->describe(3).rfind(':') + 1));
  };
  check_same(*open_remote(server.url("d/s-{00..11}.tar")));
  check_same(*open_remote(server.url("d"), {{"split", "s-{00..11}.tar"}}));
  const std::pair<std::string, Value> cache{"cache", (temp.path() / "cache").string()};
  check_same(*open_remote(server.url("d/s-{00..11}.tar"), {cache}));
  const auto before = server.requests().size();
  check_same(*open_remote(server.url("d/s-{00..11}.tar"), {cache}));
  const auto requests = server.requests();
  REQUIRE(requests.size() == before + 12);  // whether each shard is still the same: one byte
  for (std::size_t i = before; i < requests.size(); ++i) CHECK(requests[i].header("range") == "bytes=0-0");
  temp.write("parts.tar",
             TarBytes().entry("a.jpg", "image").entry("a.txt", "words").entry("b.txt", "").entry("b.jpg", "x").end());
  for (const bool hints : {false, true}) {
    const auto set = open_remote(server.url("parts.tar"));
    ReadBuffer buffer;
    for (std::uint64_t id = 0; hints && id < 2; ++id) set->hint(id), set->prefetch(id);
    CHECK(text_of(set->read(0, buffer).part("txt")->bytes) == "words");
    CHECK(text_of(set->read(0, buffer).bytes) == "image");
    hints ? set->forget(1) : void(set->read(1, buffer));
  }
  check_failure(failure_of([&] {
                  open_remote(server.url("d/s-{00..11}.tar"), {cache, {"classes", std::int64_t{5}}});
                }),
                ExitCode::data, "label 11 is not within 0 to 4");
}

TEST_CASE("webdataset: what is wrong with remote shards is named") {
  TempFolder temp;
  temp.write("a.tar", shard({{"a", 0}}));
  temp.write("junk.tar", std::string(1'000, 'x'));
  bool gone = false;
  HttpServer server([&, files = files_of(temp.path())](const HttpServer::Request& request, int number) {
    return gone ? HttpServer::Reply{.status = 404} : files(request, number);
  });
  const auto failure = [&](const std::string& path) { return failure_of([&] { open_remote(path); }); };
  check_failure(failure(server.url("{a..b}.tar")), ExitCode::usage, "not a pattern of names");
  check_failure(failure(server.url("b{0..3}.tar?token=secret")), ExitCode::data,
                server.url("b0.tar: the server answers with status 404 (no such file)"));
  check_failure(failure(server.url("junk.tar")), ExitCode::data,
                server.url("junk.tar: at byte 0: the file is not a tar archive"));
  const auto folder = failure(server.url());
  check_failure(folder, ExitCode::data, "data.path: a folder on a server cannot be listed");
  CHECK(folder.hint().find("shard-{000..127}.tar") != std::string::npos);
  check_failure(failure("s3://bucket"), ExitCode::data, "s3://bucket: not a path of S3");

  const auto set = open_remote(server.url("a.tar"));
  gone = true;
  ReadBuffer buffer;
  const auto error = failure_of<SampleError>([&] { set->read(0, buffer); });
  CHECK(error.what() == server.url("a.tar:a.jpg: the server answers with status 404 (no such file)"));
}

}  // namespace
}  // namespace flowtrain::webdataset_test
