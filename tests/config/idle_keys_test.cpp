// Keys that are given and that nothing reads.

#include "pipeline/config/idle_keys.h"

#include <doctest/doctest.h>

#include "tests/config/support.h"

using namespace flowtrain;
using namespace flowtrain::testing;

namespace {

/// The notes, without the temporary folder's name.
std::vector<std::string> notes_of(const std::string& net) {
  add_entries();
  TempFolder temp;
  auto notes = idle_keys(load_config(temp.write("a.toml", "[data]\ndataset = \"letters\"\n[net]\n" + net), {}));
  const auto folder = temp.path().string() + "/";
  for (auto& note : notes)
    for (auto at = note.find(folder); at != std::string::npos; at = note.find(folder)) note.erase(at, folder.size());
  return notes;
}

}  // namespace

TEST_CASE("a key of [net] that the chosen net does not have is told") {
  const auto notes = notes_of("name = \"resnet18\"\ndropout = 0.5\nhidden = [8]\nstacks = 1\n");
  REQUIRE(notes.size() == 3);
  CHECK(notes[0].starts_with("net.hidden (a.toml:6:1) is not read: name is \"resnet18\" (a.toml:4:1)"));
  CHECK(notes[1].starts_with("net.dropout (a.toml:5:1) is not read: name is \"resnet18\""));
  CHECK(notes[2].starts_with("net.stacks (a.toml:7:1) is not read: name is \"resnet18\""));
  const auto script = notes_of("script = \"net.pt\"\ndropout = 0.5\n");
  REQUIRE(script.size() == 1);
  CHECK(script[0].starts_with("net.dropout (a.toml:5:1) is not read: script is \"net.pt\" (a.toml:4:1)"));
}

TEST_CASE("a key of [net] that the chosen net has, or may have, is not told") {
  CHECK(notes_of("name = \"mlp\"\ndropout = 0.5\nhidden = [8]\n").empty());
  CHECK(notes_of("name = \"lenet\"\ndropout = 0.5\n").empty());
  CHECK(notes_of("name = \"cornernet_squeeze\"\nstacks = 1\nstem = [8]\nwidths = [8, 16]\nblocks = [1, 1]\n").empty());
  CHECK(notes_of("name = \"resnet18\"\ndropout = 0.0\n").empty());
  CHECK(notes_of("plugin = \"own.so\"\ndropout = 0.5\n").empty());
}
