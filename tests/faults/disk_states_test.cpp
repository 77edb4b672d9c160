// The model of a disk on logs of a few steps, whose states can be written down.
#include "tests/crash/disk_states.h"

#include <doctest/doctest.h>

#include <set>

#include "tests/support/fast_folder.h"
#include "tests/support/snapshot_fixture.h"

namespace flowtrain::disk_states_test {

using namespace flowtrain::test;

namespace {

constexpr std::uint64_t all = 1'000'000;

DiskStep write_step(int node, std::uint64_t offset, std::size_t bytes) {
  return {.kind = DiskStep::write, .node = node, .offset = offset, .data = std::vector(bytes, std::byte{'a'})};
}
DiskStep names_step(std::vector<NameChange> changes) {
  return {.kind = DiskStep::names, .changes = std::move(changes)};
}
DiskStep sync_step(int node) { return {.kind = DiskStep::sync, .node = node}; }

/// The states after all of the log's steps: "f=3a2z" for a file of three 'a' and two zero bytes.
std::set<std::string> states(DiskLog log) {
  std::set<std::string> found;
  log.steps.push_back({.kind = DiskStep::report});  // else the same state would be told only of an earlier point
  for_each_state(log, all, 1, [&](const DiskState& state) {
    if (state.steps != log.steps.size()) return;
    std::string text;
    for (const auto& [path, entry] : state.entries) {
      text += path + "=";
      for (std::size_t i = 0; i < entry.content.size();) {
        const auto next = std::min(entry.content.find_first_not_of(entry.content[i], i), entry.content.size());
        text += std::to_string(next - i) + (entry.content[i] == '\0' ? 'z' : entry.content[i]);
        i = next;
      }
      text += " ";
    }
    found.insert(text);
  });
  return found;
}

}  // namespace

TEST_CASE("disk states: a synced file in a synced folder is there; without a sync anything may be") {
  const DiskLog nothing_synced{{{DiskNode::folder}, {DiskNode::file}},
                               {names_step({{0, "f", 1}}), write_step(1, 0, 600)}};
  auto log = nothing_synced;
  CHECK(states(log) == std::set<std::string>{"", "f= ", "f=512a ", "f=600a ", "f=600z ", "f=600Z "});
  log.steps.push_back(sync_step(1));  // the bytes are safe, the name is not
  CHECK(states(log) == std::set<std::string>{"", "f=600a "});
  log.steps.push_back(sync_step(0));
  CHECK(states(log) == std::set<std::string>{"f=600a "});
  log = nothing_synced;
  log.steps.push_back(sync_step(0));
  CHECK(states(log) == std::set<std::string>{"f= ", "f=512a ", "f=600a ", "f=600z ", "f=600Z "});
}

TEST_CASE("disk states: writes are lost one without the other, and torn at sectors of the file") {
  DiskLog log{{{DiskNode::folder}, {DiskNode::file}},
              {names_step({{0, "f", 1}}), sync_step(0), write_step(1, 0, 100), write_step(1, 100, 500)}};
  const auto found = states(log);
  CHECK(found.contains("f=100z500a "));
  CHECK(found.contains("f=512a "));
  CHECK(found.contains("f=100z412a "));
  CHECK(found.contains("f=100a500z "));
  CHECK_FALSE(found.contains("f=101a "));
  CHECK(found.size() == 16);
}

TEST_CASE("disk states: a rename is one step; it may come true without what it names") {
  DiskLog log{{{DiskNode::folder}, {DiskNode::file}, {DiskNode::file}},
              {names_step({{0, "f", 1}}), write_step(1, 0, 1), sync_step(1), sync_step(0),  //
               names_step({{0, "t", 2}}), write_step(2, 0, 2), names_step({{0, "t", -1}, {0, "f", 2}})}};
  const auto found = states(log);
  CHECK(found == std::set<std::string>{"f=1a ", "f=1a t= ", "f=1a t=2a ", "f=1a t=2z ", "f=1a t=2Z ", "f= ", "f=2a ",
                                       "f=2z ", "f=2Z "});
}

TEST_CASE("disk states: folders, links and resizing; materialised as they are told") {
  DiskLog log{{{DiskNode::folder}, {DiskNode::folder}, {DiskNode::file}, {DiskNode::link, "d/f"}},
              {names_step({{0, "d", 1}}),
               names_step({{1, "f", 2}}),
               write_step(2, 0, 3),
               {.kind = DiskStep::resize, .node = 2, .offset = 1},
               names_step({{0, "l", 3}}),
               sync_step(0),
               sync_step(1),
               sync_step(2)}};
  CHECK(states(log) == std::set<std::string>{"d= d/f=1a l=1d1/1f "});
  const FastFolder folder;
  log.steps.push_back({.kind = DiskStep::report});
  for_each_state(log, all, 1, [&](const DiskState& state) {
    if (state.steps == log.steps.size()) materialise(state, folder / "disk");
  });
  CHECK(get(folder / "disk/l") == "a");
  CHECK(names(folder / "disk") == "d l");
}

TEST_CASE("disk states: as many as asked for, the same each time, no two alike") {
  DiskLog log{{{DiskNode::folder}}, {}};
  for (int i = 1; i <= 20; ++i) {
    log.nodes.push_back({DiskNode::file});
    log.steps.push_back(names_step({{0, std::to_string(i), i}}));
    log.steps.push_back(write_step(i, 0, 2000));
  }
  const auto keys = [&](std::uint64_t seed) {
    std::set<std::string> found;
    const auto count = for_each_state(log, 5000, seed, [&](const DiskState& state) {
      std::string key = std::to_string(state.steps);
      for (const auto& [path, entry] : state.entries) key += path + entry.content + "|";
      found.insert(key);
    });
    CHECK(count == 5000);
    CHECK(found.size() == 5000);
    return found;
  };
  CHECK(keys(1) == keys(1));
  CHECK(keys(1) != keys(2));
}

}  // namespace flowtrain::disk_states_test
