// `flowtrain plugin new` and `flowtrain plugin check`.

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <memory>

#include "sampling/core/text.h"
#include "tests/support/temp_run.h"

namespace flowtrain::plugin_kit_test {
namespace {

namespace fs = std::filesystem;

/// The check that names what is wrong with each plugin of broken/.
const std::map<std::string, std::string> right_checks{
    {"other_abi", "interface"}, {"other_size", "interface"},   {"bad_field", "fields"},        {"exits", "returns"},
    {"hangs", "returns"},       {"throws", "errors"},          {"silent", "errors"},           {"past_end", "bounds"},
    {"before_start", "bounds"}, {"unwritten", "written"},      {"changes_input", "input"},     {"by_rand", "seed"},
    {"by_clock", "seed"},       {"by_history", "order"},       {"draws_always", "validation"}, {"by_thread", "threads"},
    {"other_blocks", "blocks"}, {"trusts_size", "damaged"},    {"leaks_memory", "leaks"},      {"leaks_files", "leaks"},
    {"leaks_threads", "leaks"}, {"cpp_throws", "damaged"},     {"cpp_order", "ids"},           {"cpp_dataset", "same"},
    {"whole_rows", "extents"},  {"measures_again", "extents"},
};

std::string broken_plugin(const std::string& name) { return test::build_path("broken_plugins/") + name + ".so"; }

/// The name of the first check that failed; empty where none did.
std::string first_failed(const Outcome& outcome) {
  const std::string mark = "  FAIL  ";
  const auto at = outcome.out.find(mark);
  if (at == std::string::npos) return {};
  const auto begin = at + mark.size();
  return outcome.out.substr(begin, outcome.out.find(' ', begin) - begin);
}

/// The program by its name, and compilers, are found.
std::string search_path() { return fs::path(tested_program()).parent_path().string() + ":" + std::getenv("PATH"); }

Outcome shell(const TempFolder& folder, const std::string& command) {
  ProcessOptions options{folder.path(), {{"PATH", search_path()}}};
  options.program = "/bin/sh";
  return run_program({"-c", command}, options);
}

}  // namespace

TEST_CASE("each broken plugin is named by the right check") {
  const TempFolder folder;
  std::map<std::string, std::unique_ptr<Process>> checks;  // at once: a check waits more than it computes
  for (auto& file : fs::directory_iterator(test::build_path("broken_plugins"))) {
    const std::string name = file.path().stem();
    Words words{"plugin", "check", file.path().string()};
    if (name == "hangs") words = with(words, {"--timeout", "2"});
    checks[name] = std::make_unique<Process>(words, ProcessOptions{folder.path()});
  }
  std::size_t named = 0;
  for (auto& check : checks) {
    const std::string& name = check.first;
    CAPTURE(name);
    REQUIRE(right_checks.contains(name));
    const Outcome outcome = check.second->wait();
    CHECK_EXIT(outcome, 3);
    CHECK_MESSAGE(first_failed(outcome) == right_checks.at(name), outcome);
    named += outcome.code == 3 && first_failed(outcome) == right_checks.at(name);
  }
  MESSAGE(named, " of ", right_checks.size(), " broken plugins are named by the right check");
  CHECK(named == right_checks.size());
  CHECK(named >= 12);
}

TEST_CASE("a failed check says what was wrong, where, and how to go on") {
  const TempFolder folder;
  const auto check = [&](const std::string& name, const Words& more = {}) {
    return run_program(with({"plugin", "check", broken_plugin(name)}, more), {folder.path()});
  };
  const auto crashed = check("trusts_size");
  CHECK_PRINTS(crashed, "FAIL  damaged    killed by signal 11 (Segmentation fault): shapes train #0, cut to 0 of ");
  CHECK_PRINTS(crashed, "hint: run it in a debugger: gdb --args flowtrain plugin run-check --check damaged");
  CHECK_PRINTS(crashed, "1 of 16 checks failed: damaged");
  const auto past_end = check("past_end");
  CHECK_PRINTS(past_end,
               "FAIL  bounds     shapes train #0 (position 0): byte 8 of the field 'value' was written, which "
               "has 8 bytes");
  CHECK_PRINTS(check("before_start"), "byte -1 of the field 'value' was written, which has 8 bytes");
  CHECK_PRINTS(check("unwritten"), "byte 7 of the field 'value' was not written, which has 8 bytes");
  CHECK_PRINTS(check("changes_input"), "byte 20 of the record's bytes was changed");
  const auto exits = check("exits");
  CHECK_PRINTS(exits, "the process ended with exit code 0 in the middle of the check: sample(): shapes train #0");
  CHECK_PRINTS(exits, "not run, as 'returns' failed: errors, bounds, written, ");
  CHECK_PRINTS(check("hangs", {"--timeout", "0.5"}),
               "it ran for more than 0.5 s, and was ended: sample(): shapes train");
  CHECK_PRINTS(check("throws"), "shapes train #0 (position 0): the call threw an exception: out of the plugin");
  CHECK_PRINTS(
      check("whole_rows"),
      "FAIL  extents    shapes train #0 (position 0), extents 4: byte 4 of the field 'value' was written, which "
      "has 4 bytes");
  CHECK_PRINTS(check("measures_again"),
               "FAIL  extents    shapes train #0 (position 0): measure() gives 1, and 2 when it is asked again");
  CHECK_PRINTS(check("other_abi"), "built for interface version 4, but this flowtrain has version 3");
}

TEST_CASE("every built-in sampler passes all checks") {
  const TempFolder folder;
  const auto outcome = run_program({"plugin", "check"}, {folder.path()});
  CHECK_EXIT(outcome, 0);
  for (auto* name : {"boxes", "classify", "copy", "cornernet", "cornernet_saccade", "check", "faulty", "slow"})
    CHECK_PRINTS(outcome, std::string("sampler '") + name + "', trial data: shapes");
  CHECK_PRINTS(outcome, "sampler 'classify', trial data: images");
  CHECK_PRINTS(outcome, "tokens u8 ≤64, image u8 24x24x3, label i64, tokens_length i64");
  CHECK_PRINTS(outcome, " checks passed\n");
}

TEST_CASE("sound plugins of both interfaces pass all checks: samplers, data sets, orders") {
  const TempFolder folder;
  const auto edges = run_program({"plugin", "check", plugin_file("edges")}, {folder.path()});
  CHECK_EXIT(edges, 0);
  CHECK_PRINTS(edges, "sampler 'edges', trial data: pixels");
  const auto texts = run_program({"plugin", "check", test::build_path("test_plugins/texts.so")}, {folder.path()});
  CHECK_EXIT(texts, 0);
  CHECK_PRINTS(texts, "sampler 'texts', trial data: images");
  CHECK_PRINTS(texts, "id i64, bytes u8 ≤12, lengths i32 ≤4x≤5x2");
  const auto own = run_program({"plugin", "check", test::build_path("sound_plugins/cpp_parts.so")}, {folder.path()});
  CHECK_EXIT(own, 0);
  CHECK_PRINTS(own, "data set 'numbers'");
  CHECK_PRINTS(own, "each record once in an epoch");
}

TEST_CASE("a configuration names the data and the keys") {
  const TempFolder folder;
  folder.write("small.toml",
               "[data]\ndataset = \"shapes\"\nsamples = 20\nsize = 16\n[sampler]\nname = \"classify\"\nsize = 12\n");
  const auto outcome =
      run_program({"plugin", "check", "--builtin", "classify", "--config", "small.toml"}, {folder.path()});
  CHECK_EXIT(outcome, 0);
  CHECK_PRINTS(outcome, "image u8 12x12x3, label i64");
  const auto changed =
      run_program({"plugin", "check", "--builtin", "classify", "--config", "small.toml", "--set", "sampler.size=10"},
                  {folder.path()});
  CHECK_PRINTS(changed, "image u8 10x10x3, label i64");
}

TEST_CASE("a command line that cannot be meant is refused") {
  const TempFolder folder;
  const auto refused = [&](const Words& words, const std::string& says) {
    const auto outcome = run_program(with({"plugin"}, words), {folder.path()});
    CHECK_EXIT(outcome, 2);
    CHECK_SAYS(outcome, says);
  };
  refused({"check", "none.so"}, "none.so: no such file");
  refused({"check", "--builtin", "clasify"}, "did you mean 'classify'?");
  refused({"new", "classify"}, "a sampler 'classify' exists already");
  refused({"new", "Mine"}, "'Mine' cannot be a plugin's name");
  refused({"new", "mine", "--language", "rust"}, "--language");
  refused({}, "subcommand is required");
}

TEST_CASE("a new plugin is never written over what is there") {
  const TempFolder folder;
  folder.write("mine/notes.txt", "kept");
  const auto outcome = run_program({"plugin", "new", "mine"}, {folder.path()});
  CHECK_EXIT(outcome, 2);
  CHECK_SAYS(outcome, "mine: it exists already");
  CHECK(std::distance(fs::directory_iterator(folder.path() / "mine"), {}) == 1);
}

TEST_CASE("a new plugin builds without warnings and passes its own tests, in both languages") {
  for (const std::string language : {"c", "cpp"}) {
    CAPTURE(language);
    const TempFolder folder;
    const auto made = run_program({"plugin", "new", "mine", "--language", language}, {folder.path()});
    REQUIRE_EXIT(made, 0);
    // One compiler call.
    const std::string compiler = language == "c" ? "cc -std=c11" : "c++ -std=c++20";
    const auto compiled =
        shell(folder, concat(compiler, " -pedantic -O2 -Wall -Wextra -Wconversion -Werror -fPIC -shared -I ",
                             test::source_path(""), " mine/mine.", language, " -o mine.so"));
    REQUIRE_EXIT(compiled, 0);
    CHECK(compiled.err.empty());
    // One call of CMake: the plugin's own tests run all checks and the loader.
    const auto tested = shell(folder, "cd mine && CXXFLAGS=-Werror CFLAGS=-Werror cmake --workflow --preset check");
    CHECK_EXIT(tested, 0);
    CHECK_PRINTS(tested, "100% tests passed, 0 tests failed out of 2");
    CHECK_EXIT(shell(folder, "cd mine && flowtrain bench shapes.toml --seconds 0.1"), 0);
  }
}

}  // namespace flowtrain::plugin_kit_test
