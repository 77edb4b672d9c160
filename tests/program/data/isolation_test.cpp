// Samplers in processes of their own: the same rows, and a crash costs the sample that the process was at.

#include <doctest/doctest.h>

#include <signal.h>

#include <string>

#include "tests/support/temp_run.h"

namespace flowtrain::isolation_test {
namespace {

/// Nearly an epoch of the tiny configuration's 300 samples, none of them twice, without a net. Record 17 is among them.
const Words epoch{"--dry-run", "--seed", "1", "--max-iter", "18"};
const Words isolated{"--set", "sampler.process=true"};

/// The words for the plugin that crashes at record 17.
Words crashing(const std::string& how) {
  return with(opening({"crashing"}),
              {"--set", "sampler.name=crashing", "--set", "sampler.how=" + how, "--set", "data.max_bad=1"});
}

Outcome train_crashing(const TempRun& place, const std::string& how, const Words& more = {}) {
  return place.train(with(with(with(crashing(how), isolated), epoch), more));
}

/// The pid that the plugin prints before it hangs.
pid_t hanging_process(Process& program, const std::filesystem::path& folder) {
  std::string text;
  const bool hangs = program.wait_for([&] {
    for (auto& file : std::filesystem::directory_iterator(folder))
      if (file.path().extension() == ".err") text = read_text(file.path());
    return text.find("hanging in process ") != text.npos && text.find('\n', text.find("hanging in")) != text.npos;
  });
  REQUIRE(hangs);
  return std::stoi(text.substr(text.find("hanging in process ") + 19));
}

}  // namespace

TEST_CASE("a sampler in another process makes the same rows") {
  const TempRun place;
  // One that draws, one that draws nothing and makes rows in blocks, and one of a plugin.
  for (const Words& sampler : {Words{}, Words{"--set", "sampler.name=copy"}, crashing("nowhere")}) {
    const auto outcome =
        place.run(with({"bench", "tiny.toml", "--vs", "sampler.process=true", "--same", "--seconds", "0.01"}, sampler));
    REQUIRE_EXIT(outcome, 0);
    CHECK_PRINTS(outcome, "all 300 compared samples have the same bytes\n");
    CHECK_PRINTS(outcome, "B / A ");
  }
  REQUIRE_EXIT(place.train({"--run-dir", "here"}), 0);
  REQUIRE_EXIT(place.train(with({"--run-dir", "there"}, isolated)), 0);
  CHECK(end_of(place.path("here")) == end_of(place.path("there")));
}

TEST_CASE("whatever ends the sampler's process costs one sample") {
  const TempRun place;
  for (const auto& [how, reason] : {std::pair{"kill", "was ended by signal 9"},
                                    {"abort", "was ended by signal 6"},
                                    {"exit", "exited with code 3"},
                                    {"hang", "was ended after 0.5 s (sampler.process_timeout)"}}) {
    const auto outcome = train_crashing(place, how, {"--set", "sampler.process_timeout=0.5"});
    REQUIRE_EXIT(outcome, 0);
    CHECK(times_in(outcome.err, "bad sample ") == 1);
    CHECK_SAYS(outcome, "bad sample 17 (");
    CHECK_SAYS(outcome, std::string("sample: the sampler's process ") + reason);
    CHECK_SAYS(outcome, "takes its place");
  }
  const auto refused = train_crashing(place, "error");
  CHECK_EXIT(refused, 0);
  CHECK_SAYS(refused, "plugin 'crashing': not this one");
  CHECK_EXIT(train_crashing(place, "kill", {"--set", "data.bad=stop"}), 3);
  const auto created = train_crashing(place, "create");
  CHECK_EXIT(created, 2);
  CHECK_SAYS(created, "sampler.process: the process that makes the sampler was ended by signal 6");
}

TEST_CASE("kill -9 of the sampler's process in the middle of a run costs one sample") {
  const TempRun place;
  Process program(with(with(with({"tiny.toml"}, crashing("hang")), isolated), epoch), place.process_options());
  ::kill(hanging_process(program, place.folder().path()), SIGKILL);
  const auto outcome = program.wait();
  CHECK_EXIT(outcome, 0);
  CHECK(times_in(outcome.err, "bad sample ") == 1);
  CHECK_SAYS(outcome, "sample: the sampler's process was ended by signal 9");
}

TEST_CASE("the sampler's process ends with the program, also one that is killed") {
  const TempRun place;
  Process program(with(with(with({"tiny.toml"}, crashing("hang")), isolated), epoch), place.process_options());
  const pid_t other = hanging_process(program, place.folder().path());
  program.send(SIGKILL);
  program.wait();
  // It is nobody's child any more; whoever takes it over may still have to collect it.
  const auto gone = [&] {
    const std::string stat = read_text("/proc/" + std::to_string(other) + "/stat");
    return stat.empty() || stat.find(") Z ") != stat.npos;
  };
  for (int i = 0; i < 1000 && !gone(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(gone());
}

TEST_CASE("mistakes in [sampler] are told at their place, also by the other process") {
  const TempRun place(std::string(tiny_config) + "[sampler]\nprocess = true\nchannels = 2\n");
  const auto outcome = place.train(epoch);
  CHECK_EXIT(outcome, 2);
  CHECK_SAYS(outcome, "tiny.toml:29:1: sampler.channels: must be 0, 1 or 3");
  const auto cached = place.train(with(epoch, {"--set", "sampler.channels=1", "--set", "loader.cache_mb=5"}));
  CHECK_EXIT(cached, 2);
  CHECK_SAYS(cached, "sampler.process: loader.cache_mb is given, too (--set)");
}

TEST_CASE("bench --vs names the first sample and field that differ") {
  const TempRun place;
  const Words bench{"bench", "tiny.toml", "--seconds", "0.01"};
  const auto differs = place.run(with(bench, {"--same", "--vs", "sampler.flip=1"}));
  CHECK_EXIT(differs, 3);
  CHECK_SAYS(differs, "A and B differ: batch 1, row ");
  CHECK_SAYS(differs, "field 'image'[");
  CHECK_SAYS(differs, " in A, ");
  const auto other_ids = place.run(with(bench, {"--same", "--vs", "order.name=sequential"}));
  CHECK_EXIT(other_ids, 3);
  CHECK_SAYS(other_ids, "A and B differ: batch 1, row 0 (");
  const auto other_fields = place.run(with(bench, {"--same", "--vs", "sampler.size=8"}));
  CHECK_EXIT(other_fields, 3);
  CHECK_SAYS(other_fields, "A and B differ: the rows of A are image u8 16x16x");

  const auto rates = place.run(with(bench, {"--vs", "loader.workers=1", "--vs", "sampler.flip=0", "--json", "b.json"}));
  CHECK_EXIT(rates, 0);
  CHECK_PRINTS(rates, "medians of 5 turns; A is the config, B has loader.workers=1, sampler.flip=0.\n");
  const auto report = nlohmann::json::parse(read_text(place.path("b.json")));
  CHECK(report.at("ratio").at("least") <= report.at("ratio").at("median"));
  CHECK(report.at("a_samples_per_s").at("median") > 0);

  const auto wrong = place.run(with(bench, {"--vs", "sampler.flop=1"}));
  CHECK_EXIT(wrong, 2);
  CHECK_SAYS(wrong, "--vs: unknown key 'sampler.flop'");
  CHECK_EXIT(place.run(with(bench, {"--vs", "nonsense"})), 2);
  const auto several = place.run(with(bench, {"--vs", "loader.workers=1", "--distributed", "--world-size", "2"}));
  CHECK_EXIT(several, 2);
  CHECK_SAYS(several, "--vs: it compares loaders of one process");
  CHECK_EXIT(place.run(with(bench, {"--same"})), 2);
}

TEST_CASE("bench --vs compares two plugins that add a sampler of the same name") {
  const TempRun place;
  std::filesystem::copy_file(plugin_file("crashing"), place.path("b.so"));
  const auto outcome = place.run(with(
      {"bench", "tiny.toml", "--seconds", "0.01", "--same", "--vs", "run.plugins=[\"b.so\"]"}, crashing("nowhere")));
  CHECK_EXIT(outcome, 0);
  CHECK_PRINTS(outcome, "all 300 compared samples have the same bytes");
}

}  // namespace flowtrain::isolation_test
