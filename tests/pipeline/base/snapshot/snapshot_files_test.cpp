#include "pipeline/base/snapshot/snapshot_files.h"

#include <doctest/doctest.h>

#include "pipeline/base/snapshot/hash.h"
#include "pipeline/base/snapshot/manifest.h"
#include "tests/support/snapshot_fixture.h"

namespace flowtrain::snapshot_files_test {

using namespace flowtrain::test;

TEST_CASE("snapshot: what was saved is what is opened") {
  TempFolder folder;
  const SmallContent small(500);
  const auto path = write_snapshot(folder / "runs/x/snapshots", small.content);
  CHECK(path == folder / "runs/x/snapshots/iter-00000500");
  CHECK(names(path) == "config.toml manifest.json model.safetensors optim.safetensors state.json");
  CHECK(fs::read_symlink(path.parent_path() / "latest") == "iter-00000500");
  CHECK(verify_snapshot(path).empty());

  const auto snapshot = open_snapshot(path.parent_path() / "latest");
  CHECK(snapshot.iteration == 500);
  CHECK(snapshot.state_json == small.content.state_json);
  CHECK(snapshot.config_toml == small.content.config_toml);
  REQUIRE(snapshot.model.tensors().size() == 2);
  REQUIRE(snapshot.optim.tensors().size() == 2);
  for (int i = 0; i < 2; ++i) {
    CHECK(same_bytes(snapshot.model.tensors()[i], small.content.model[i]));
    CHECK(same_bytes(snapshot.optim.tensors()[i], small.content.optim[i]));
  }
}

TEST_CASE("snapshot: empty parts, a large iteration, and the very same bytes each time") {
  TempFolder folder;
  const SnapshotContent empty{123456789012, {}, {}, "", ""};
  const auto path = write_snapshot(folder.path(), empty);
  CHECK(path.filename() == "iter-123456789012");
  CHECK(verify_snapshot(path).empty());
  CHECK(open_snapshot(path).model.tensors().empty());
  REQUIRE(list_snapshots(folder.path()).size() == 1);
  CHECK(list_snapshots(folder.path())[0].iteration == 123456789012);

  TempFolder other;
  const auto one = save(folder.path(), 7), two = save(other.path(), 7);
  for (const char* name : snapshot_file_names) CHECK(get(one / name) == get(two / name));
  CHECK(get(one / manifest_name) == get(two / manifest_name));
}

TEST_CASE("snapshot: one of the same iteration is replaced") {
  TempFolder folder;
  save(folder.path(), 1, 5);
  const auto path = save(folder.path(), 1, 9);
  CHECK(names(folder.path()) == "iter-00000001 latest");
  CHECK(open_snapshot(path).model.tensors()[0].shape == std::vector<std::int64_t>{3, 9});

  // A damaged one, as a crash of another program may leave it.
  fs::remove(path / manifest_name);
  put(path / "model.safetensors", "half");
  save(folder.path(), 1, 5);
  CHECK(verify_snapshot(path).empty());
}

TEST_CASE("snapshot: cut short at every length of every file, it is neither complete nor good") {
  TempFolder folder;
  const auto path = save(folder.path(), 1);
  int tried = 0;
  for (const auto& entry : fs::directory_iterator(path)) {
    const auto whole = get(entry.path());
    for (auto length = whole.size(); length-- > 0; ++tried) {
      fs::resize_file(entry.path(), length);
      const auto info = list_snapshots(folder.path()).at(0);
      CHECK_FALSE(info.complete);
      CHECK(contains(info.reason, entry.path().filename().string()));
      const auto problems = verify_snapshot(path);
      REQUIRE_FALSE(problems.empty());
      CHECK(contains(problems[0], entry.path().filename().string()));
    }
    put(entry.path(), whole);
  }
  CHECK(verify_snapshot(path).empty());
  CHECK(tried > 1000);
}

TEST_CASE("snapshot: each changed byte of each file is found, and named") {
  TempFolder folder;
  const auto path = save(folder.path(), 1);
  int tried = 0;
  for (const auto& entry : fs::directory_iterator(path)) {
    for (std::size_t at = 0; at < entry.file_size(); ++at)
      for (const int mask : {0x01, 0x20, 0x80, 0xff}) {
        flip(entry.path(), at, mask);
        const auto problems = verify_snapshot(path);
        REQUIRE_FALSE(problems.empty());
        CHECK(contains(problems[0], entry.path().filename().string()));
        flip(entry.path(), at, mask);
        ++tried;
      }
  }
  CHECK(verify_snapshot(path).empty());
  CHECK(tried > 4000);
}

TEST_CASE("snapshot: the damaged tensor is named") {
  TempFolder folder;
  const auto path = save(folder.path(), 1);
  const auto file = path / "model.safetensors";
  const auto whole = get(file);
  auto changed = whole;
  changed.back() ^= 1;  // conv.bias comes last
  put(file, changed);
  auto problems = verify_snapshot(path);
  REQUIRE(problems.size() == 2);
  CHECK(contains(problems[0], "model.safetensors: damaged (its xxh64 is "));
  CHECK(problems[1] == "model.safetensors: tensor 'conv.bias' is damaged");
  CHECK(contains(message_of([&] { open_snapshot(path); }), "iter-00000001: model.safetensors: damaged"));

  changed = whole;
  changed.replace(changed.find("conv.bias"), 9, "conv.bi_s");
  put(file, changed);
  problems = verify_snapshot(path);
  REQUIRE(problems.size() == 3);
  CHECK(problems[1] == "model.safetensors: tensor 'conv.bi_s' is not in the manifest");
  CHECK(problems[2] == "model.safetensors: tensor 'conv.bias' is missing");

  changed = whole;
  changed.replace(changed.find("\"pt\""), 4, "\"PT\"");
  put(file, changed);
  CHECK(verify_snapshot(path).at(1) == "model.safetensors: its header is damaged");
}

TEST_CASE("snapshot: files or whole snapshots in each other's place are found") {
  TempFolder folder;
  const auto one = save(folder.path(), 1), two = save(folder.path(), 2);
  fs::copy_file(two / "state.json", one / "state.json", fs::copy_options::overwrite_existing);
  CHECK(contains(verify_snapshot(one).at(0), "state.json: damaged"));

  fs::remove_all(one);
  fs::copy(two, one, fs::copy_options::recursive);
  CHECK(verify_snapshot(one).at(0) == "manifest.json: it belongs to iteration 2");
  CHECK(list_snapshots(folder.path()).at(1).reason == "manifest.json: it belongs to iteration 2");
  fs::rename(one, folder / "my-copy");
  CHECK(verify_snapshot(folder / "my-copy").empty());
}

TEST_CASE("manifest: one that is intact but says what it must not is refused") {
  const auto sealed = [](std::string text) {  // up to the closing bracket, which the seal brings
    return text + ",\n \"xxh64\": \"" + xxh64_hex(text) + "\"\n}\n";
  };
  const auto refusal = [&](const std::string& text) { return message_of([&] { parse_manifest(sealed(text), "m"); }); };
  CHECK(message_of([&] { parse_manifest("", "m"); }) == "m: damaged: cut short");
  CHECK(contains(refusal("{\"version\": 2"), "m: version 2 of the format; this build reads version 1"));
  CHECK(contains(refusal("{\"version\": \"1\""), "a member is missing or of the wrong type"));
  CHECK(contains(refusal("{\"version\": 1"), "a member is missing"));
  CHECK(contains(refusal("{\"version\": 1, \"iteration\": -1"), "of the wrong type"));
  CHECK(contains(refusal("{\"version\": 1, \"iteration\": 1e300"), "of the wrong type"));
  CHECK(contains(refusal("{\"version\": 1, \"iteration\": 1, \"files\": []"), "of the wrong type"));
  CHECK(contains(refusal("not json"), "a member is missing or of the wrong type"));
  CHECK(contains(refusal("{\"a\": " + std::string(1'000'000, '[')), "of the wrong type"));

  std::string files;
  for (const std::string name : snapshot_file_names) files += "\"" + name + "\": {\"bytes\": 1, \"xxh64\": \"0\"},";
  const std::string start = "{\"version\": 1, \"iteration\": 1, \"files\": {" + files;
  CHECK(contains(refusal(start + "\"../../evil\": {\"bytes\": 1, \"xxh64\": \"0\"}}"), "it lists other files"));
}

}  // namespace flowtrain::snapshot_files_test
